"""`dpdb budget ACTION`, one file per action: make, show and continue the durable budget of one table."""

from __future__ import annotations

from typing import Any

from dpdb.doors.cli.commands.budget import (
    allow,
    answers,
    close,
    create,
    epoch,
    history,
    raise_,
    rearm,
    retire,
    show,
    suites,
)

__all__ = ["add"]

_ACTIONS = (create, show, history, epoch, raise_, allow, retire, answers, suites, rearm, close)
"""In the order of `dpdb budget --help`."""


def add(commands: Any) -> None:
    """Add `dpdb budget` and its actions."""
    parser = commands.add_parser("budget", help="make, show and continue ledgers: the durable budget of one table")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    for action in _ACTIONS:
        action.add(actions)
