"""`dpdb budget retire`."""

from __future__ import annotations

import argparse
from typing import Any

from dpdb.doors.cli.commands.budget.ledger_option import act_options, ledger_option
from dpdb.doors.cli.shared_options import command

__all__ = ["add", "run"]


def add(actions: Any) -> None:
    """Add `dpdb budget retire`."""
    parser = command(
        actions,
        "retire",
        run,
        "end the ledger for ever: nothing more is released; what was released can still be read",
        "dpdb budget retire visits.ledger --who ann --label 'study closed'",
    )
    ledger_option(parser)
    act_options(parser)


def run(options: argparse.Namespace) -> int:
    """Retire the ledger and print its summary."""
    from dpdb.doors.cli.commands.budget.summary import show_summary
    from dpdb.ledger import Ledger

    with Ledger.open(options.ledger) as ledger:
        ledger.retire(who=options.who, label=options.label)
        show_summary(ledger.summary(), options.format)
    return 0
