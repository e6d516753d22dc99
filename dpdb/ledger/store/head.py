"""The head of a ledger: a file beside it with its counts of lines, so that a ledger that lost lines is noticed.

A ledger that was put back from a backup, or lost its write-ahead log, looks like a current one: it has forgotten its
newest lines, and with them what was spent or forbidden. `<ledger>-head` counts the lines of every chain and names the
newest of each by its seal, and the epoch, under the ledger's key. It is written after the commit that it tells of, so a
crash leaves it behind and never ahead, and inside an exclusive transaction, so it never goes back itself. Where both
files are put back together, or the head is removed, nothing is noticed.

A ledger file is made here with its head, complete or not at all.
"""

from __future__ import annotations

import errno
import hmac
import json
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from dpdb.errors import LedgerError
from dpdb.files import disk
from dpdb.files.disk import sync
from dpdb.files.owned_file import open_owned, private_folder, read_owned, replace_owned
from dpdb.ledger.store import file as store_file
from dpdb.ledger.store.file import APPLICATION_ID, SIDES, VERSION, LedgerFile
from dpdb.ledger.store.seals import mark
from dpdb.ledger.store.state import LedgerState
from dpdb.ledger.store.tables import TABLES

_KIND = f"head of format {VERSION}"
_MARK_BYTES = 32


class LedgerHead:
    """The head file of one ledger; every method runs inside a transaction, after the state was read."""

    def __init__(self, state: LedgerState) -> None:
        self._file, self._state = state.file, state

    def check(self) -> None:
        """Raise `LedgerError` if the ledger has lost lines that its head counts, or the head is of another ledger."""
        head = _read(self._file)
        if head is None:
            return
        text, sealed = head
        if not hmac.compare_digest(sealed.encode(), self._mark(text).encode()):
            raise _not_its_head(self._file)
        told, state = json.loads(text), self._state
        for chain, (number, newest) in told["chains"].items():
            found_seal = state.chain_seal(chain, number)
            if found_seal is None or found_seal.hex() != newest:
                raise self._file.lost()
        if state.epoch.number < told["epoch"]:
            raise self._file.lost()

    def write(self) -> None:
        """Write the newest line of every chain and the epoch.

        Raises
        ------
        LedgerError
            It cannot be written; what was recorded stays recorded.
        """
        chains = {chain.table: (chain.last, chain.before.hex()) for chain in self._state.chains}
        text = json.dumps({"format": VERSION, "epoch": self._state.epoch.number, "chains": chains})
        sealed = self._mark(text)
        try:
            replace_owned(head_path(self._file.path), f"{text}\n{sealed}\n", self._file.owner)
        except OSError as error:
            raise LedgerError(
                f"{self._file.shown}-head: cannot be written: {error.strerror}; {self._file.outcome}"
            ) from None

    def _mark(self, text: str) -> str:
        return mark(self._state.terms.key, _KIND, text).hex()


def head_path(ledger: Path) -> Path:
    """Return the path of a ledger's head."""
    return ledger.with_name(f"{ledger.name}-head")


def _read(file: LedgerFile) -> tuple[str, str] | None:
    """Text and mark of the head beside a ledger, None if there is none."""
    try:
        text, sealed = read_owned(head_path(file.path), file.owner).split("\n")[:2]
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerError(f"{file.shown}-head: {error.strerror}; {file.outcome}") from None
    except ValueError:
        raise _not_its_head(file) from None
    return text, sealed


def looks_like_head(path: Path) -> bool:
    """Return whether a file is the head of some ledger, of whatever format."""
    try:
        text, sealed = read_owned(path).split("\n")[:2]
        return bool(json.loads(text)) and len(bytes.fromhex(sealed)) == _MARK_BYTES
    except (OSError, ValueError):
        return False


def _not_its_head(file: LedgerFile) -> LedgerError:
    """The error of a head that is not of this ledger."""
    return LedgerError(
        f"{file.shown}-head: not the head of this ledger; nothing was released. Put the ledger back that it belongs "
        "to, or remove it if it belongs to none"
    )


Row: TypeAlias = tuple[object, ...]


def create_file(path: Path, terms: Row, first_epoch: Row, acts: Sequence[Row] = ()) -> None:
    """Make a ledger file with its first lines; an existing file is never touched.

    Parameters
    ----------
    terms, first_epoch
        The one row of `terms` and the first one of `epoch`, with their seals.
    acts
        Rows of `act`, with their seals. Default: none.

    Raises
    ------
    LedgerError
        The file exists or cannot be made, or other files have the names of those that will lie beside it.
    """
    try:
        target = path.parent.resolve(strict=True) / path.name
        if os.path.lexists(target):  # before the files beside it, which belong to it
            raise FileExistsError
        _refuse_leftovers(path, target)
        with private_folder(target) as folder:
            partial = folder / "ledger"
            os.close(open_owned(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            _fill(partial, [("terms", terms), ("epoch", first_epoch), *(("act", act) for act in acts)])
            # A rename would replace a file, and a link would leave two names for a moment: take the name first.
            os.close(open_owned(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            try:
                disk.unlink(head_path(target), missing_ok=True)  # the head of a ledger that was here before
                disk.rename(partial, target)
            except OSError:
                disk.unlink(target)
                raise
        sync(target.parent)
    except FileExistsError:
        raise LedgerError(f"{path}: exists already; it is not overwritten") from None
    except (OSError, ValueError, sqlite3.Error) as error:
        words = error.strerror if isinstance(error, OSError) else str(error)
        raise LedgerError(f"{path}: the ledger cannot be made: {words}") from None


def _refuse_leftovers(path: Path, place: Path) -> None:
    """Refuse files that have the names of the files beside the ledger.

    SQLite would take the write-ahead log of a ledger that was removed for the new one's, and with it the old budget;
    and a file that is no head must not be removed as one.
    """
    for side in SIDES:
        if os.path.lexists(f"{place}{side}"):
            raise LedgerError(
                f"{path}{side}: is left of a ledger that was here and was not closed; put that ledger back, or remove "
                "this file, too"
            )
    head = head_path(place)
    if os.path.lexists(head) and not looks_like_head(head):
        raise LedgerError(f"{path}-head: another file has the name of the ledger's head; move it away")


def _fill(path: Path, lines: Sequence[tuple[str, Row]]) -> None:
    connection = store_file.connect(path, "rw")
    try:
        connection.executescript(TABLES)
        for table, row in lines:
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        # Without its log, SQLite does not wait until a commit is on disk; where the disk fails, it just stays without.
        if connection.execute("PRAGMA journal_mode = WAL").fetchall() != [("wal",)]:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
    finally:
        connection.close()
