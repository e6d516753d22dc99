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
from dpdb.ledger.store.rows import EntryLine, Epoch, epoch_row, terms_row
from dpdb.ledger.store.seals import SourceMark, is_rows_of, mark, unit_words
from dpdb.ledger.store.state import LedgerState, insert
from dpdb.stopping import unbroken


class Books:
    """Open a ledger file and read it.

    Attributes
    ----------
    state : LedgerState
        The state of the file, as far as it was read.

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
        """Mark of the table, which is the same for ever."""
        return mark(self._state.terms.key, "table", source.columns) if source.columns else self._earlier_mark(source)

    def _earlier_mark(self, source: SourceMark) -> bytes:
        """Mark of the table as ledgers had it in which declared types were part of it, and as those without text have.

        Where an append-only one had it, how its text is cut was a part, too: cut at another delimiter, one line is
        another row, and the charges of the first row do not count for the second.
        """
        terms = self._state.terms
        return mark(terms.key, "table", source.table + (source.read_as if terms.append_only else ""))

    def _epoch_mark(self, source: SourceMark) -> bytes:
        """Mark of what must not change within an epoch: the rows; in an append-only ledger how their cells are read.

        A row that was charged as one whose cell is 13 is charged anew, and not beside it, if that cell is NULL now.
        """
        if self._state.terms.append_only and (source.columns or source.reading):
            return mark(self._state.terms.key, "reading", f"{source.table}{source.read_as}{source.reading}")
        return self.rows_mark(source)

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
        if terms.table_mark not in (self.table_mark(source), self._earlier_mark(source)):
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
        """Return whether the rows are those that the epoch's first release fixed.

        Of an append-only ledger: whether their cells are read as they were then. Its releases of earlier versions have
        not said how, and what is read as text alone they read as it is read now.
        """
        known = self._state.epoch.source_mark
        if known is None or known == self._epoch_mark(source):
            return True
        if not self._state.terms.append_only or source.reading:
            return False
        return self._state.terms.table_mark == self._earlier_mark(source)

    def is_row_of(self, line: EntryLine, source: SourceMark) -> bool:
        """Return whether a debit was made for the rows of a source, as they are and as they are read."""
        is_current = line.epoch == self._state.epoch.number
        if self._state.terms.append_only:
            return self.is_of_rows(source) and (is_current or not (source.columns or source.reading))
        return is_current and line.source_mark == self.rows_mark(source)

    def check_rows(self, source: SourceMark) -> None:
        """Raise `LedgerError` unless `is_of_rows`."""
        if self.is_of_rows(source):
            return
        read = "its cells are read otherwise (its schema, its delimiter, or the rule of another dpdb)"
        read = read if source.columns or source.reading else ""
        if self._state.terms.append_only:
            what = f"{read} than at the ledger's last release"
        else:
            what = "the source has changed since the ledger's last release" + (f", or {read}" if read else "")
        raise LedgerError(
            f"{self._file.shown}: {what}; nothing was released. If "
            f"it is the same table, its owner opens a new epoch: dpdb budget epoch {self._file.shown}"
        )

    def bind(self, source: SourceMark) -> None:
        """Fix table and unit at the first release, and the state of the rows at the first one of an epoch.

        A ledger of an earlier version gets the present mark of the table with it.
        """
        state = self._state
        is_new = state.epoch.source_mark is None
        if state.terms.table_mark is None or (is_new and state.terms.table_mark != self.table_mark(source)):
            state.terms = replace(
                state.terms,
                table_mark=self.table_mark(source),
                rows_per_person=source.rows_per_person,
                unit=source.unit,
            )
            self._file.change("DELETE FROM terms")
            insert(self._file, "terms", terms_row(state.terms))
        if is_new:
            self._write_epoch(replace(state.epoch, source_mark=self._epoch_mark(source)))

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
                # Of an append-only ledger the mark of an epoch need not be that of its rows.
                known = None if state.epoch.source_mark is None else state.entry(state.last).source_mark
            yield known == LedgerBinding(state).rows_mark(source)
        finally:
            file.close()
