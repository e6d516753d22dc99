"""Making a ledger file, complete or not at all."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from dpdb.errors import LedgerError
from dpdb.files import disk
from dpdb.files.disk import sync
from dpdb.files.owned_file import open_owned, private_folder
from dpdb.ledger.store import connecting
from dpdb.ledger.store.file import APPLICATION_ID, SIDES, VERSION
from dpdb.ledger.store.head import head_path, looks_like_head
from dpdb.ledger.store.tables import TABLES

__all__ = ["create_file"]

Row: TypeAlias = tuple[object, ...]


def create_file(path: Path, terms: Row, first_epoch: Row, acts: Sequence[Row] = ()) -> None:
    """Make a ledger file with its first lines; an existing file is never touched.

    Parameters
    ----------
    path
        The new file.
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
        place = path.parent.resolve(strict=True) / path.name
        if os.path.lexists(place):  # before the files beside it, which belong to it
            raise FileExistsError
        _refuse_leftovers(path, place)
        with private_folder(place) as folder:
            partial = folder / "ledger"
            os.close(open_owned(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            _fill(partial, [("terms", terms), ("epoch", first_epoch), *(("act", act) for act in acts)])
            # A rename would replace a file, and a link would leave two names for a moment: take the name first.
            os.close(open_owned(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            try:
                disk.unlink(head_path(place), missing_ok=True)  # the head of a ledger that was here before
                disk.rename(partial, place)
            except OSError:
                disk.unlink(place)
                raise
        sync(place.parent)
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
    connection = connecting.connect(path, "rw")
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
