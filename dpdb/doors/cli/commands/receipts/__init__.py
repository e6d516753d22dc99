"""`dpdb receipts ACTION`, one file per action: the key of receipts, and receipts of what was spent before."""

from __future__ import annotations

from typing import Any

from dpdb.doors.cli.commands.receipts import issue, key

__all__ = ["add"]

_ACTIONS = (key, issue)
"""In the order of `dpdb receipts --help`."""


def add(commands: Any) -> None:
    """Add `dpdb receipts` and its actions."""
    parser = commands.add_parser("receipts", help="make the key of receipts; issue receipts of what was spent")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    for action in _ACTIONS:
        action.add(actions)
