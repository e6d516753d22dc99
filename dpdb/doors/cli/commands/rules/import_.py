"""`dpdb rules import`."""

from __future__ import annotations

import argparse
import json
from contextlib import ExitStack
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.shared_options import command, format_option
from dpdb.doors.cli.streams import say, show
from dpdb.errors import ParameterError

if TYPE_CHECKING:
    from dpdb.rules import ImportedRules

__all__ = ["add_import"]


def add_import(actions: Any) -> None:
    """Add `dpdb rules import`."""
    parser = command(
        actions,
        "import",
        _import,
        "write the constraints that a dbt schema, SQL DDL, Great Expectations suite, Soda file or data contract states",
        "dpdb rules import models/schema.yml --table orders > rules.txt",
    )
    parser.add_argument("file", metavar="FILE", help="schema.yml, dbt project, .sql, suite.json, .odcs.yaml, ...")
    parser.add_argument("--table", metavar="T", help="the table whose rules are wanted, where the file has several")
    parser.add_argument("--dialect", default="postgres", metavar="D", help="SQL dialect of DDL, as sqlglot names it")
    parser.add_argument(
        "--cdm", metavar="V", help="FILE is the folder of DataQualityDashboard's files of this OMOP CDM"
    )
    parser.add_argument("--today", metavar="DAY", help="with --cdm: what GETDATE() stands for, as YYYY-MM-DD")
    parser.add_argument("--out", metavar="DIR", help="with --cdm: a folder that gets a suite file for each table")
    format_option(parser)


def _import(options: argparse.Namespace) -> int:
    """Print a constraints file; it lists the checks that are left out, and standard error has their number."""
    from dpdb.rules import import_rules

    if options.cdm is not None:
        return _import_dqd(options)
    if options.today is not None or options.out is not None:
        raise ParameterError("--today and --out are for DataQualityDashboard's files: give --cdm, too")
    imported = import_rules(options.file, options.table, options.dialect)
    _show([imported], options.format)
    return 0


def _import_dqd(options: argparse.Namespace) -> int:
    """Print the suite of one table, or write that of each table to a folder."""
    from dpdb.names import nearest_words
    from dpdb.rules import import_dqd

    imported = import_dqd(options.file, options.cdm, _day(options.today))
    if options.table is not None:
        chosen = [each for each in imported if each.table == options.table.lower()]
        if not chosen:
            names = [each.table for each in imported]
            raise ParameterError(
                f"{options.file} has no checks of {options.table!r}{nearest_words(options.table, names)}"
            )
        imported = tuple(chosen)
    if options.out is not None:
        _write(Path(options.out), imported)
    elif len(imported) == 1 or options.format == "json":
        _show(imported, options.format)
    else:
        raise ParameterError("it has checks of several tables: name one with --table, or a folder for all with --out")
    return 0


def _write(folder: Path, imported: tuple[ImportedRules, ...]) -> None:
    """Write a suite file for each table that has a rule, all or none; none of them may exist."""
    from dpdb.files.new_file import new_file

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"{folder}: cannot be made: {error.strerror}") from None
    written = [each for each in imported if each.rules]
    for each in written:
        if each.table is None or not each.table.isidentifier():
            raise ParameterError(f"{each.table!r} is no name of a table that a file can be called by")
    with ExitStack() as files:
        for each in written:
            partial = files.enter_context(new_file(folder / f"{each.table}.suite.txt"))
            partial.write_text(each.text(), encoding="utf-8")
    taken, left_out = sum(len(each.rules) for each in imported), sum(len(each.left_out) for each in imported)
    say(f"suites written to {folder}: {len(written)}; checks: {taken}, left out: {left_out}; the files say why")


def _show(imported: list[ImportedRules] | tuple[ImportedRules, ...], form: str) -> None:
    if form == "json":
        found = [asdict(each) for each in imported]
        show(json.dumps(found[0] if len(found) == 1 else found, indent=2))
    else:
        show(imported[0].text().rstrip("\n"))
    if any(each.left_out for each in imported):
        taken, left_out = sum(len(each.rules) for each in imported), sum(len(each.left_out) for each in imported)
        say(f"rules taken: {taken}, checks left out: {left_out}; the output says why")


def _day(text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise ParameterError(f"--today: {text} is no date (YYYY-MM-DD)") from None
