"""`dpdb budget raise`."""

from __future__ import annotations

import argparse
from typing import Any

from dpdb.doors.cli.commands.budget.ledger_option import act_options, ledger_option
from dpdb.doors.cli.shared_options import command

__all__ = ["add", "run"]


def add(actions: Any) -> None:
    """Add `dpdb budget raise`."""
    parser = command(
        actions,
        "raise",
        run,
        "raise the total for ever; it is recorded and never lowered",
        "dpdb budget raise visits.ledger --to 5 --who ann --label 'second year'",
    )
    ledger_option(parser)
    parser.add_argument("--to", required=True, metavar="E", help="the new total, as of `dpdb budget create --epsilon`")
    act_options(parser)


def run(options: argparse.Namespace) -> int:
    """Raise the budget and print the ledger's summary."""
    from dpdb.doors.cli.commands.budget.summary import show_summary
    from dpdb.ledger import Ledger

    with Ledger.open(options.ledger) as ledger:
        ledger.raise_budget(epsilon=options.to, who=options.who, label=options.label)
        show_summary(ledger.summary(), options.format)
    return 0
