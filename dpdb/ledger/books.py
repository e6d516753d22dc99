"""`Books`: an open ledger file together with its state as read; `LedgerBinding`: the table and unit that it is of.

Every act of a ledger goes through `current`. A ledger is bound to one table, one unit, and per epoch one state of the
rows; its first releases fix them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

from dpdb.errors import LedgerError
from dpdb.ledger.limits import refuse_retired
from dpdb.ledger.store.clock import now
from dpdb.ledger.store.file import LedgerFile
from dpdb.ledger.store.head import LedgerHead
from dpdb.ledger.store.rows import Epoch, epoch_row, terms_row
from dpdb.ledger.store.seals import SourceMark, is_rows_of, mark, unit_words
from dpdb.ledger.store.state import LedgerState, insert
from dpdb.stopping import unbroken


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
            self.head = LedgerHead(self.state)
            self.refresh()
            self.binding = LedgerBinding(self.state)
        except BaseException:
            self.file.close()
            raise

    @contextmanager
    def current(self) -> Iterator[None]:
        """Hold the only write transaction, after reading all lines that other processes have added."""
        with self.file.transaction():
            self.read()
            yield

    @contextmanager
    def act(self) -> Iterator[None]:
        """Hold the ledger for an act, which a retired one refuses; then write the head."""
        with self.current():
            refuse_retired(self.state)
            yield
        self.write_head()

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


_MOST_LOOKED_AT = 200


class LedgerBinding:
    """Checks a source against a ledger and binds the ledger to it; every method runs inside a transaction."""

    def __init__(self, state: LedgerState) -> None:
        self._file, self._state = state.file, state

    def rows_mark(self, source: SourceMark) -> bytes:
        """Mark of the state of the rows."""
        return mark(self._state.terms.key, "rows", f"{source.table}\0{source.content}")

    def table_mark(self, source: SourceMark) -> bytes:
        """Mark of the table: in an append-only ledger also of how its text is cut, which `rows_mark` tells elsewhere.

        Cut at another delimiter, one line is another row, and the charges of the first row do not count for the second.
        """
        terms = self._state.terms
        return mark(terms.key, "table", source.table + (source.read_as if terms.append_only else ""))

    def check_table(self, source: SourceMark) -> None:
        """Raise `LedgerError` if the ledger is of another table or unit."""
        terms = self._state.terms
        if terms.append_only and source.unit is not None:
            # A new row may take the place of an older one of its unit or key, which then shows more than k rows in all.
            what = source.unit if is_rows_of(source.unit) else f"values of {source.unit}"
            raise LedgerError(
                f"{self._file.shown}: an append-only ledger cannot count for {what}; make one without "
                "--append-only, which adds up over epochs; nothing was released"
            )
        if terms.table_mark is None:
            return
        if self.table_mark(source) != terms.table_mark:
            raise LedgerError(
                f"{self._file.shown}: the ledger of another table (other columns or types, or text that is cut at "
                "another delimiter); nothing was released"
            )
        if (source.rows_per_person, source.unit) != (terms.rows_per_person, terms.unit):
            bound = unit_words(terms.rows_per_person or 1, terms.unit)
            raise LedgerError(
                f"{self._file.shown}: this ledger counts for {bound}, not for {source.protects}; nothing was released. "
                "Give the unit, the private parents and their rules as its first release did"
            )

    def is_of_rows(self, source: SourceMark) -> bool:
        """Return whether the rows are those that the epoch's first release fixed; True for an append-only ledger."""
        known = self._state.epoch.source_mark
        return self._state.terms.append_only or known is None or known == self.rows_mark(source)

    def check_rows(self, source: SourceMark) -> None:
        """Raise `LedgerError` if the rows have changed since the epoch began, unless the ledger is append-only."""
        if not self.is_of_rows(source):
            raise LedgerError(
                f"{self._file.shown}: the source has changed since the ledger's last release; nothing was released. If "
                f"it is the same table, its owner opens a new epoch: dpdb budget epoch {self._file.shown}"
            )

    def bind(self, source: SourceMark) -> None:
        """Fix table and unit at the first release, and the state of the rows at the first one of an epoch."""
        state = self._state
        if state.terms.table_mark is None:
            state.terms = replace(
                state.terms,
                table_mark=self.table_mark(source),
                rows_per_person=source.rows_per_person,
                unit=source.unit,
            )
            self._file.change("DELETE FROM terms")
            insert(self._file, "terms", terms_row(state.terms))
        if state.epoch.source_mark is None:
            self._write_epoch(replace(state.epoch, source_mark=self.rows_mark(source)))

    def open_epoch(self) -> int:
        """Close the current epoch and open the next, unless nothing was released in it; return the current number."""
        state = self._state
        if state.epoch.source_mark is None:
            return state.epoch.number
        self._write_epoch(replace(state.epoch, closed_overlap=state.overlap()))
        following = Epoch(state.epoch.number + 1, now())
        insert(self._file, "epoch", epoch_row(following, state.terms.key))
        return following.number

    def _write_epoch(self, epoch: Epoch) -> None:
        self._file.change(
            "UPDATE epoch SET source_mark = ?, closed_overlap = ?, seal = ? WHERE number = ?",
            (*epoch_row(epoch, self._state.terms.key)[2:], epoch.number),
        )


def other_ledgers(path: Path, source: SourceMark) -> list[Path]:
    """Return the ledgers in the folder of one (``*.ledger``) that are bound to the same state of the same rows.

    Each ledger has its own key, so the marks of two ledgers cannot be compared without the rows. Files that are
    no ledgers of this user are passed over, and no more than 200 are looked at; nothing is
    changed.
    """
    found = (other for other in islice(path.parent.glob("*.ledger"), _MOST_LOOKED_AT) if other != path)
    return sorted(other for other in found if any(_bound(other, source)))


def _bound(path: Path, source: SourceMark) -> Iterator[bool]:
    with suppress(LedgerError):
        file = LedgerFile(path)
        try:
            with file.snapshot():
                state = LedgerState(file)
            yield state.epoch.source_mark == LedgerBinding(state).rows_mark(source)
        finally:
            file.close()
