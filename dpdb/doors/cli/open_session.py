"""The session of a command that makes releases, and its request: each option has the name of its field."""

from __future__ import annotations

import argparse
from typing import Any

from dpdb.doors.cli.options import keys, table_settings
from dpdb.privacy import parse_epsilon
from dpdb.release import OPTIONS, Ask, Session

__all__ = ["asked", "one_release", "open_session"]


def open_session(options: argparse.Namespace, **own: Any) -> Session:
    """Open the source of a command; `own` are parameters of `Session` that the command sets itself, as `budget`."""
    return Session(options.source, **table_settings(options) | {"ledger": options.ledger} | own)


def one_release(options: argparse.Namespace) -> str | None:
    """Return the budget of a command that makes one release: its epsilon, or None, for that of the ledger."""
    if options.ledger is not None or options.epsilon is None:
        return None
    parse_epsilon(options.epsilon)  # errors speak of epsilon, not of a budget
    return str(options.epsilon)


def asked(options: argparse.Namespace, function: str) -> Ask:
    """Return the request of a command to `dp_inconsistency` or `dp_count`.

    Raises
    ------
    ParameterError
        As for `Ask`.
    """
    given = {name: value for name, value in vars(options).items() if name in OPTIONS}
    return Ask.called(function, {**given, "keys": keys(options)})
