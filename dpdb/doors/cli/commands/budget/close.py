"""`dpdb budget close`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.commands.budget.ledger_option import act, act_options

if TYPE_CHECKING:
    from dpdb.ledger import Ledger

__all__ = ["add_close"]


def add_close(actions: Any) -> None:
    """Add `dpdb budget close`."""
    text = "close a kept suite for ever: settle it at what its failures cost, and overwrite its secret"
    parser = act(actions, "close", _close, text, "dpdb budget close visits.ledger nightly")
    parser.add_argument("name", metavar="NAME", help="the kept suite, or the run id of another that was not finished")
    act_options(parser)


def _close(ledger: Ledger, options: argparse.Namespace) -> None:
    ledger.close_suite(options.name, who=options.who, label=options.label)
