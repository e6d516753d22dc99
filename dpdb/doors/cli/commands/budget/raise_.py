"""`dpdb budget raise`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.commands.budget.ledger_option import act, act_options

if TYPE_CHECKING:
    from dpdb.ledger import Ledger

__all__ = ["add_raise"]


def add_raise(actions: Any) -> None:
    """Add `dpdb budget raise`."""
    text = "raise the total for ever; it is recorded and never lowered"
    parser = act(
        actions, "raise", _raise, text, "dpdb budget raise visits.ledger --to 5 --who ann --label 'second year'"
    )
    parser.add_argument("--to", required=True, metavar="E", help="the new total, as of `dpdb budget create --epsilon`")
    act_options(parser)


def _raise(ledger: Ledger, options: argparse.Namespace) -> None:
    ledger.raise_budget(epsilon=options.to, who=options.who, label=options.label)
