"""`dpdb check`: of one table, or of a folder or database of tables with a suite file for each."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.answers import AnswerOutput
from dpdb.doors.cli.options import (
    answer_options,
    ask_options,
    asked_values,
    command,
    declared_options,
    margin_option,
    setting_options,
)
from dpdb.doors.cli.streams import say, write_output
from dpdb.errors import ConstraintSyntaxError, ParameterError
from dpdb.settings import LIMITS
from dpdb.suites import RUN_OPTIONS

if TYPE_CHECKING:
    from dpdb.constraints import WrittenLines
    from dpdb.suites import CheckResults, Suite, SuitePlan, TablesApart, TableSet

_STEPS = 25  # opening, counting, and a step for each level


def add_check(commands: Any) -> None:
    """Add `dpdb check`."""
    text = "test a suite of rules with limits: verdicts, paid for by the checks that fail"
    example = "dpdb check hospital.parquet nightly.dcs.txt --epsilon 1 --ledger hospital.ledger"
    parser = command(commands, "check", run, text, example)
    parser.instead = {"--constraints": "its rules are those of SUITE", "--suite": "SUITE stands behind SOURCE"}
    parser.add_argument("source", metavar="SOURCE", help="Parquet or CSV file, directory or glob; DuckDB file; ...")
    parser.add_argument(
        "suite", metavar="SUITE", help="file of rules, whose lines may end in limits; or a folder of T.suite.txt"
    )
    setting_options(parser, ("table", "csv_schema", "delimiter"))
    declared_options(parser)
    ask_options(parser, RUN_OPTIONS)
    parser.add_argument("--dry-run", action="store_true", help="show what can be told apart, and spend nothing")
    parser.add_argument("--openlineage", metavar="FILE", help="write the verdicts as an OpenLineage event")
    margin_option(parser)
    answer_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the suite, print the verdicts, and tell by the exit code whether a check failed."""
    from dpdb.constraints import written_lines
    from dpdb.doors.cli.texts import checks_text

    if Path(options.suite).is_dir():
        return check_tables(options)
    written = written_lines(options.suite)
    suite = _as_written(options, written)
    with AnswerOutput.of(options) as output:
        checked = _checked(options, written, suite)
        if checked is None:
            return 0
        plan, results = checked
        as_json = options.format == "json"
        text = json.dumps(results.to_dict(), indent=2) + "\n" if as_json else checks_text(results, plan)
        output.show(text, (), run_id=results.run_id, checks=[results])
        return results.exit_code


def _as_written(options: argparse.Namespace, written: WrittenLines) -> Suite:
    """Read the suite before there are columns to resolve its names against."""
    from dpdb.constraints import shortened
    from dpdb.suites import load_suite

    try:
        return load_suite(written, date=options.date)
    except ConstraintSyntaxError as error:
        if written.path is None and "\n" not in written.text:
            raise ConstraintSyntaxError(
                f"{shortened(written.text)}: no such file, and no text of rules: {error}"
            ) from None
        raise


def _checked(
    options: argparse.Namespace, written: WrittenLines, suite: Suite
) -> tuple[SuitePlan | None, CheckResults] | None:
    from dpdb.doors.cli.session import clear_bar, name_run, run_session, running
    from dpdb.doors.cli.texts import plan_text
    from dpdb.suites import check_columns, prepare_check, run_check

    asked = asked_values(options, RUN_OPTIONS) | {"who": options.who}
    with run_session(options, _STEPS, constraints=suite.rules) as session:
        if not suite.lines:  # all are of the columns: nothing runs
            clear_bar(options)
            return None, check_columns(session, suite)
        prepared = prepare_check(session, written, **asked)
        if options.dry_run:
            write_output(plan_text(prepared, options.margin))
            return None
        clear_bar(options)
        if options.ledger is not None and not options.quiet and session.will_test(prepared):
            name_run(options, prepared.charge.run_id)
            if options.keep is None and not options.sizes:
                kept = "; with --keep NAME later runs of the suite cost nothing" * (session.notion.name == "pure")
                say(f"each run pays at least a quarter of {session.notion.parameter}{kept}")
        with running(options, prepared.charge.run_id):
            return prepared.deciding, run_check(session, prepared)


_STEPS_OF_SET = 40
_OF_ONE_TABLE = ("where", "by", "keys", "private_parent", "max_children", "row_bound", "schema", "delimiter")
_MOST_REASONS = 5


