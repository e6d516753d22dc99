"""Statements of one `dpdb sql` call: all checked, then answered in order, and written as one output."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from dpdb.doors.cli.answers import AnswerOutput
from dpdb.doors.cli.result_formats import as_arrow, as_csv, as_json, as_parquet, as_text
from dpdb.doors.cli.streams import tell
from dpdb.doors.sql import FrontEnd, Result
from dpdb.errors import DpdbError, ParameterError, StatementRefusedError
from dpdb.release import Release, release_table

if TYPE_CHECKING:
    from dpdb.suites import CheckResults

BINARY = {"parquet": as_parquet, "arrow": as_arrow}
"""Formats that a terminal cannot show."""


def answer_statements(front_end: FrontEnd, statements: Sequence[str], options: argparse.Namespace) -> None:
    """Check all statements, then run them in order up to the first error.

    Parameters
    ----------
    statements
        At least one statement.
    options
        The command's options: format, output file, ledger and quiet.
    """
    if not statements:
        raise StatementRefusedError("found no statement")
    if options.format not in ("table", "json") and len(statements) > 1:
        raise ParameterError(f"--format {options.format} holds one result, and there are {len(statements)} statements")
    for statement in statements:
        front_end.check(statement)
    results: list[Result] = []
    with AnswerOutput.of(options) as output:
        try:
            for statement in statements:
                results.append(front_end.run(statement))
        except BaseException:
            tell(release_words(front_end.kept, front_end.kept_checks))
            raise
        finally:
            if results:
                _write(output, results, options)
    if not options.quiet:
        tell(f"{budget_words(front_end)}\n")


def _write(output: AnswerOutput, results: list[Result], options: argparse.Namespace) -> None:
    releases = [release for result in results for release in result.releases]
    checks = [checks for result in results for checks in result.checks]
    words = release_words(releases, checks)
    try:
        content = _formatted([result.table for result in results], options)
    except Exception as error:  # a value that Python or the format does not have
        tell(words)
        raise DpdbError(f"the result could not be written as {options.format}: {error}") from None
    output.show(content if options.format in BINARY else content.decode(), releases, words, checks=checks)


def _formatted(tables: list[pa.Table], options: argparse.Namespace) -> bytes:
    if options.format in BINARY:
        return BINARY[options.format](tables[0])
    if options.format == "json":
        return f"{as_json(tables)}\n".encode()
    if options.format == "csv":
        return as_csv(tables[0]).encode()
    return "".join(f"{as_text(table, text_width())}\n" for table in tables).encode()


_PIPE_WIDTH = 120


def text_width() -> int:
    """Return the number of characters that fit in a line of output."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _PIPE_WIDTH


def budget_words(front_end: FrontEnd) -> str:
    """Return the spent and the remaining budget in words."""
    remaining = front_end.session.remaining()
    left = "unlimited" if remaining is None else f"{remaining:.12g}"
    return f"privacy budget: {front_end.session.spent():.12g} spent, {left} remaining"


def release_words(releases: Iterable[Release], checks: Iterable[CheckResults] = ()) -> str:
    """Return in words the answers that were paid for and are in no result; empty if there are none."""
    words, kept = "", tuple(releases)
    if kept:
        table = release_table(kept)
        columns = ["measure", "value", "lower", "upper", "epsilon", "where", "release_id"]
        words = f"these releases were made and are paid for:\n{as_text(table.select(columns), _PIPE_WIDTH)}\n"
    for results in checks:
        table = results.to_arrow().select(["verdict", "name", "severity", "lower", "upper", "within"])
        words += f"these checks were run, as {results.run_id!r}:\n{as_text(table, _PIPE_WIDTH)}\n"
    return words
