"""`dpdb budget close`."""

from __future__ import annotations

import argparse
from typing import Any

from dpdb.doors.cli.commands.budget.ledger_option import act_options, ledger_option
from dpdb.doors.cli.shared_options import command

__all__ = ["add", "run"]


def add(actions: Any) -> None:
    """Add `dpdb budget close`."""
    parser = command(
        actions,
        "close",
        run,
        "close a kept suite for ever: settle it at what its failures cost, and overwrite its secret",
        "dpdb budget close visits.ledger nightly",
    )
    ledger_option(parser)
    parser.add_argument("name", metavar="NAME", help="the kept suite, or the run id of another that was not finished")
    act_options(parser)


def run(options: argparse.Namespace) -> int:
    """Close a suite and print the ledger's summary."""
    from dpdb.doors.cli.commands.budget.summary import show_summary
    from dpdb.ledger import Ledger

    with Ledger.open(options.ledger) as ledger:
        ledger.close_suite(options.name, who=options.who, label=options.label)
        show_summary(ledger.summary(), options.format)
    return 0
