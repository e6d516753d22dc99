"""`open_to_read`: a ledger opened for reading, also on a read-only disk or in an archive.

A copy of a ledger, like a backup of its file, has what the file has. While a suite of checks is open that is its
secret, too: whoever reads it learns from every quiet day what should have cost epsilon, so such a copy is kept as
closely as the table itself. Closing the suite overwrites the secret in the ledger and in no copy made before: backups
of closed suites have none, older ones do, and are thrown away or kept like the table. Putting one back is noticed by
the head beside the ledger, unless that is put back, too. The copy made here lies in a folder of this user alone, and
is removed with it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from dpdb.errors import LedgerError
from dpdb.files.owned_file import open_owned
from dpdb.ledger.reading import LedgerReading
from dpdb.ledger.store.head import head_path

__all__ = ["open_to_read"]

_CHUNK = 1 << 20


@contextmanager
def open_to_read(path: str | Path) -> Iterator[LedgerReading]:
    """Open a ledger to read it; if it or its folder is read-only, open a copy in a private temporary folder.

    SQLite writes beside a file that it reads. The copy has the write-ahead log and the
    head, so it passes the same checks as the ledger. Nothing can be spent from the returned ledger.

    Raises
    ------
    LedgerError
        It cannot be used.
    """
    given = Path(path)
    try:
        found = given.resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        found = given  # the error of opening says why
    if os.access(found, os.W_OK) and os.access(found.parent, os.W_OK):
        with LedgerReading.open(path) as ledger:
            yield ledger
        return
    with TemporaryDirectory(prefix="dpdb-") as folder:
        copy = Path(folder) / found.name
        for source in (found, Path(f"{found}-wal"), head_path(found)):
            _copy(source, copy.with_name(source.name), given)
        with LedgerReading.open(copy) as ledger:
            yield ledger


def _copy(source: Path, target: Path, shown: Path) -> None:
    try:
        with os.fdopen(open_owned(source, os.O_RDONLY), "rb") as read, open(target, "xb", opener=_private) as write:
            while chunk := read.read(_CHUNK):
                write.write(chunk)
    except FileNotFoundError:
        if source.name == shown.name:
            raise LedgerError(f"{shown}: no ledger there; make one with `dpdb budget create`") from None
    except OSError as error:
        raise LedgerError(f"{shown}: {error.strerror}") from None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
