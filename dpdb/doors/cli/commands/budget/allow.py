"""`dpdb budget allow`."""

from __future__ import annotations

import argparse
from typing import Any

from dpdb.doors.cli.commands.budget.ledger_option import act_options, allowance_options, ledger_option
from dpdb.doors.cli.shared_options import command
from dpdb.errors import ParameterError

__all__ = ["add", "run"]


def add(actions: Any) -> None:
    """Add `dpdb budget allow`."""
    parser = command(
        actions,
        "allow",
        run,
        "allow at most so much within a period, inside the one total; old releases never expire",
        "dpdb budget allow visits.ledger --at-most 0.5 --per 30d",
    )
    ledger_option(parser)
    allowance_options(parser, required=True)
    parser.add_argument("--end", action="store_true", help="end the allowance of this period")
    act_options(parser)


def run(options: argparse.Namespace) -> int:
    """Fix or end an allowance and print the ledger's summary."""
    from dpdb.doors.cli.commands.budget.summary import show_summary
    from dpdb.ledger import Ledger

    if options.end == (options.at_most is not None):
        raise ParameterError("give --at-most E, or --end for the allowance to end")
    with Ledger.open(options.ledger) as ledger:
        ledger.allow(options.per, epsilon=options.at_most, who=options.who, label=options.label)
        show_summary(ledger.summary(), options.format)
    return 0
