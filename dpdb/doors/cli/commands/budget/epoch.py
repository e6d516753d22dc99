"""`dpdb budget epoch`."""

from __future__ import annotations

import argparse
from typing import Any

from dpdb.doors.cli.commands.budget.ledger_option import ledger_option
from dpdb.doors.cli.shared_options import command

__all__ = ["add", "run"]


def add(actions: Any) -> None:
    """Add `dpdb budget epoch`."""
    parser = command(
        actions,
        "epoch",
        run,
        "confirm that a changed source is the same table; what was spent stays spent",
        "dpdb budget epoch visits.ledger",
    )
    ledger_option(parser)


def run(options: argparse.Namespace) -> int:
    """Open the next epoch and print the ledger's summary."""
    from dpdb.doors.cli.commands.budget.summary import show_summary
    from dpdb.ledger import Ledger

    with Ledger.open(options.ledger) as ledger:
        ledger.open_epoch()
        show_summary(ledger.summary(), options.format)
    return 0
