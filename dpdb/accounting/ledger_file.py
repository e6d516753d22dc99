"""The file of a ledger: SQLite with a write-ahead log, synced at every commit, readable by its owner only."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from dpdb.accounting.file_lock import sync_folder
from dpdb.errors import LedgerError
from dpdb.stopping import let_through, unbroken

__all__ = ["DAMAGED", "VERSION", "LedgerFile", "create_file", "reached"]

APPLICATION_ID = 0x6470_6C67  # "dplg"
VERSION = 2  # 2: a ledger may count for values of a column
_BUSY_SECONDS, _PATIENCE = 60.0, 0.1  # in all, and before signals are looked at

_TABLES = """
CREATE TABLE terms (
    id INTEGER PRIMARY KEY CHECK (id = 1), notion TEXT NOT NULL, budget INTEGER NOT NULL, delta REAL NOT NULL,
    append_only INTEGER NOT NULL, created TEXT NOT NULL, key BLOB NOT NULL, table_mark BLOB, rows_per_person INTEGER,
    seal BLOB NOT NULL, unit TEXT
) STRICT;
CREATE TABLE epoch (
    number INTEGER PRIMARY KEY, opened TEXT NOT NULL, source_mark BLOB, closed_overlap INTEGER, seal BLOB NOT NULL
) STRICT;
CREATE TABLE entry (
    number INTEGER PRIMARY KEY, epoch INTEGER NOT NULL REFERENCES epoch, run_id TEXT UNIQUE, request TEXT NOT NULL,
    predicate TEXT NOT NULL, charge INTEGER NOT NULL CHECK (charge >= 0), upper INTEGER NOT NULL,
    source_mark BLOB NOT NULL, reserved TEXT NOT NULL, seal BLOB NOT NULL, answer TEXT, answered TEXT
) STRICT;
"""

DAMAGED = "the ledger is damaged; nothing was released, restore it from a backup that has every release"
_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full; nothing was released, make room and try again",
    sqlite3.SQLITE_READONLY: "the ledger is read-only; nothing was released, make the file and its folder writable",
    sqlite3.SQLITE_CANTOPEN: "the ledger cannot be opened for writing; check the file, its folder and free disk space",
    sqlite3.SQLITE_IOERR: "the disk failed or is full; nothing was released",
    sqlite3.SQLITE_BUSY: "other processes keep the ledger busy; nothing was released, try again",
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_NOTADB: "this is not a ledger; make one with `dpdb budget create`",
}


def reached(step: str) -> None:
    """Do nothing; tests end the process here, at every step of a release."""
    del step


class LedgerFile:
    """An open ledger file; every failure is a `LedgerError` in words.

    Raises
    ------
    LedgerError
        There is no ledger at `path`, others may read it, it is damaged, or of a newer version.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._check_mode()
        with self._errors():
            self._connection = sqlite3.connect(
                f"file:{quote(str(path.absolute()))}?mode=rw", uri=True, timeout=_PATIENCE, isolation_level=None
            )
        try:
            self._check_format()
            self.rows("PRAGMA synchronous = FULL")
        except BaseException:
            self.close()
            raise

    def rows(self, sql: str, values: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
        """Run one statement and return its rows."""
        with self._errors():
            return self._patiently(sql, values).fetchall()

    def change(self, sql: str, values: tuple[object, ...]) -> int:
        """Run one statement that changes rows; returns how many."""
        with self._errors():
            return self._patiently(sql, values).rowcount

    def _patiently(self, sql: str, values: tuple[object, ...]) -> sqlite3.Cursor:
        """Run one statement; where other processes keep the file busy, wait in small parts that a signal can end."""
        end = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                return self._connection.execute(sql, values)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                    raise
            let_through()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the only write transaction: others wait, and what is read in it cannot change before its commit."""
        try:
            self.rows("BEGIN IMMEDIATE")
            yield
            self.rows("COMMIT")
        except BaseException:
            with unbroken(), suppress(sqlite3.Error):
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Close the file. May be called twice."""
        self._connection.close()

    def _check_mode(self) -> None:
        try:
            mode = self.path.stat().st_mode
        except (OSError, ValueError):
            raise LedgerError(f"{self.path}: no ledger there; make one with `dpdb budget create`") from None
        if not stat.S_ISREG(mode):
            raise LedgerError(f"{self.path}: this is not a ledger; make one with `dpdb budget create`")
        if mode & 0o077:
            raise LedgerError(f"{self.path}: others may read or change the ledger; `chmod 600` it")

    def _check_format(self) -> None:
        application, version = (self.rows(f"PRAGMA {name}")[0][0] for name in ("application_id", "user_version"))
        if application != APPLICATION_ID:
            raise LedgerError(f"{self.path}: {_REASONS[sqlite3.SQLITE_NOTADB]}")
        if version not in (1, VERSION):
            raise LedgerError(f"{self.path}: ledger of format {version}; this version of dpdb reads format {VERSION}")
        if self.rows("PRAGMA quick_check(1)") != [("ok",)]:
            raise LedgerError(f"{self.path}: {_REASONS[sqlite3.SQLITE_CORRUPT]}")
        if version == 1:
            self._upgrade()

    def _upgrade(self) -> None:
        with self.transaction():
            if self.rows("PRAGMA user_version") == [(1,)]:  # no other process was faster
                self.rows("ALTER TABLE terms ADD COLUMN unit TEXT")
                self.rows(f"PRAGMA user_version = {VERSION}")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except UnicodeDecodeError:  # text that nobody wrote
            raise LedgerError(f"{self.path}: {DAMAGED}") from None
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            reason = _REASONS.get(code, f"the ledger cannot be used ({error}); nothing was released")
            raise LedgerError(f"{self.path}: {reason}") from None


def create_file(path: Path, terms: tuple[object, ...], first_epoch: tuple[object, ...]) -> None:
    """Make a ledger file, complete or not at all; an existing file is never touched.

    Raises
    ------
    LedgerError
        The file exists or cannot be made.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        connection = sqlite3.connect(partial, isolation_level=None)
        try:
            connection.executescript(_TABLES)
            connection.execute(f"INSERT INTO terms VALUES ({', '.join('?' * len(terms))})", terms)
            connection.execute("INSERT INTO epoch VALUES (?, ?, ?, ?, ?)", first_epoch)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.execute("PRAGMA journal_mode = WAL")
        finally:
            connection.close()
        os.link(partial, path)  # unlike a rename, it refuses to replace a file
        sync_folder(path.parent)
    except FileExistsError:
        raise LedgerError(f"{path}: exists already; it is not overwritten") from None
    except (OSError, sqlite3.Error) as error:
        words = error.strerror if isinstance(error, OSError) else str(error)
        raise LedgerError(f"{path}: the ledger cannot be made: {words}") from None
    finally:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{partial}{suffix}").unlink(missing_ok=True)
