"""`dpdb budget epoch`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.commands.budget.ledger_option import act

if TYPE_CHECKING:
    from dpdb.ledger import Ledger

__all__ = ["add_epoch"]


def add_epoch(actions: Any) -> None:
    """Add `dpdb budget epoch`."""
    text = "confirm that a changed source is the same table; what was spent stays spent"
    act(actions, "epoch", _epoch, text, "dpdb budget epoch visits.ledger")


def _epoch(ledger: Ledger, _: argparse.Namespace) -> None:
    ledger.open_epoch()
