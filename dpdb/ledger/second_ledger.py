"""`other_ledgers`: ledgers beside one that count for the same rows; what they allow adds up, and no ledger knows it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from dpdb.errors import LedgerError
from dpdb.ledger.binding import LedgerBinding
from dpdb.ledger.store.file import VERSION, LedgerFile
from dpdb.ledger.store.marks import SourceMark
from dpdb.ledger.store.state import LedgerState

__all__ = ["other_ledgers"]

_MOST = 200


def other_ledgers(path: Path, source: SourceMark) -> list[Path]:
    """Return the ledgers in the folder of one (``*.ledger``) that are bound to the same state of the same rows.

    Each has a key of its own, so that marks of two ledgers tell nothing: whoever has the rows compares. Files that are
    no ledgers of this user, or of an older format, are passed over, and no more than 200 are looked at; nothing is
    changed.
    """
    found = (other for other in islice(path.parent.glob("*.ledger"), _MOST) if other != path)
    return sorted(other for other in found if any(_bound(other, source)))


def _bound(path: Path, source: SourceMark) -> Iterator[bool]:
    with suppress(LedgerError):
        file = LedgerFile(path)
        try:
            if file.version == VERSION:
                with file.snapshot():
                    state = LedgerState(file)
                yield state.epoch.source_mark == LedgerBinding(file, state).rows_mark(source)
        finally:
            file.close()
