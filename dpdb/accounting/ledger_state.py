"""What a ledger file says, read line by line and checked against its seals: terms, epochs, and the index of entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpdb.accounting.composition import NOTIONS, Notion
from dpdb.accounting.ledger_file import DAMAGED, LedgerFile
from dpdb.accounting.marks import seal
from dpdb.accounting.online import OverlapIndex
from dpdb.accounting.stored_predicate import predicate_from_text
from dpdb.errors import LedgerError

__all__ = ["Epoch", "LedgerState", "Terms", "epoch_line", "terms_line"]


@dataclass(frozen=True)
class Terms:
    """What the owner fixed when the ledger was made, and the table that its first release bound it to."""

    notion: Notion
    budget: int
    delta: float
    append_only: bool
    created: str
    key: bytes
    table_mark: bytes | None = None
    rows_per_person: int | None = None
    unit: str | None = None


@dataclass(frozen=True)
class Epoch:
    """Releases of one state of the rows; `source_mark` is set by the first of them."""

    number: int
    opened: str
    source_mark: bytes | None = None
    closed_overlap: int | None = None


class LedgerState:
    """Follows a ledger file; `read` takes in what any process has added since."""

    def __init__(self, file: LedgerFile) -> None:
        self._file = file
        self.index = OverlapIndex()
        self.last = 0
        self.before = b""
        self.sequential = 0
        self.read()

    @property
    def closed(self) -> int:
        """Sum of the overlaps of the closed epochs."""
        return sum(epoch.closed_overlap or 0 for epoch in self.epochs[:-1])

    @property
    def available(self) -> int:
        """Budget of the current epoch: what the closed ones have left."""
        return self.terms.budget - self.closed

    @property
    def epoch(self) -> Epoch:
        """The current epoch."""
        return self.epochs[-1]

    @property
    def spent(self) -> int:
        """Units spent, over all epochs."""
        return self.closed + self.overlap()

    def overlap(self) -> int:
        """A safe bound on the overlap of the current epoch; every debit has proven that it fits."""
        return min(self.index.bound(deadline=1.0).upper, self.available) if self.index else 0

    def read(self) -> None:
        """Read everything new; call it inside a transaction.

        Raises
        ------
        LedgerError
            A line does not agree with its seal.
        """
        try:
            self._read_terms()
            self._read_epochs()
            self._read_entries()
        except (ValueError, TypeError, KeyError, IndexError):
            raise _damaged(self._file) from None

    def add(self, line: tuple[Any, ...], sealed: bytes) -> None:
        """Take in one entry: number, epoch, run id, request, predicate, charge, upper, source mark, time."""
        number, epoch, _, _, predicate, charge, upper, *_ = line
        if epoch == self.epoch.number:
            self.index.add(predicate_from_text(predicate), charge, upper)
        self.last, self.before = number, sealed
        self.sequential += charge

    def _read_terms(self) -> None:
        [row] = self._file.rows(
            "SELECT notion, budget, delta, append_only, created, key, table_mark, rows_per_person, unit, seal "
            "FROM terms"
        )
        values: list[Any] = list(row)
        sealed = values.pop()
        self.terms = Terms(NOTIONS[values[0]], values[1], values[2], bool(values[3]), *values[4:])
        if seal(self.terms.key, "terms", b"", terms_line(self.terms)) != sealed:
            raise _damaged(self._file)

    def _read_epochs(self) -> None:
        rows: list[Any] = self._file.rows(
            "SELECT number, opened, source_mark, closed_overlap, seal FROM epoch ORDER BY number"
        )
        epochs = [Epoch(*row[:4]) for row in rows]
        sealed = all(
            seal(self.terms.key, "epoch", b"", epoch_line(epoch)) == row[4]
            for epoch, row in zip(epochs, rows, strict=True)
        )
        numbered = [epoch.number for epoch in epochs] == list(range(1, len(epochs) + 1))
        if not (epochs and sealed and numbered and all(epoch.closed_overlap is not None for epoch in epochs[:-1])):
            raise _damaged(self._file)
        if self.last and epochs[-1].number != self.epoch.number:
            self.index = OverlapIndex()
        self.epochs = epochs

    def _read_entries(self) -> None:
        rows: list[Any] = self._file.rows(
            "SELECT number, epoch, run_id, request, predicate, charge, upper, source_mark, reserved, seal FROM entry "
            "WHERE number > ? ORDER BY number",
            (self.last,),
        )
        for row in rows:
            *line, sealed = row
            if line[0] != self.last + 1 or seal(self.terms.key, "entry", self.before, tuple(line)) != sealed:
                raise _damaged(self._file)
            self.add(tuple(line), sealed)


def terms_line(terms: Terms) -> tuple[object, ...]:
    """The terms as they are sealed; a ledger without a unit has the seal that it had before there were units."""
    line = (
        terms.notion.name,
        terms.budget,
        terms.delta,
        int(terms.append_only),
        terms.created,
        terms.key,
        terms.table_mark,
        terms.rows_per_person,
    )
    return line if terms.unit is None else (*line, terms.unit)


def epoch_line(epoch: Epoch) -> tuple[object, ...]:
    """An epoch as its row, without seal."""
    return epoch.number, epoch.opened, epoch.source_mark, epoch.closed_overlap


def _damaged(file: LedgerFile) -> LedgerError:
    return LedgerError(f"{file.path}: {DAMAGED}")
