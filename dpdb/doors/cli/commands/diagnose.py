"""`dpdb diagnose`."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from dpdb.diagnosis import ASKED
from dpdb.doors.cli.answers import AnswerOutput
from dpdb.doors.cli.options import answer_options, ask_options, asked_values, command, csv_line, table_options
from dpdb.doors.cli.parser import whole
from dpdb.doors.cli.streams import say, write_output
from dpdb.errors import ParameterError

if TYPE_CHECKING:
    from dpdb.diagnosis import Diagnosis

_STEPS = 12


def add_diagnose(commands: Any) -> None:
    """Add `dpdb diagnose`."""
    text = "name the dirtiest slices of public keys, and the worst rule"
    example = "dpdb diagnose hospital.parquet --constraints hospital.dcs.txt --by state --keys AL,AK --epsilon 1"
    parser = command(commands, "diagnose", run, text, example)
    table_options(parser)
    ask_options(parser, ASKED, epsilon={"required": True})
    parser.add_argument("--dry-run", action="store_true", help="show what can be told apart, and spend nothing")
    parser.add_argument("--rows", type=whole, metavar="N", help="public size of the table, to say what can be named")
    answer_options(parser)


def run(options: argparse.Namespace) -> None:
    """Print what was named, or with `--dry-run` what can be."""
    from dpdb.diagnosis import diagnosis_text

    with AnswerOutput.of(options) as output:
        found = _found(options)
        if found is None:
            return
        text = json.dumps(found.to_dict(), indent=2) + "\n" if options.format == "json" else diagnosis_text(found)
        output.show(text, (), run_id=found.run_id or "")


def _found(options: argparse.Namespace) -> Diagnosis | None:
    from dpdb.diagnosis import DiagnosisAsk, DiagnosisPlan, prepare_diagnosis, run_diagnosis
    from dpdb.doors.cli.session import clear_bar, name_run, run_session, running

    ask = DiagnosisAsk.of(asked_values(options, ASKED) | _slices(options))
    with run_session(options, _STEPS) as session:
        prepared = prepare_diagnosis(session, ask, who=options.who)
        plan = DiagnosisPlan(prepared, options.rows)
        clear_bar(options)
        if options.dry_run:
            write_output("\n".join([*plan.words, "nothing was spent and no row was read"]) + "\n")
            return None
        for line in [] if options.quiet else plan.words:
            say(line)
        name_run(options, prepared.charge.run_id)
        with running(options, prepared.charge.run_id):
            return run_diagnosis(session, prepared)


def _slices(options: argparse.Namespace) -> dict[str, Any]:
    """Read the columns and their keys, which are given in the same order."""
    columns, lines = options.by or [], options.keys or []
    if len(columns) != len(lines):
        raise ParameterError("--by and --keys go together: give each column its public list of keys, in the same order")
    keys = [csv_line("--keys", line) for line in lines]
    if not columns:
        return {}
    return {"by": columns[0], "keys": keys[0]} if len(columns) == 1 else {"by": columns, "keys": keys}
