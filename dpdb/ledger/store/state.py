"""The state of a ledger file, read line by line and checked against seals: terms, epochs, lines of chains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from dpdb.errors import LedgerError
from dpdb.ledger.store.clock import Times
from dpdb.ledger.store.file import LedgerFile
from dpdb.ledger.store.rows import (
    UNKNOWN,
    Acts,
    Analysts,
    EntryLine,
    Epoch,
    EpochLines,
    SettlementLine,
    Settlements,
    epoch_row,
    terms_of,
)
from dpdb.ledger.store.seals import FIRST, Chain, SealedFile
from dpdb.ledger.store.suite_lines import Suites
from dpdb.ledger.store.tables import NOT_UNDERSTOOD
from dpdb.overlap import OverlapIndex


class AnswerLine(NamedTuple):
    """The answer of an entry as its row, without seal."""

    number: int
    entry: int
    answered: str
    answer: str
    place: int


class LedgerState:
    """Follows a ledger file; `read` reads the lines that any process has added since.

    Attributes
    ----------
    runs : dict of str to int
        The entry of every run id.
    acts : Acts
        The owner's acts since the ledger was made.
    analysts : Analysts
        Whom the owner has given rights.
    asked_by : dict of str to list of int
        The entries of every analyst.
    """

    def __init__(self, file: LedgerFile) -> None:
        self.file, self._sealed = file, SealedFile(file)
        self._lines = EpochLines()
        self.debits = Chain(self._sealed, "entry", EntryLine)
        self.answers = Chain(self._sealed, "answer", AnswerLine, self.debits)
        self._answer_of: list[int] = []  # per entry the number of its answer, 0 for none
        self.epochs: list[Epoch] = []
        self.runs: dict[str, int] = {}
        self.sequential = 0
        self.acts = Acts(self._sealed)
        self.settlements = Settlements(self._sealed, self.debits)
        self.suites = Suites(self._sealed, self.debits)
        self.analysts = Analysts(self._sealed)
        self.asked_by: dict[str, list[int]] = {}
        self._places = 0
        self._is_lowered = False  # by a settlement in the current epoch, since its lines were read
        self.times = Times()
        suites: list[Chain[Any]] = [self.suites.opened, self.suites.acts, self.suites.answers]
        self.chains: list[Chain[Any]] = [
            self.debits, self.answers, self.settlements, self.acts, *suites, self.analysts,
        ]  # fmt: skip
        self.read()

    @property
    def last(self) -> int:
        """Number of the newest entry."""
        return self.debits.last

    @property
    def closed(self) -> int:
        """Sum of the overlaps of the closed epochs."""
        return sum(self.closed_cost(epoch.number) for epoch in self.epochs[:-1])

    def closed_cost(self, epoch: int) -> int:
        """Return the cost of a closed epoch, after the settlements of its debits."""
        return self.settlements.overlaps.get(epoch, self.epochs[epoch - 1].closed_overlap or 0)

    @property
    def budget(self) -> int:
        """The total, as the ledger was made with or raised to."""
        return self.terms.budget if self.acts.budget is None else self.acts.budget

    @property
    def available(self) -> int:
        """Budget of the current epoch: the total less the closed epochs."""
        return self.budget - self.closed

    @property
    def epoch(self) -> Epoch:
        """The current epoch."""
        return self.epochs[-1]

    @property
    def index(self) -> OverlapIndex:
        """The debits of the current epoch, ready for a decision."""
        return self._lines.index

    @property
    def spent(self) -> int:
        """Units spent, over all epochs."""
        return self.closed + self.overlap()

    def overlap(self) -> int:
        """A safe bound on the overlap of the current epoch; every debit has proven that it fits."""
        return min(self.index.bound(deadline=1.0).upper, self.available) if self._lines else 0

    def chain_seal(self, chain: str, number: int) -> bytes | None:
        """Return the seal of a line of a chain as it is on disk, `FIRST` of number 0, None if there is no such line."""
        rows: list[Any] = self.file.rows(f"SELECT seal FROM {chain} WHERE number = ?", (number,)) if number else []
        return rows[0][0] if rows else None if number else FIRST

    @property
    def lines(self) -> int:
        """The number of lines of all chains."""
        return self._places + len(self._sealed.places)

    @property
    def next_place(self) -> int:
        """Place of the next line among those of all chains."""
        return self.lines + 1

    def debited(self, number: int) -> int:
        """Return the units of an entry as it was debited, before any settlement."""
        settled = self.settlements.of(number)
        return self.entry(number).charge if settled is None else settled.debited

    def is_answered(self, number: int) -> bool:
        """Return whether the entry has an answer."""
        return bool(self._answer_of[number - 1])

    def answered_at(self, number: int) -> str | None:
        """Return when an entry was answered, None if it was not."""
        sequence = self._answer_of[number - 1]
        rows: list[Any] = self.file.rows("SELECT answered FROM answer WHERE number = ?", (sequence,))
        return str(rows[0][0]) if rows else None

    def read(self) -> None:
        """Read everything new; call it inside a transaction."""
        try:
            self._read_terms()
            self._refuse_going_back()
            self._read_epochs()
            for rows in self.debits.read():
                self.add(rows)
            self.answers.take_new(self._answer)
            self._read_settlements()
            self.acts.take_new(self.acts.take)
            self.suites.read()
            self.analysts.take_new(self.analysts.take)
            self._count_places()
            known = all(part.is_understood for part in (self.terms, self.acts, self.suites, self.analysts))
            understood = known and self.file.rows(NOT_UNDERSTOOD) == [(0,)]
        except (ValueError, TypeError, KeyError, IndexError):
            raise self.file.damaged() from None
        if not understood:
            raise LedgerError(
                f"{self.file.shown}: the ledger holds what only a newer version of dpdb understands; nothing was "
                "released, open it with that version"
            )

    def add(self, lines: Sequence[tuple[Any, ...]]) -> None:
        """Add entries, after their seals were checked."""
        current = [line for line in lines if line[1] == self.epoch.number]
        self._lines.add([line[4] for line in current], [line[5] for line in current], [line[6] for line in current])
        self.runs |= {line[2]: line[0] for line in lines if line[2] is not None}
        self.sequential += sum([line[5] for line in lines])
        for line in lines:
            self.times.add(line[8], line[5])
            if line[9] is not None:
                self.asked_by.setdefault(line[9], []).append(line[0])
        self._sealed.places += [line[12] for line in lines]
        self._answer_of.extend([0] * len(lines))

    def entry(self, number: int) -> EntryLine:
        """Read an entry again from the file, and check that it is not damaged."""
        return self.settlements.applied(self.debits.again(number))

    def entries(self, first: int = 1) -> Iterator[EntryLine]:
        """Read the entries from number `first` on again, as `entry` does."""
        return map(self.settlements.applied, self.debits.all_again(first))

    def answer(self, number: int) -> str | None:
        """Read the answer of an entry, None if it has none.

        Raises
        ------
        LedgerError
            Its answer cannot be found or was changed: nothing may be drawn again.
        """
        sequence = self._answer_of[number - 1]
        if not sequence:
            return None
        line = self.answers.again(sequence)
        if line.entry != number:
            raise self.file.damaged()
        return line.answer

    def answer_row(
        self, number: int, answered: str, answer: str, debit: tuple[bytes, int] | None = None
    ) -> tuple[object, ...]:
        """Return the row of the next answer, which answers entry `number`.

        Parameters
        ----------
        debit
            Seal and place of an entry that was inserted in the same transaction, just before; None of an earlier one.
        """
        entry_seal, place = (self.debits.seal_of(number), self.lines) if debit is None else debit
        line = AnswerLine(self.answers.last + 1, number, answered, answer, place + 1)
        return self.answers.row(line, entry_seal)

    def _read_terms(self) -> None:
        [row] = self.file.rows("SELECT * FROM terms")
        self.terms = terms_of(row)
        self._sealed.key = self.terms.key

    def _refuse_going_back(self) -> None:
        """Notice at once if an older copy was written over the file that is open."""
        if any(self.chain_seal(chain.table, chain.last) != chain.before for chain in self.chains):
            raise self.file.lost()

    def _read_epochs(self) -> None:
        rows: list[Any] = self.file.rows(
            "SELECT number, opened, source_mark, closed_overlap, seal FROM epoch ORDER BY number"
        )
        epochs = [Epoch(*row[:-1]) for row in rows]
        sealed = all(epoch_row(epoch, self.terms.key) == row for epoch, row in zip(epochs, rows, strict=True))
        numbered = [epoch.number for epoch in epochs] == list(range(1, len(epochs) + 1))
        if not (epochs and sealed and numbered and all(epoch.closed_overlap is not None for epoch in epochs[:-1])):
            raise ValueError("the epochs do not agree with their seals")
        if self.epochs and epochs[-1].number != self.epoch.number:
            self._lines = EpochLines()
        self.epochs = epochs

    def _answer(self, line: AnswerLine) -> None:
        if self._answer_of[line.entry - 1]:
            raise ValueError("an entry has two answers")
        self._answer_of[line.entry - 1] = line.number

    def _read_settlements(self) -> None:
        self.settlements.take_new(self._settle)
        if self._is_lowered:
            self._lines = self.epoch_lines(self.epoch.number)
            self._is_lowered = False

    def _settle(self, line: SettlementLine) -> None:
        debited = self.entry(line.entry)
        if not self.is_answered(line.entry):
            raise ValueError("a settled debit has no answer")
        self.settlements.take(line, debited)
        self.sequential -= debited.charge - line.charge
        self.times.settle(line.entry, line.charge)
        self._is_lowered = True

    def epoch_lines(self, epoch: int, lowered: Mapping[int, int] = MappingProxyType({})) -> EpochLines:
        """Return the debits of an epoch as they are charged now, some of them `lowered`."""
        lines = [line for line in self.entries() if line.epoch == epoch]
        charges, made = [lowered.get(line.number, line.charge) for line in lines], EpochLines()
        made.add([line.predicate for line in lines], charges, [UNKNOWN] * len(lines))
        return made

    def _count_places(self) -> None:
        """Check that the newly read lines, of all chains together, have the next places."""
        if sorted(self._sealed.places) != list(range(self._places + 1, self.next_place)):
            raise self.file.lost()  # the remaining lines agree with their seals
        self._places, self._sealed.places = self.lines, []


def insert(file: LedgerFile, table: str, row: tuple[object, ...]) -> None:
    """Write one row of a table.

    Parameters
    ----------
    row
        Values of all its columns, in their order.
    """
    file.change(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