def check_tables(options: argparse.Namespace) -> int:
    """Run the suites of all tables as one, print the verdicts, and tell by the exit code whether a check failed."""
    from dpdb.doors.cli.options import table_settings
    from dpdb.doors.cli.session import clear_bar, name_run, one_release, running, step_bar
    from dpdb.doors.cli.texts import checks_text, plan_text
    from dpdb.suites import TableSet

    if options.unit is None and options.max_rows is None:
        return check_apart(options)
    _refuse(options, _OF_ONE_TABLE, f"is for one table; {options.suite} has suites of several")
    if options.unit is None:
        raise ParameterError("--max-rows needs --unit COLUMN, whose values own rows in all tables")
    settings = table_settings(options)
    limits = {name: settings[name] for name in (*LIMITS, "gather_rows") if name in settings}
    with AnswerOutput.of(options) as output:
        with TableSet(
            options.source,
            options.suite,
            table=options.table,
            unit=options.unit,
            max_rows=options.max_rows,
            public_parents=settings["public_parents"],
            ledger=options.ledger,
            budget=one_release(options),
            day=options.date,
            progress=step_bar(options, _STEPS_OF_SET),
            rows=not options.dry_run,
            **limits,
        ) as tables:
            prepared = tables.prepare(**asked_values(options, RUN_OPTIONS), who=options.who)
            clear_bar(options)
            if options.dry_run:
                write_output(_left_out_text(tables) + plan_text(prepared, options.margin))
                return 0
            if tables.will_test(prepared):
                name_run(options, prepared.charge.run_id)
            with running(options, prepared.charge.run_id):
                results = tables.run(prepared)
            left_out = _left_out(tables)
            text = checks_text(results, prepared.deciding) + _left_out_text(tables)
        if options.format == "json":
            text = json.dumps({**results.to_dict(), "not_checked": left_out}, indent=2) + "\n"
        output.show(text, (), run_id=results.run_id, checks=[results])
        return results.exit_code


def check_apart(options: argparse.Namespace) -> int:
    """Run the suite of each table by itself, and print all verdicts as one table.

    Each pays from its own ledger, `T.ledger` in the folder that --ledger names. The worst verdict decides the exit
    code.

    Raises
    ------
    ParameterError
        If an option is given that is of one table.
    """
    from dpdb.doors.cli.options import table_settings
    from dpdb.doors.cli.session import clear_bar, name_run, one_release, running, step_bar
    from dpdb.doors.cli.texts import plan_text, tables_text
    from dpdb.suites import TablesApart

    single = [name for name in _OF_ONE_TABLE if name != "max_children"]
    of_several = f"is for one table; {options.suite} has suites of several"
    _refuse(options, [*single, "receipt", "keep", "numbers"], of_several)
    settings = table_settings(options)
    taken = ("rows_per_person", "max_children", "gather_rows", *LIMITS)
    own = {name: settings[name] for name in taken if settings.get(name) is not None}
    with AnswerOutput.of(options) as output:
        with TablesApart(
            options.source,
            options.suite,
            table=options.table,
            public_parents=settings["public_parents"],
            ledgers=options.ledger,
            budget=one_release(options),
            day=options.date,
            progress=step_bar(options, _STEPS_OF_SET),
            rows=not options.dry_run,
            **own,
        ) as tables:
            asked = asked_values(options, RUN_OPTIONS) | {"who": options.who}
            prepared = tables.prepare(**{name: value for name, value in asked.items() if name != "day"})
            clear_bar(options)
            if options.dry_run:
                plans = [(name, run) for name, run in prepared.runs.items() if run is not None]
                texts = [f"{name}:\n{plan_text(run, options.margin)}" for name, run in plans]
                write_output(_left_out_text(tables) + "\n".join(texts))
                return 0
            name_run(options, prepared.run_id)
            found: dict[str, CheckResults] = {}
            with running(options, prepared.run_id):
                try:
                    found.update(tables.run(prepared))
                except BaseException:
                    if found:  # they are paid for
                        write_output(tables_text(found))
                    raise
            left_out = _left_out(tables)
            text = tables_text(found) + _left_out_text(tables)
        if options.format == "json":
            each = {name: results.to_dict() for name, results in found.items()}
            text = json.dumps({"tables": each, "not_checked": left_out}, indent=2) + "\n"
        output.show(text, (), run_id=prepared.run_id, checks=[*found.values()])
        codes = {results.exit_code for results in found.values()}
        return 1 if 1 in codes else max(codes)


def _refuse(options: argparse.Namespace, names: Sequence[str], why: str) -> None:
    for name in names:
        if getattr(options, name, None) not in (None, []):
            raise ParameterError(f"--{name.replace('_', '-')} {why}")


def _left_out(tables: TableSet | TablesApart) -> list[dict[str, Any]]:
    return [{"name": each.name, "reason": each.reason} for each in tables.not_checked]


def _left_out_text(tables: TableSet | TablesApart) -> str:
    """Say how many checks are not run, and the commonest reasons."""
    if not tables.not_checked:
        return ""
    counts = Counter(each.reason for each in tables.not_checked).most_common()
    lines = [f"  {count}: {reason}" for reason, count in counts[:_MOST_REASONS]]
    more = [f"  and {len(counts) - _MOST_REASONS} other reasons (--format json)"] if len(counts) > _MOST_REASONS else []
    return "\n".join([f"Not checked: {len(tables.not_checked)}, for public reasons:", *lines, *more]) + "\n"
