"""`dpdb rules ACTION`: constraints from other tools or found, and oddities in constraints."""

from __future__ import annotations

import argparse
import json
from contextlib import ExitStack
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.answers import AnswerOutput
from dpdb.doors.cli.options import (
    answer_options,
    command,
    command_of_actions,
    csv_line,
    format_option,
    given,
    setting_options,
    shape_options,
    source_options,
)
from dpdb.doors.cli.parser import whole
from dpdb.doors.cli.streams import say, show
from dpdb.errors import ParameterError

if TYPE_CHECKING:
    from dpdb.rules import DiscoveredRules, ImportedRules


def add_rules(commands: Any) -> None:
    """Add `dpdb rules` and its actions."""
    text = "bring constraints from other tools, check and discover constraints"
    command_of_actions(commands, "rules", text, add_import, add_lint, add_discover)


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
    parser.add_argument(
        "--used-rows", action="store_true", help="write `of used rows` to limits of row_count and shares (--max-rows)"
    )
    parser.add_argument("--out", metavar="DIR", help="a folder that gets a suite file for each table")
    parser.add_argument(
        "--source", metavar="SOURCE", help="the table: rules with names that none of its columns has are left out"
    )
    format_option(parser)


def _import(options: argparse.Namespace) -> None:
    """Print a constraints file; it lists the checks that are left out, and standard error has their number."""
    from dpdb.rules import import_rules, import_tables

    if options.cdm is not None:
        _import_dqd(options)
        return
    if options.today is not None:
        raise ParameterError("--today is for DataQualityDashboard's files: give --cdm, too")
    if options.out is not None:
        if options.table is not None or options.source is not None:
            raise ParameterError("--out is for all tables: leave out --table and --source")
        _write(Path(options.out), import_tables(options.file, options.dialect, used_rows=options.used_rows))
        return
    imported = import_rules(options.file, options.table, options.dialect, used_rows=options.used_rows)
    if options.source is not None:
        imported = imported.of_columns(_columns(options.source))
    _show([imported], options.format)


def _columns(source: str) -> list[str]:
    """Return the columns of a table; read none of its rows."""
    from dpdb.opening import open_table

    with open_table(source, rows=False) as table:
        return list(table.schema.usable)


def _import_dqd(options: argparse.Namespace) -> None:
    """Print the suite of one table, or write that of each table to a folder."""
    from dpdb.names import nearest_words
    from dpdb.rules import import_dqd

    if options.source is not None:
        raise ParameterError("--source is for files of one table: leave out --cdm")
    imported = import_dqd(options.file, options.cdm, _day(options.today), used_rows=options.used_rows)
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


_GROWS = (
    'of a table that grows check each day by itself: [[check]] with where = "day = {date}" in a job (jobs.md); '
    "all days cost one epsilon"
)


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
    say(_GROWS)


def _show(imported: list[ImportedRules] | tuple[ImportedRules, ...], form: str) -> None:
    if form == "json":
        found = [asdict(each) for each in imported]
        show(json.dumps(found[0] if len(found) == 1 else found, indent=2))
    else:
        show(imported[0].text().rstrip("\n"))
        say(_GROWS)
    if any(each.left_out for each in imported):
        taken, left_out = sum(len(each.rules) for each in imported), sum(len(each.left_out) for each in imported)
        say(f"rules taken: {taken}, checks left out: {left_out}; the output says why")


