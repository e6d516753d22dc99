"""`dpdb budget create`."""

from __future__ import annotations

import argparse
from typing import Any

from dpdb.doors.cli.commands.budget.ledger_option import allowance_options, ledger_option
from dpdb.doors.cli.numbers import real
from dpdb.doors.cli.shared_options import command

__all__ = ["add_create"]


def add_create(actions: Any) -> None:
    """Add `dpdb budget create`."""
    text = "make the ledger of a table; its first release binds it to the table's columns"
    parser = command(actions, "create", _create, text, "dpdb budget create visits.ledger --epsilon 3")
    ledger_option(parser)
    parser.add_argument("--epsilon", required=True, metavar="E", help="total privacy cost allowed")
    parser.add_argument("--notion", choices=["pure", "zcdp", "gdp"], default="pure", help="how losses add up (pure)")
    parser.add_argument("--delta", type=real, default=0.0, metavar="D", help="of a zcdp or gdp ledger, such as 1e-6")
    allowance_options(parser, required=False)
    parser.add_argument("--append-only", action="store_true", help="rows are added and never change: no epochs needed")


def _create(options: argparse.Namespace) -> int:
    """Make a ledger and print its summary."""
    from dpdb.doors.cli.commands.budget.summary import show_summary
    from dpdb.ledger import Ledger

    with Ledger.create(
        options.ledger,
        notion=options.notion,
        epsilon=options.epsilon,
        delta=options.delta,
        append_only=options.append_only,
        at_most=options.at_most,
        per=options.per,
    ) as ledger:
        show_summary(ledger.summary(), options.format)
    return 0
