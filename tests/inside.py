"""What tests see of the inside of sessions, ledgers and doors, and no caller may: who moves it changes this file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import dpdb
from dpdb.privacy import noise

if TYPE_CHECKING:
    from dpdb.doors.sql import FrontEnd
    from dpdb.engine import Table
    from dpdb.ledger import Ledger


def true_numbers(session: dpdb.Session) -> Any:
    """Its private statistics, by slice; empty while nothing was read."""
    return session._private


def table_of(session: dpdb.Session) -> Table:
    return session._table


def account_of(session: Any) -> Any:
    """What pays for its releases: of a session, or of a set of tables."""
    return session._account


def file_of(ledger: Ledger) -> Any:
    """Its `LedgerFile`."""
    return ledger._file


def state_of(ledger: Ledger) -> Any:
    """Its `LedgerState`."""
    return ledger._state


def database_of(door: FrontEnd) -> Any:
    """The `RemoteDatabase` in which a front end runs statements."""
    return door._remote


def public_file(remote: Any) -> Path:
    """The copy of its public tables."""
    return remote._public.file


def lines_of(desk: Any) -> Any:
    """The connection to the audit of a server."""
    return desk.audit._connection


OPENDP = noise._OpenDPNoise
"""The noise of all releases; others are put in its place."""
