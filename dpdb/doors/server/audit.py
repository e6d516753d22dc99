"""The audit of a server: a SQLite file beside the ledgers that says who asked what, when, from where, and the outcome.

It is the owner's, as a ledger is (mode 0600), and holds no private value. A line is written before its statement runs,
and completed afterwards: one without an outcome is of a server that was killed. What cannot be written is not run.
The same transaction counts the analyst's statements of the last minute, for all servers that share the file; and it
keeps which tokens one of them has seen end.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dpdb.doors.server.refusals import TooManyError, UnauditedError
from dpdb.errors import ParameterError
from dpdb.files.bounded_file import usable
from dpdb.files.owned_file import open_owned

_TABLE = """
CREATE TABLE IF NOT EXISTS statement (
    number INTEGER PRIMARY KEY, at TEXT NOT NULL, who TEXT, door TEXT NOT NULL, address TEXT NOT NULL,
    action TEXT NOT NULL, text TEXT NOT NULL, outcome TEXT, epsilon TEXT, releases TEXT, ended TEXT
) STRICT;
CREATE TABLE IF NOT EXISTS lately (who TEXT NOT NULL, at REAL NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS lately_of ON lately (who);
CREATE TABLE IF NOT EXISTS ended (token TEXT PRIMARY KEY) STRICT;
"""
_BUSY_SECONDS = 10.0
_MINUTE = 60.0


class Audit:
    """An open audit file; threads and processes may share it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        try:
            with usable(path, "the audit file cannot be used: "), ExitStack() as opened:
                _make(path)
                self._connection: Any = opened.enter_context(closing(_connected(path)))
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.executescript(_TABLE)
                opened.pop_all()
        except sqlite3.Error as error:
            raise ParameterError(f"{path}: the audit file cannot be used: {error}") from None

    def begin(
        self, who: str | None, door: str, address: str, action: str, text: str, *, per_minute: int | None = None
    ) -> int:
        """Write who asks what, before it is done; returns the number of the line.

        Parameters
        ----------
        who
            None for a stranger.
        action
            Such as `run`.
        per_minute
            The most of his statements within any minute, in all servers; None counts nothing.

        Raises
        ------
        TooManyError
            He has had as many.
        UnauditedError
            The line cannot be written.
        """
        with self._writing() as connection:
            if per_minute is not None:
                _count(connection, who, per_minute)
            [(number,)] = connection.execute(
                "INSERT INTO statement (at, who, door, address, action, text) VALUES (?, ?, ?, ?, ?, ?) "
                "RETURNING number",
                (_now(), who, door, address, action, text.encode("utf-8", "backslashreplace").decode()),
            ).fetchall()
            return int(number)

    def end(self, number: int, outcome: str, epsilon: str | None = None, releases: Sequence[str] = ()) -> None:
        """Complete a line.

        Parameters
        ----------
        outcome
            `answered`, or the kind of refusal or failure.
        """
        with self._writing() as connection:
            connection.execute(
                "UPDATE statement SET outcome = ?, epsilon = ?, releases = ?, ended = ? WHERE number = ?",
                (outcome, epsilon, json.dumps([*releases]) if releases else None, _now(), number),
            )

    def ended(self, seen: Collection[str]) -> set[str]:
        """Return the digests of all tokens that a server has seen end, after adding those that this one has seen."""
        with self._lock:
            try:
                known = {token for (token,) in self._connection.execute("SELECT token FROM ended").fetchall()}
            except sqlite3.Error as error:
                raise UnauditedError(f"{self._path}: the audit file cannot be read: {error}") from error
        if new := {*seen} - known:
            with self._writing() as connection:
                for token in sorted(new):
                    connection.execute("INSERT OR IGNORE INTO ended VALUES (?)", (token,))
        return known | new

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextmanager
    def _writing(self) -> Iterator[Any]:
        """Hold the file for one transaction; a failure leaves nothing of it."""
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException as error:
                with suppress(sqlite3.Error):  # where it has ended already
                    self._connection.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise UnauditedError(f"{self._path}: the audit file cannot be written: {error}") from error
                raise


def _make(path: Path) -> None:
    """Make the file where there is none; `OSError` where others may use it."""
    os.close(open_owned(path, os.O_CREAT | os.O_RDWR))


def _connected(path: Path) -> Any:
    return sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)


def _count(connection: Any, who: str | None, most: int) -> None:
    """Count one more statement, by the clock that counts from the machine's start, never goes back and all share."""
    now = time.monotonic()  # within the transaction: none that is counted was later, but of an earlier start
    connection.execute("DELETE FROM lately WHERE who = ? AND (at <= ? OR at > ?)", (who, now - _MINUTE, now))
    [(seen,)] = connection.execute("SELECT count(*) FROM lately WHERE who = ?", (who,)).fetchall()
    if seen >= most:
        raise TooManyError(f"more than {most} statements in a minute: wait a little")
    connection.execute("INSERT INTO lately VALUES (?, ?)", (who, now))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
