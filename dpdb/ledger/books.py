"""`Books`: an open ledger file together with its state as read. Every act of a ledger goes through `current`."""

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
        The state of the file, as far as it was read.
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
        """Hold the only write transaction, after reading all lines that other processes have added."""
        with self.file.transaction():
            self.read()
            yield

    def refresh(self) -> None:
        """Read the lines that other processes have added, in a transaction of its own."""
        with self.current():
            pass

    @unbroken()
    def read(self) -> None:
        """Read the lines that other processes have added, and check the head; inside a transaction."""
        self.state.read()
        self.head.check()

    def write_head(self) -> None:
        """Write the head beside the file, after the commit that it tells of."""
        with self.current():
            self.head.write()
