"""`dpdb compare`."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.answers import AnswerOutput
from dpdb.doors.cli.options import (
    add_option,
    ask_options,
    command,
    csv_line,
    csv_schema,
    gate_code,
    gate_options,
    given,
    limit_options,
    output_option,
    receipt_options,
    setting_options,
    table_settings,
    thresholds,
    who_option,
    words_options,
)
from dpdb.doors.cli.streams import say, write_output
from dpdb.errors import ParameterError
from dpdb.reconciliation import ASKED
from dpdb.settings import SETTINGS

if TYPE_CHECKING:
    from dpdb.release import Releases

_STEPS = 6
_OF_BOTH = ("table", "csv_schema", "delimiter", "rows_per_person", "unit", "max_rows", "gather_rows")
_OF_ONE = (*_OF_BOTH[:3], "unit")


def add_compare(commands: Any) -> None:
    """Add `dpdb compare`."""
    text = "count the keys on which two tables do not agree, under differential privacy for both"
    example = "dpdb compare registry.parquet site.parquet --key patient_id --epsilon 1"
    parser = command(commands, "compare", run, text, example)
    for side in ("left", "right"):
        parser.add_argument(side, metavar=side.upper(), help=f"the {side} table: what `dpdb measure` takes")
    ask_options(parser, ASKED, key={"required": True}, epsilon={"required": True, "default": None})
    parser.add_argument("--dry-run", action="store_true", help="show what can be told apart, and spend nothing")
    setting_options(parser, _OF_BOTH, {"unit": "protect each value of COLUMN, which is the key, with all its rows"})
    for side in ("left", "right"):
        for name in _OF_ONE:
            setting = SETTINGS[name]
            words = "the key's column, where it has another name" if name == "unit" else setting.words
            parser.add_argument(f"--{side}-{setting.key}", metavar=setting.letter, help=f"of the {side} table: {words}")
        parser.add_argument(f"--{side}-ledger", metavar="FILE", help=f"durable budget of the {side} table")
    who_option(parser)
    receipt_options(parser)
    for one in ASKED.values():
        if "commands" in one.not_in:  # names the run
            add_option(parser, one)
    gate_options(parser)
    limit_options(parser)
    words_options(parser)
    output_option(parser)


def run(options: argparse.Namespace) -> int:
    """Print what was released and compare it with the gates, or with `--dry-run` print what can be told."""
    from dpdb.doors.cli.texts import releases_text
    from dpdb.measures import COMPARED

    gates = thresholds(options, COMPARED)
    left, right = options.left_ledger, options.right_ledger
    signed = (None, None) if options.dry_run else (options.receipt, options.receipt_key)
    if signed != (None, None) and None in {left, right}:
        raise ParameterError("a receipt is of both debits: give --left-ledger and --right-ledger")
    with AnswerOutput(options.out, left or right, warn=False, receipt=signed, beside=[right]) as output:
        found = _found(options)
        if found is None:
            return 0
        try:
            output.show(releases_text(found, options.format, options.verbose), found)
        finally:
            code = gate_code(found, gates)
            if not options.quiet and None in {options.left_ledger, options.right_ledger}:
                say("a table without a ledger: nothing adds up what this command and others spend on it")
        return code


def _found(options: argparse.Namespace) -> Releases | None:
    from dpdb.doors.cli.session import clear_bar, step_bar
    from dpdb.reconciliation import ComparisonAsk, opened_side, prepare_comparison, run_comparison

    columns = None if options.columns is None else csv_line("--columns", options.columns, spaced=True)
    asked = given(options, *ASKED) | {"key": csv_line("--key", options.key, spaced=True), "columns": columns}
    ask = ComparisonAsk(**asked)
    settings = _settings(options) | {"progress": step_bar(options, _STEPS)}
    with ExitStack() as opened:
        rows = not options.dry_run
        left = opened_side(options.left, settings, "left", opened, rows=rows)
        right = opened_side(options.right, settings, "right", opened, rows=rows)
        prepared = prepare_comparison(left, right, ask, who=options.who)
        if options.dry_run:
            clear_bar(options)
            write_output("\n".join([*prepared.words, "nothing was spent and no row was read"]) + "\n")
            return None
        run_id = prepared.charges[0].run_id
        if run_id is not None and options.run_id is None and not options.quiet:
            clear_bar(options)
            say(f"run id {run_id}: with --run-id the same run is finished, or answered again")
        try:
            return run_comparison(left, right, prepared)
        finally:
            clear_bar(options)


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of both tables, and those of one."""
    found = {name: value for name, value in table_settings(options).items() if value != SETTINGS[name].default}
    for side in ("left", "right"):
        own = {name: getattr(options, f"{side}_{SETTINGS[name].key}") for name in _OF_ONE}
        if own["csv_schema"] is not None:
            own["csv_schema"] = csv_schema(argparse.Namespace(schema=own["csv_schema"]))
        own["ledger"] = getattr(options, f"{side}_ledger")
        found |= {f"{side}_{name}": value for name, value in own.items() if value is not None}
    return found
