"""The audit of a server: a SQLite file beside the ledgers that says who asked what, when, from where, and the outcome.

It is the owner's, as a ledger is (mode 0600), and holds no private value. A line is written before its statement runs,
and completed afterwards: one without an outcome is of a server that was killed.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from dpdb.errors import ParameterError
from dpdb.files.owned_file import open_owned

__all__ = ["Audit"]

_TABLE = """
CREATE TABLE IF NOT EXISTS statement (
    number INTEGER PRIMARY KEY, at TEXT NOT NULL, who TEXT, door TEXT NOT NULL, address TEXT NOT NULL,
    action TEXT NOT NULL, text TEXT NOT NULL, outcome TEXT, epsilon TEXT, releases TEXT, ended TEXT
) STRICT;
"""
_BUSY_SECONDS = 20.0


class Audit:
    """An open audit file; threads and processes may share it.

    Raises
    ------
    ParameterError
        The file cannot be used, or others may read it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        try:
            os.close(open_owned(path, os.O_CREAT | os.O_RDWR))
            self._connection = sqlite3.connect(
                path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.executescript(_TABLE)
        except OSError as error:
            raise ParameterError(f"{path}: the audit file cannot be used: {error.strerror}") from None
        except sqlite3.Error as error:
            raise ParameterError(f"{path}: the audit file cannot be used: {error}") from None

    def begin(self, who: str | None, door: str, address: str, action: str, text: str) -> int:
        """Write who asks what, before it is done; returns the number of the line.

        Parameters
        ----------
        who
            None for a stranger.
        door, address
            The protocol, and whence.
        action
            Such as `run`.
        text
            The statement.
        """
        with self._lock:
            cursor = self._connection.execute(
                "INSERT INTO statement (at, who, door, address, action, text) VALUES (?, ?, ?, ?, ?, ?)",
                (_now(), who, door, address, action, text.encode("utf-8", "backslashreplace").decode()),
            )
            return int(cursor.lastrowid or 0)

    def end(self, number: int, outcome: str, epsilon: str | None = None, releases: Sequence[str] = ()) -> None:
        """Complete a line.

        Parameters
        ----------
        number
            Of the line.
        outcome
            `answered`, or the kind of refusal or failure.
        epsilon
            What the answer has cost.
        releases
            Ids of its releases.
        """
        with self._lock:
            self._connection.execute(
                "UPDATE statement SET outcome = ?, epsilon = ?, releases = ?, ended = ? WHERE number = ?",
                (outcome, epsilon, json.dumps([*releases]) if releases else None, _now(), number),
            )

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
