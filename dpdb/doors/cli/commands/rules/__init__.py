"""`dpdb rules ACTION`, one file per action: constraints from other tools or found, and oddities in constraints."""

from __future__ import annotations

from typing import Any

from dpdb.doors.cli.commands.rules import discover, import_, lint

__all__ = ["add"]

_ACTIONS = (import_, lint, discover)
"""In the order of `dpdb rules --help`."""


def add(commands: Any) -> None:
    """Add `dpdb rules` and its actions."""
    parser = commands.add_parser("rules", help="bring constraints from other tools, check and discover constraints")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    for action in _ACTIONS:
        action.add(actions)
