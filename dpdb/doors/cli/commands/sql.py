"""`dpdb sql`: an analyst's statements over a private table."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa

from dpdb.doors.cli.answers import AnswerOutput
from dpdb.doors.cli.open_session import open_session
from dpdb.doors.cli.result_formats import as_arrow, as_csv, as_json, as_parquet, as_text
from dpdb.doors.cli.streams import read_input, tell
from dpdb.doors.sql import FrontEnd, Result, split_statements
from dpdb.engine import find_files
from dpdb.errors import DpdbError, ParameterError, StatementRefusedError
from dpdb.release import Release
from dpdb.release.table import release_table

__all__ = ["budget_words", "release_words", "run_sql", "text_width"]

_BINARY = {"parquet": as_parquet, "arrow": as_arrow}
_PIPE_WIDTH = 120


def run_sql(options: argparse.Namespace) -> int:
    """Answer the statements of the command line, of a file or of standard input; or prompt for them."""
    text = _statements_text(options)
    if options.out is None and options.format in _BINARY and sys.stdout is not None and sys.stdout.isatty():
        raise ParameterError(f"--format {options.format} is binary: give --out FILE")
    if options.budget is None and options.ledger is None:
        raise ParameterError("give --budget E or --ledger FILE: without either an analyst could spend without end")
    from_database = find_files(options.source).kind == "duckdb"
    with (
        open_session(
            options,
            constraints=options.constraints,
            table=options.table if from_database else None,
            budget=options.budget,
            row_bound=options.row_bound,
            max_group=options.max_group,
        ) as session,
        FrontEnd(session, _table_name(options), _public(options.public)) as front_end,
    ):
        if text is None:
            from dpdb.doors.cli.prompt import run_prompt

            return run_prompt(front_end, ledger=options.ledger)
        _answer(front_end, split_statements(text), options)
    return 0


def _statements_text(options: argparse.Namespace) -> str | None:
    """Return the text to run; None asks for the prompt."""
    if options.file is not None and options.statement is not None:
        raise ParameterError("give a statement or --file, not both")
    try:
        if options.file is not None:
            return Path(options.file).read_text(encoding="utf-8")
        if options.statement not in (None, "-"):
            return str(options.statement)
        asks = options.statement is None and sys.stdin is not None and sys.stdin.isatty()
        return None if asks else read_input()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
        raise ParameterError(f"{options.file}: {reason}") from None


def _table_name(options: argparse.Namespace) -> str:
    """Return the name by which statements call the private table."""
    name = str(options.table or Path(options.source).name)
    name = name.rpartition(".")[2] if options.table else name.partition(".")[0]
    if not name or "*" in name:
        raise ParameterError("give --table NAME: the name by which statements call this source")
    return name


def _public(texts: list[str]) -> Mapping[str, str]:
    """Read every `--public NAME=FILE`."""
    tables: dict[str, str] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not (name.strip() and equals and path):
            raise ParameterError(f"--public {text!r}: expected NAME=FILE")
        if name.strip() in tables:
            raise ParameterError(f"--public {text!r}: the name is taken")
        tables[name.strip()] = path
    return tables


# -- answers --------------------------------------------------------------------------------------------------


def _answer(front_end: FrontEnd, statements: list[str], options: argparse.Namespace) -> None:
    """Check all statements, then run them in order up to the first error."""
    if not statements:
        raise StatementRefusedError("found no statement")
    if options.format not in ("table", "json") and len(statements) > 1:
        raise ParameterError(f"--format {options.format} holds one result, and there are {len(statements)} statements")
    for statement in statements:
        front_end.check(statement)
    results: list[Result] = []
    with AnswerOutput(options.out, options.ledger, warn=not options.quiet) as output:
        try:
            for statement in statements:
                results.append(front_end.run(statement))
        except BaseException:
            tell(release_words(front_end.kept))
            raise
        finally:
            if results:
                _write(output, results, options)
    if not options.quiet:
        tell(f"{budget_words(front_end)}\n")


def _write(output: AnswerOutput, results: list[Result], options: argparse.Namespace) -> None:
    releases = [release for result in results for release in result.releases]
    try:
        content = _formatted([result.table for result in results], options)
    except Exception as error:  # a value that Python or the format does not have
        tell(release_words(releases))
        raise DpdbError(f"the result could not be written as {options.format}: {error}") from None
    output.show(content if options.format in _BINARY else content.decode(), releases, release_words(releases))


def _formatted(tables: list[pa.Table], options: argparse.Namespace) -> bytes:
    if options.format in _BINARY:
        return _BINARY[options.format](tables[0])
    if options.format == "json":
        return f"{as_json(tables)}\n".encode()
    if options.format == "csv":
        return as_csv(tables[0]).encode()
    return "".join(f"{as_text(table, text_width())}\n" for table in tables).encode()


def text_width() -> int:
    """Characters that fit in a line of output."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _PIPE_WIDTH


def budget_words(front_end: FrontEnd) -> str:
    """Say what is spent and left."""
    remaining = front_end.session.remaining()
    left = "unlimited" if remaining is None else f"{remaining:.12g}"
    return f"privacy budget: {front_end.session.spent():.12g} spent, {left} remaining"


def release_words(releases: Iterable[Release]) -> str:
    """Show answers that were paid for and are in no result; nothing if there are none."""
    kept = tuple(releases)
    if not kept:
        return ""
    table = release_table(kept)
    columns = ["measure", "value", "lower", "upper", "epsilon", "where", "release_id"]
    return f"these releases were made and are paid for:\n{as_text(table.select(columns), _PIPE_WIDTH)}\n"