def _day(text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise ParameterError(f"--today: {text} is no date (YYYY-MM-DD)") from None


def add_lint(actions: Any) -> None:
    """Add `dpdb rules lint`."""
    text = "find duplicate, implied, contradicting and quadratic rules; reads no row; exit code 1 if there are any"
    parser = command(actions, "lint", _lint, text, "dpdb rules lint rules.txt --source visits.parquet")
    parser.add_argument("constraints", metavar="FILE_OR_TEXT", nargs="+", help="constraints files or texts")
    parser.add_argument("--source", metavar="SOURCE", help="a table: also find rules that its columns do not bear")
    shape_options(parser, constraints=False)
    format_option(parser)


def _lint(options: argparse.Namespace) -> int:
    """Print the findings."""
    from dpdb.doors.cli.options import table_settings
    from dpdb.opening import open_table
    from dpdb.rules import lint

    settings = {name: value for name, value in table_settings(options).items() if name != "constraints"}
    if options.source is None:
        if any(settings.values()):
            raise ParameterError("options of a table need one: give --source, too")
        findings = lint(options.constraints)
    else:
        with open_table(options.source, rows=False, **settings) as table:
            findings = lint(options.constraints, table=table)
    if options.format == "json":
        show(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        lines = [f"rule {finding.rules[0]}: {finding.kind}: {finding.message}" for finding in findings]
        show("\n".join(lines) if lines else "nothing odd")
    return 1 if findings else 0


_STEPS = 3
_SPENDING = ("epsilon", "ledger", "run_id", "label", "receipt", "receipt_key")


def add_discover(actions: Any) -> None:
    """Add `dpdb rules discover`."""
    text = "name dependencies and keys that may hold, as a suite to edit, under differential privacy: for the owner"
    example = "dpdb rules discover hospital.parquet --top 10 --epsilon 1 --ledger hospital.ledger > found.dcs.txt"
    parser = command(actions, "discover", _discover, text, example)
    source_options(parser, constraints=False)
    setting_options(parser, ("rows_per_person", "unit", "max_rows"))
    parser.add_argument("--top", type=whole, default=10, metavar="N", help="dependencies to name, and N/10 keys (10)")
    parser.add_argument("--epsilon", metavar="E", help="privacy cost of all names together (1)")
    parser.add_argument("--columns", metavar="NAMES", help="columns that are paired: id,name; chosen without the data")
    parser.add_argument(
        "--non-private", action="store_true", help="exact scores instead, with g3 and mu+: for the owner's eyes only"
    )
    answer_options(parser, who=False)


def _discover(options: argparse.Namespace) -> None:
    """Print a suite of the names, with their cost; or, without privacy, with exact scores."""
    if options.non_private:
        named = [f"--{name.replace('_', '-')}" for name in _SPENDING if getattr(options, name) is not None]
        if named:
            raise ParameterError(f"--non-private spends nothing and is in no ledger: leave out {', '.join(named)}")
        _exact(options)
        return
    options.epsilon = options.epsilon or "1"
    with AnswerOutput.of(options) as output:
        found = _named(options)
        as_json = options.format == "json"
        output.show(
            json.dumps(found.to_dict(), indent=2) + "\n" if as_json else found.text(), (), run_id=found.run_id or ""
        )


def _named(options: argparse.Namespace) -> DiscoveredRules:
    from dpdb.doors.cli.session import clear_bar, name_run, run_session, running
    from dpdb.owner import discover, prepare_discovery

    asked = given(options, "top", "epsilon", "run_id", "label")
    with run_session(options, _STEPS) as session:
        run = prepare_discovery(session, columns=_names(options), **asked)
        clear_bar(options)
        name_run(options, run.charge.run_id)
        with running(options, run.charge.run_id):
            return discover(session, run)


def _exact(options: argparse.Namespace) -> None:
    from dpdb.doors.cli.options import table_settings
    from dpdb.doors.cli.session import step_bar
    from dpdb.owner import exact_dependencies

    found = exact_dependencies(
        options.source,
        top=options.top,
        columns=_names(options),
        non_private=True,
        progress=step_bar(options, _STEPS),
        **table_settings(options),
    )
    with AnswerOutput(options.out, None, warn=False) as output:
        as_json = options.format == "json"
        output.show(json.dumps(found.to_dict(), indent=2) + "\n" if as_json else found.text(), ())


def _names(options: argparse.Namespace) -> list[str] | None:
    if options.columns is None:
        return None
    return [name.strip() for name in csv_line("--columns", options.columns, spaced=True)]
