"""`dpdb sql`: an analyst's statements over a private table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.options import command, ledger_options, limit_options, named_files, table_options
from dpdb.doors.cli.streams import read_input
from dpdb.errors import ParameterError

if TYPE_CHECKING:
    from dpdb.suites import RegisteredSuite


def add_sql(commands: Any) -> None:
    """Add `dpdb sql`."""
    parser = command(
        commands,
        "sql",
        run,
        "answer an analyst's SQL, which reaches the private table through releases only; without a statement, a prompt",
        "dpdb sql visits.parquet --constraints rules.txt --budget 3 "
        "\"SELECT * FROM dp_inconsistency('visits', measure := 'repair', epsilon := 0.5)\"",
    )
    parser.intermixed = True
    table_options(parser, required=False)
    parser.add_argument(
        "statement", metavar="STATEMENT", nargs="?", help="one or more statements; - reads standard input"
    )
    parser.add_argument("--file", metavar="FILE", help="statements to run in order, up to the first error")
    parser.add_argument("--budget", metavar="E", help="total epsilon of this command")
    ledger_options(parser)
    parser.add_repeated("--public", metavar="NAME=FILE", help="a Parquet or CSV file for statements to read")
    parser.add_repeated(
        "--suite", metavar="NAME=FILE", help="a suite of checks for statements to run: FROM dp_check('NAME')"
    )
    formats = ["table", "csv", "json", "parquet", "arrow"]
    parser.add_argument("--format", choices=formats, default="table", harmless=True, help="output (table)")
    parser.add_argument("--out", metavar="FILE", help="new file for the result, instead of standard output")
    limit_options(parser)


def run(options: argparse.Namespace) -> None:
    """Answer the statements of the command line, of a file or of standard input; or prompt for them."""
    from dpdb.doors.cli.session import open_session
    from dpdb.doors.cli.sql_answers import BINARY, answer_statements
    from dpdb.doors.sql import FrontEnd, split_statements
    from dpdb.release import Budget
    from dpdb.settings import has_tables

    text = _statements_text(options)
    if options.out is None and options.format in BINARY and sys.stdout is not None and sys.stdout.isatty():
        raise ParameterError(f"--format {options.format} is binary: give --out FILE")
    if options.budget is None and options.ledger is None:
        raise ParameterError("give --budget E or --ledger FILE: without either an analyst could spend without end")
    name = _table_name(options)
    public, files = named_files("--public", options.public), named_files("--suite", options.suite)
    settings: dict[str, Any] = {
        "table": options.table if has_tables(options.source) else None,
        "budget": None if options.budget is None else Budget(options.budget),
    }
    with (
        ExitStack() as suites,
        open_session(options, **settings, constraints=options.constraints or None) as session,
        FrontEnd(
            session,
            name,
            public,
            who=options.who,
            suites=[_registered(suite, file, options, settings, suites) for suite, file in files.items()],
        ) as front_end,
    ):
        if text is None:
            from dpdb.doors.cli.prompt import run_prompt

            run_prompt(front_end, ledger=options.ledger, receipt=(options.receipt, options.receipt_key))
        else:
            answer_statements(front_end, split_statements(text), options)


def _statements_text(options: argparse.Namespace) -> str | None:
    """Return the text to run; None asks for the prompt."""
    if options.file is not None and options.statement is not None:
        raise ParameterError("give a statement or --file, not both")
    from dpdb.doors.sql.parse import MOST_SCRIPT
    from dpdb.files.bounded_file import bounded_bytes

    try:
        if options.file is not None:
            text = bounded_bytes(Path(options.file), 4 * MOST_SCRIPT, "a script of statements")
            return text.decode().replace("\r\n", "\n").replace("\r", "\n")
        if options.statement not in (None, "-"):
            return str(options.statement)
        asks = options.statement is None and sys.stdin is not None and sys.stdin.isatty()
        return None if asks else read_input(MOST_SCRIPT)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
        raise ParameterError(f"{options.file}: {reason}") from None


def _table_name(options: argparse.Namespace) -> str:
    """Return the name by which statements call the private table."""
    from dpdb.settings import is_remote

    name = str(options.table or Path(options.source).name)
    dotted = options.table or is_remote(options.source)
    name = name.rpartition(":")[2].rpartition(".")[2] if dotted else name.partition(".")[0]
    if not name or "*" in name:
        raise ParameterError("give --table NAME: the name by which statements call this source")
    return name


def _registered(
    name: str, file: str, options: argparse.Namespace, settings: Mapping[str, Any], opened: ExitStack
) -> RegisteredSuite:
    """Return a suite with a session of its own, which `opened` closes."""
    from dpdb.doors.cli.session import open_session
    from dpdb.suites import register_suite

    def of_rules(rules: Any) -> Any:
        return open_session(options, **settings, constraints=rules)

    suite = register_suite(name, Path(file), of_rules)
    opened.enter_context(suite.session)
    return suite
