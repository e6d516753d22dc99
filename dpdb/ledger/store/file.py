"""The file of a ledger: SQLite with a write-ahead log, synced at every commit, readable by its owner only.

A ledger has one place and one name. Its path is resolved once, links with other names are refused, and before every
transaction the file and its write-ahead log are looked at again: if another file is in their place, the open
ledger can no longer be used. Messages name the ledger by the path that the user gave.

`connect` is the one place where a ledger opens SQLite: the simulation of a ledger's life puts connections to its own
disk in its place. Locks on runs lie beside the ledger: of several processes that retry one run, only one draws noise.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dpdb.errors import LedgerError
from dpdb.files.owned_file import FileLock, check_owned, is_mounted_alone
from dpdb.stopping import let_through, unbroken


def connect(path: Path, mode: str, timeout: float = 5.0) -> sqlite3.Connection:
    """Open a file of SQLite; every statement commits by itself unless a transaction was begun.

    Any thread may use it, one at a time.

    Parameters
    ----------
    mode
        What SQLite may do with the file: `ro`, `rw`, or `rwc`, which also makes it.
    timeout
        Seconds to wait where other processes keep the file busy.
    """
    return sqlite3.connect(
        f"file:{quote(os.fsencode(path))}?mode={mode}",
        uri=True,
        timeout=timeout,
        isolation_level=None,
        check_same_thread=False,
    )


APPLICATION_ID = 0x6470_6C67  # "dplg"
VERSION = 4
BUSY_SECONDS, _PATIENCE = 60.0, 0.1  # in all, and before signals are handled
_EMPTYING_SECONDS, _EMPTYING_PAUSE = 10.0, 0.02
_BATCH = 500
_TRIES = 10

_BEFORE_A_DEBIT = "nothing was released"
_BEHIND_A_DEBIT = (
    "nothing is published, and the release was debited, which stays spent (a run id may be asked again at no cost)"
)
UNSETTLED = "nothing was settled, and the whole debit stays charged (ask again)"
DAMAGED = "the ledger is damaged; nothing was released, restore it from a backup that has every release"
_NO_LEDGER = "this is not a ledger; make one with `dpdb budget create`"
_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full; {outcome}, make room and try again",
    sqlite3.SQLITE_READONLY: "the ledger is read-only; {outcome}, make the file and its folder writable",
    sqlite3.SQLITE_CANTOPEN: "the ledger cannot be opened for writing; check the file, its folder and free disk space",
    sqlite3.SQLITE_IOERR: "the disk failed or is full; {outcome}",
    sqlite3.SQLITE_BUSY: "other processes keep the ledger busy; {outcome}, try again",
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_NOTADB: _NO_LEDGER,
}
SIDES = ("-wal", "-shm", "-journal")
"""The files that SQLite keeps beside a file, by the ends of their names."""
_LOG = "-wal"


class LedgerFile:
    """An open ledger file; every failure is a `LedgerError` in words.

    Attributes
    ----------
    path : Path
        Where the ledger is, links resolved.
    shown : str
        Its name in messages: the path that the user gave.
    owner : int
        The user who owns the ledger, and all files beside it.
    outcome : str
        The words of a failure's message on the release that it ends.

    Raises
    ------
    LedgerError
        There is no ledger at `path`, others may read it, it has several names or is mounted alone, is damaged, or of
        another format.
    """

    def __init__(self, path: Path) -> None:
        self.shown = str(path)
        try:
            self.path = path.resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            raise LedgerError(f"{self.shown}: no ledger there; make one with `dpdb budget create`") from None
        self.owner = os.geteuid()
        self.outcome = _BEFORE_A_DEBIT
        self._log: tuple[int, int] | None = None
        self._identity = self._look()
        if is_mounted_alone(self.path):
            raise LedgerError(
                f"{self.shown}: it is mounted alone, without its write-ahead log and its head; nothing was released, "
                "mount the folder that it lies in"
            )
        self._open()
        try:
            self._check_format()
            self.rows("PRAGMA synchronous = FULL")
            self.rows("PRAGMA secure_delete = ON")
            self._look()  # check the log, too, which opening may have made
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        """Connect to the file so that the connection's open log is known: it was there before and still is.

        A log that a connection made itself may have been exchanged since. So that connection stays open, to keep its
        log in place, until another one is open.
        """
        earlier = []
        try:
            for _ in range(_TRIES):
                self._log = self._log_identity()
                with self._errors():
                    self._connection = connect(self.path, "rw", _PATIENCE)
                earlier.append(self._connection)
                self.rows("PRAGMA user_version")  # opens the log
                if self._log_identity() == self._log:
                    earlier.pop()
                    return
        finally:
            for connection in earlier:
                connection.close()
        raise self._moved()

    def rows(self, sql: str, values: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
        """Run one statement and return its rows."""
        with self._errors():
            return self._patiently(sql, values).fetchall()

    def batches(self, sql: str, values: tuple[object, ...] = ()) -> Iterator[list[Any]]:
        """Run one statement and return its rows bit by bit: a ledger's lines need not fit in memory at once."""
        with self._errors():
            cursor = self._patiently(sql, values)
        while True:
            with self._errors():
                rows = cursor.fetchmany(_BATCH)
            if not rows:
                return
            yield rows

    def change(self, sql: str, values: tuple[object, ...] = ()) -> int:
        """Run one statement that changes rows; returns how many."""
        with self._errors():
            return self._patiently(sql, values).rowcount

    def _patiently(self, sql: str, values: tuple[object, ...]) -> sqlite3.Cursor:
        """Run one statement; where other processes keep the file busy, wait in small parts that a signal can end."""
        end = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                return self._connection.execute(sql, values)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                    raise
            let_through()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the only write transaction: others wait, and the lines read in it cannot change before its commit.

        Raises
        ------
        LedgerError
            Another file was put in the ledger's place since it was opened.
        """
        self.rows("PRAGMA shrink_memory")  # read the file, not the connection's cache
        with self._between("BEGIN IMMEDIATE"):
            self._check_unmoved()
            yield

    @contextmanager
    def debited(self, outcome: str = _BEHIND_A_DEBIT) -> Iterator[None]:
        """Let failures in the block say what has become of their release, which was debited before."""
        self.outcome = outcome
        try:
            yield
        finally:
            self.outcome = _BEFORE_A_DEBIT

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """See one state of the ledger, without making others wait; it may be an old one by the end."""
        with self._between("BEGIN"):
            yield

    @contextmanager
    def _between(self, begin: str) -> Iterator[None]:
        try:
            self.rows(begin)
            yield
            self.rows("COMMIT")
        except BaseException:
            with unbroken(), suppress(sqlite3.Error):
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
            raise

    def truncate_log(self) -> None:
        """Empty the write-ahead log, so that no older state of a page stays in it; outside a transaction."""
        self._check_unmoved()
        end = time.monotonic() + _EMPTYING_SECONDS
        while self.rows("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]:
            if time.monotonic() > end:
                raise LedgerError(
                    f"{self.shown}: a secret was overwritten, but other processes keep the ledger's write-ahead log, "
                    "which may hold it still; what was recorded stays recorded, ask again"
                )
            let_through()
            time.sleep(_EMPTYING_PAUSE)

    def close(self) -> None:
        """Close the file. May be called twice."""
        self._connection.close()

    def damaged(self) -> LedgerError:
        """Return the error of a ledger whose lines, seals or counts disagree."""
        return LedgerError(f"{self.shown}: {DAMAGED}")

    def lost(self) -> LedgerError:
        """Return the error of a ledger that has lost its newest lines."""
        return LedgerError(
            f"{self.shown}: the ledger has lost its newest releases (an old copy was put back, or its write-ahead log "
            f"is gone); {self.outcome}. Put the newest ledger back; whoever removes {self.shown}-head and goes "
            "on spends again what was spent since"
        )

    def _look(self) -> tuple[int, int]:
        """Check the ledger's file and the files beside it; return the identity of the file.

        Nothing is opened here: closing a file that SQLite has open would end SQLite's locks on it.
        """
        try:
            state = self.path.lstat()
        except OSError:
            raise LedgerError(f"{self.shown}: no ledger there; make one with `dpdb budget create`") from None
        if not stat.S_ISREG(state.st_mode):
            raise LedgerError(f"{self.shown}: {_NO_LEDGER}")
        # The system's administrator may use everybody's ledger.
        self.owner = state.st_uid if os.geteuid() == 0 else os.geteuid()
        self._check_owned(self.shown, state)
        if not state.st_size:
            raise LedgerError(f"{self.shown}: the file is empty; remove it and make a ledger with `dpdb budget create`")
        for side in SIDES:
            with suppress(FileNotFoundError):
                self._check_owned(f"{self.shown}{side}", Path(f"{self.path}{side}").lstat())
        return state.st_dev, state.st_ino

    def _check_owned(self, shown: str, found: os.stat_result) -> None:
        try:
            check_owned(found, self.owner)
        except OSError as error:
            raise LedgerError(f"{shown}: {error.strerror}; {self.outcome}") from None

    def _log_identity(self) -> tuple[int, int] | None:
        try:
            found = Path(f"{self.path}{_LOG}").lstat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _check_unmoved(self) -> None:
        if self._look() != self._identity or self._log_identity() != self._log:
            raise self._moved()

    def _moved(self) -> LedgerError:
        return LedgerError(
            f"{self.shown}: another file was put in the ledger's place while it was open; {self.outcome}, "
            "see that the newest ledger and its head are there and open it again"
        )

    def _check_format(self) -> None:
        application, version = (self.rows(f"PRAGMA {name}")[0][0] for name in ("application_id", "user_version"))
        if application != APPLICATION_ID:
            raise LedgerError(f"{self.shown}: {_NO_LEDGER}")
        if version != VERSION:
            raise LedgerError(
                f"{self.shown}: ledger of format {version}, and this version of dpdb reads format {VERSION} only; use "
                "the version that made it, or make a new ledger with what of its budget was not spent"
            )
        if self.rows("PRAGMA journal_mode") != [("wal",)] or self.rows("PRAGMA quick_check(1)") != [("ok",)]:
            raise self.damaged()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except UnicodeDecodeError:  # text that nobody wrote
            raise self.damaged() from None
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            reason = _REASONS.get(code, f"the ledger cannot be used ({error}); {{outcome}}")
            raise LedgerError(f"{self.shown}: {reason.replace('{outcome}', self.outcome)}") from None


RUN_WAIT = 10.0
"""Seconds to wait for another process that answers a run."""


class RunLock(FileLock):
    """An exclusive lock on a run id of a ledger, held until `close` or the end of the process, however it ends.

    With `kind` ``suite``, a lock on a kept suite by its name: its runs come one after another.
    """

    def __init__(self, file: LedgerFile, run_id: str, wait: float, kind: str = "run") -> None:
        name = f"-{kind}-{hashlib.sha256(run_id.encode()).hexdigest()[:32]}"
        try:
            super().__init__(Path(f"{file.path}{name}"), wait, file.owner)
        except TimeoutError:
            what = f"run id {run_id!r} is being answered" if kind == "run" else f"kept suite {run_id!r} is being run"
            raise LedgerError(f"{what} by another process; try again when it is done") from None
        except OSError as error:
            raise LedgerError(
                f"{file.shown}{name}: the lock file cannot be made: {error.strerror}; nothing was released"
            ) from None
