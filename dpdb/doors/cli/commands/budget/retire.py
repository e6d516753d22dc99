"""`dpdb budget retire`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.commands.budget.ledger_option import act, act_options

if TYPE_CHECKING:
    from dpdb.ledger import Ledger

__all__ = ["add_retire"]


def add_retire(actions: Any) -> None:
    """Add `dpdb budget retire`."""
    text = "end the ledger for ever: nothing more is released; what was released can still be read"
    parser = act(actions, "retire", _retire, text, "dpdb budget retire visits.ledger --who ann --label 'study closed'")
    act_options(parser)


def _retire(ledger: Ledger, options: argparse.Namespace) -> None:
    ledger.retire(who=options.who, label=options.label)
