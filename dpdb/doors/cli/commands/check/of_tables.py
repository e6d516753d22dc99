"""`dpdb check` of a set of tables: a folder or database of tables, and a folder with a suite file for each."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.answers import AnswerOutput
from dpdb.doors.cli.streams import say, write_output
from dpdb.errors import ParameterError

if TYPE_CHECKING:
    from dpdb.suites import TableSet

__all__ = ["check_tables"]

_STEPS_OF_SET = 40
_OF_ONE_TABLE = ("where", "by", "keys", "private_parent", "max_children", "row_bound", "schema", "delimiter")
_ASKED_OF_SET = ("epsilon", "confidence", "certain", "keep", "runs", "run_id", "label", "who")
_LIMITS = ("memory_limit", "temp_directory", "threads", "gather_rows")
_MOST_REASONS = 5


def check_tables(options: argparse.Namespace) -> int:
    """Run the suites of all tables as one, print the verdicts, and tell by the exit code whether a check failed.

    Raises
    ------
    ParameterError
        If an option is given that is of one table, or no unit.
    """
    from dpdb.doors.cli.checks_text import checks_text, plan_text
    from dpdb.doors.cli.open_session import one_release
    from dpdb.doors.cli.options import table_settings
    from dpdb.doors.cli.progress import clear_bar, running, step_bar
    from dpdb.suites import TableSet

    for name in _OF_ONE_TABLE:
        if getattr(options, name, None) not in (None, []):
            raise ParameterError(f"--{name.replace('_', '-')} is for one table; {options.suite} has suites of several")
    if options.unit is None:
        raise ParameterError("a set of tables needs --unit COLUMN, whose values own rows in all of them")
    settings = table_settings(options)
    limits = {name: settings[name] for name in _LIMITS if name in settings}
    with AnswerOutput.of(options) as output:
        with TableSet(
            options.source,
            options.suite,
            table=options.table,
            unit=options.unit,
            max_rows=options.max_rows,
            public_parents=settings["public_parents"],
            ledger=options.ledger,
            budget=None if options.dry_run else one_release(options),
            day=options.date,
            progress=step_bar(options, _STEPS_OF_SET),
            rows=not options.dry_run,
            **limits,
        ) as tables:
            prepared = tables.prepare(**{name: getattr(options, name) for name in _ASKED_OF_SET})
            clear_bar(options)
            if options.dry_run:
                write_output(_left_out_text(tables) + plan_text(prepared, options.margin))
                return 0
            if options.ledger is not None and not options.quiet and tables.will_test(prepared):
                say(f"run id {prepared.charge.run_id}: with --run-id the same run is finished, or answered again")
            with running(options, prepared.charge.run_id):
                results = tables.run(prepared)
            left_out = _left_out(tables)
            text = checks_text(results, prepared.plan) + _left_out_text(tables)
        if options.format == "json":
            text = json.dumps({**results.to_dict(), "not_checked": left_out}, indent=2) + "\n"
        output.show(text, (), run_id=results.run_id, checks=[results])
        return results.exit_code


def _left_out(tables: TableSet) -> list[dict[str, Any]]:
    return [{"name": each.name, "reason": each.reason} for each in tables.not_checked]


def _left_out_text(tables: TableSet) -> str:
    """Say how many checks are not run, and the commonest reasons."""
    if not tables.not_checked:
        return ""
    counts = Counter(each.reason for each in tables.not_checked).most_common()
    lines = [f"  {count}: {reason}" for reason, count in counts[:_MOST_REASONS]]
    more = [f"  and {len(counts) - _MOST_REASONS} other reasons (--format json)"] if len(counts) > _MOST_REASONS else []
    return "\n".join([f"Not checked: {len(tables.not_checked)}, for public reasons:", *lines, *more]) + "\n"
