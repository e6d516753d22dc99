"""`Books`: an open ledger file together with what was read of it. All that a ledger does goes through `current`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpdb.ledger.binding import LedgerBinding
from dpdb.ledger.store.file import LedgerFile
from dpdb.ledger.store.head import LedgerHead
from dpdb.ledger.store.state import LedgerState
from dpdb.stopping import unbroken

__all__ = ["Books"]


class Books:
    """Open a ledger file and read it.

    Attributes
    ----------
    file : LedgerFile
    state : LedgerState
        What was read of the file so far.
    head : LedgerHead
    binding : LedgerBinding
        Of the ledger to its table.

    Raises
    ------
    LedgerError
        It cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self.file = LedgerFile(path)
        try:
            with self.file.snapshot():
                self.state = LedgerState(self.file)
            self.head = LedgerHead(self.file, self.state)
            self.refresh()
            self.binding = LedgerBinding(self.file, self.state)
        except BaseException:
            self.file.close()
            raise

    @contextmanager
    def current(self) -> Iterator[None]:
        """Hold the only write transaction, with everything taken in that any process has added before."""
        with self.file.transaction():
            self.read()
            yield

    def refresh(self) -> None:
        """Take in what any process has added, and let others go on."""
        with self.current():
            pass

    @unbroken()
    def read(self) -> None:
        """Take in what any process has added, and notice if the file has gone back; inside a transaction."""
        self.state.read()
        self.head.check()

    def write_head(self) -> None:
        """Remember beside the file how far it has come, after the commit that the head tells of."""
        with self.current():
            self.head.write()
