"""`dpdb analyst ACTION`, one file per action: who may ask a server, and how much."""

from __future__ import annotations

from typing import Any

from dpdb.doors.cli.commands.analyst import add as add_
from dpdb.doors.cli.commands.analyst import list_, quota, revoke

__all__ = ["add"]

_ACTIONS = (add_, quota, revoke, list_)
"""In the order of `dpdb analyst --help`."""


def add(commands: Any) -> None:
    """Add `dpdb analyst` and its actions."""
    parser = commands.add_parser("analyst", help="say who may ask a server, with which quota, until when")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    for action in _ACTIONS:
        action.add(actions)
