"""`Ledger`: the durable record of what was spent on one table, for any number of processes at once.

A release goes: one exclusive transaction checks that no row collects more than the budget and writes the debit; then
noise is drawn; then the answer is written; only then is it published. A crash in between wastes budget and never gives
it back. Within an epoch the rows stay as they are (or are only added to), so the cost is the overlap of the releases;
where rows may change, the owner opens a new epoch, and the total is the sum over epochs of their overlaps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from dpdb.errors import LedgerError, ParameterError
from dpdb.ledger.amounts import budget_units
from dpdb.ledger.binding import LedgerBinding
from dpdb.ledger.lines import LedgerEntry, LedgerSummary, RecordedAnswer, Reservation, now
from dpdb.ledger.recharge import recharged
from dpdb.ledger.refusal import refusal
from dpdb.ledger.report import history, recorded_answers, summary
from dpdb.ledger.run_lock import RunLock
from dpdb.ledger.runs import check_name, earlier_try
from dpdb.ledger.store.creation import create_file
from dpdb.ledger.store.file import VERSION, LedgerFile, reached
from dpdb.ledger.store.head import LedgerHead
from dpdb.ledger.store.marks import SourceMark, new_key
from dpdb.ledger.store.seals import seal
from dpdb.ledger.store.state import EntryLine, LedgerState, insert
from dpdb.ledger.store.terms import Epoch, Terms, epoch_row, terms_row
from dpdb.ledger.store.upgrade import upgrade
from dpdb.ledger.together import check_together
from dpdb.overlap.growing.online import Decision
from dpdb.overlap.instance import MOST_WEIGHT
from dpdb.predicates.region import Region
from dpdb.predicates.stored_region import region_from_text, region_to_text
from dpdb.privacy.notions import NOTIONS, Notion, Number
from dpdb.stopping import unbroken

__all__ = ["Ledger"]

_DECISION_SECONDS = 0.1
_RUN_WAIT = 10.0


class Ledger:
    """An open ledger. Several may be open on one file, in one process or many; one object is not thread-safe.

    Use `Ledger.create` once, then `Ledger.open`.
    """

    def __init__(self, path: str | Path) -> None:
        self._file = LedgerFile(Path(path))
        try:
            if self._file.version < VERSION:
                upgrade(self._file)
            with self._file.snapshot():
                self._state = LedgerState(self._file)
            self._head = LedgerHead(self._file, self._state)
            with self._file.transaction():
                self._read()
                self._head.move()
            self._binding = LedgerBinding(self._file, self._state)
        except BaseException:
            self._file.close()
            raise

    @classmethod
    def create(
        cls,
        path: str | Path,
        budget: Number | None = None,
        notion: str = "pure",
        *,
        epsilon: Number | None = None,
        delta: float = 0.0,
        append_only: bool = False,
    ) -> Ledger:
        """Make a ledger and open it. Its first release binds it to a table.

        Parameters
        ----------
        budget
            Total in the notion's parameter (epsilon, rho or mu), or:
        epsilon
            what the total promises as (epsilon, delta).
        notion
            `pure`, `zcdp` or `gdp`; fixed for ever.
        delta
            For reports of a zcdp or gdp ledger.
        append_only
            The owner declares that rows never change once written; then new rows need no new epoch.

        Raises
        ------
        ParameterError
            The notion does not exist or a number is out of range.
        LedgerError
            The file exists or cannot be made.
        """
        if notion not in NOTIONS:
            raise ParameterError(f"unknown notion {notion!r}; known are {', '.join(NOTIONS)}")
        units = budget_units(NOTIONS[notion], budget, epsilon, delta)
        terms = Terms(NOTIONS[notion], units, float(delta), bool(append_only), now(), new_key())
        first = Epoch(1, terms.created)
        create_file(Path(path), terms_row(terms), epoch_row(first, terms.key))
        return cls(path)

    @classmethod
    def open(cls, path: str | Path) -> Ledger:
        """Open a ledger; `LedgerError` if it cannot be used."""
        return cls(path)

    @property
    def notion(self) -> Notion:
        """How this ledger counts."""
        return self._state.terms.notion

    @property
    def append_only(self) -> bool:
        """Whether rows never change once written."""
        return self._state.terms.append_only

    # -- releases ---------------------------------------------------------------------------------------------

    def check(self, source: SourceMark) -> None:
        """Check that the ledger is of this table and, unless it is append-only, of these rows.

        Raises
        ------
        LedgerError
            It is not; nothing was released.
        """
        with self._file.transaction():
            self._read()
            self._binding.check_table(source)
            self._binding.check_rows(source)

    def answered(self, run_id: str, request: str) -> str | None:
        """The recorded answer of a run, None if there is none yet or it was another request."""
        check_name("a run id", run_id)
        with self._file.transaction():
            self._read()
            number = self._state.runs.get(run_id)
            if number is None or self._state.entry(number).request != request:
                return None
            return self._state.answer(number)

    def reserved_at(self, run_id: str) -> datetime | None:
        """When a run was first debited, None if it was not; nothing private had been computed then."""
        check_name("a run id", run_id)
        with self._file.transaction():
            self._read()
            number = self._state.runs.get(run_id)
            return None if number is None else datetime.fromisoformat(self._state.entry(number).reserved)

    def reserve(
        self,
        predicate: Region,
        charge: int,
        *,
        source: SourceMark,
        request: str,
        notion: str = "pure",
        run_id: str | None = None,
        analyst: str | None = None,
        label: str | None = None,
        rule_set: str | None = None,
        deadline: float = _DECISION_SECONDS,
        wait: float = _RUN_WAIT,
    ) -> Reservation:
        """Debit a release, durably, before its noise is drawn; or find what its run has answered already.

        Parameters
        ----------
        predicate
            The rows that can change the answer; at least one that is possible.
        charge
            In units of `notion`, which must be the ledger's; see `Notion.charge` and `Notion.charge_pure`.
        request
            JSON object of everything public that was asked.
        run_id
            A name for this run. Asked again, the same run gets the recorded answer and spends nothing; if it ended
            before it had one, it may draw now, under an exclusive lock.
        analyst
            Who asks, if the owner lets others ask; a run id is one analyst's.
        label
            The owner's word for this release, for the history.
        rule_set
            Digest or name of the constraints, for the history.

        Raises
        ------
        BudgetExceededError
            Some row may collect more than the budget; nothing was spent.
        LedgerError
            The ledger cannot be used, is of another table, notion or state of the rows, or the run id was used for
            another request.
        PredicateError
            The predicate covers no row: the charge would be for nothing.
        """
        predicate.refuse_no_row()
        if notion != self.notion.name:
            raise LedgerError(f"{self._file.shown}: a {self.notion.name} ledger takes no {notion} charges")
        if isinstance(charge, bool) or not isinstance(charge, int) or charge < 0:
            raise ParameterError(f"a charge is a whole number of units, got {charge!r}")
        for what, name in (("a run id", run_id), ("an analyst", analyst), ("a label", label), ("a rule set", rule_set)):
            if name is not None:
                check_name(what, name)
        asked = _Asked(request, run_id, analyst, label, rule_set)
        if run_id is None:
            return self._reserve(predicate, charge, source, asked, deadline)
        lock = RunLock(self._file, run_id, wait)
        try:
            found = self._reserve(predicate, charge, source, asked, deadline)
        except BaseException:
            lock.close()
            raise
        if found.answer is not None:
            lock.close()
            return found
        return replace(found, lock=lock)

    def check_together(self, releases: Sequence[tuple[Region, int]], deadline: float = _DECISION_SECONDS) -> None:
        """Check that releases could be debited one after another now; spend nothing.

        Another process may spend in between, so each of them is still decided by `reserve`.

        Raises
        ------
        BudgetExceededError
            One of them is refused, alone or with those before it.
        PredicateError
            One of them covers no row.
        """
        for predicate, _ in releases:
            predicate.refuse_no_row()
        with self._file.transaction():
            self._read()
        check_together(self._state, releases, deadline)

    @unbroken()
    def record(self, reservation: Reservation, answer: str) -> None:
        """Write the answer of a reservation, once; publish it only afterwards.

        Raises
        ------
        LedgerError
            It cannot be written or there is one already; the new answer must not be published.
        """
        reached("drawn")
        with self._file.transaction():
            self._read()
            if self._state.is_answered(reservation.number):
                raise LedgerError(f"{self._file.shown}: this run has an answer already; the new one is not published")
            insert(self._file, "answer", self._state.answer_row(reservation.number, now(), answer))
            reached("written")
        with self._file.transaction():
            self._read()
            self._head.write()
        reached("recorded")

    @unbroken()  # a signal waits for the commit; while other processes hold the ledger, none waits
    def _reserve(
        self, predicate: Region, charge: int, source: SourceMark, asked: _Asked, deadline: float
    ) -> Reservation:
        stored = region_to_text(predicate)
        predicate = region_from_text(stored)
        state = self._state
        reached("asked")
        _ = state.index  # made before others have to wait
        try:
            with self._file.transaction():
                reached("begun")
                self._read()
                self._binding.check_table(source)
                if asked.run_id is not None:
                    known = earlier_try(
                        state,
                        asked.run_id,
                        (asked.request, asked.analyst),
                        (stored, charge),
                        self._binding.rows_mark(source),
                    )
                    if known is not None:
                        return known
                self._binding.check_rows(source)
                if state.sequential + charge > MOST_WEIGHT:
                    raise LedgerError(f"{self._file.shown}: the ledger is full; make a new one for later releases")
                decision = state.index.would_exceed(predicate, charge, state.available, deadline)
                if not decision.allowed:
                    raise _RefusedError(decision)
                self._binding.bind(source)
                line = EntryLine(
                    number=state.last + 1,
                    epoch=state.epoch.number,
                    predicate=stored,
                    charge=charge,
                    upper=decision.upper,
                    source_mark=self._binding.rows_mark(source),
                    reserved=now(),
                    **asked._asdict(),
                )
                sealed = seal(state.terms.key, "entry", state.before, line)
                insert(self._file, "entry", (*line, sealed))
                reached("inserted")
        except _RefusedError as refused:
            raise refusal(state, predicate, charge, refused.decision) from None
        reached("reserved")
        state.add([line], [sealed])
        return Reservation(state.last)

    # -- epochs and reports -----------------------------------------------------------------------------------

    @unbroken()
    def open_epoch(self) -> int:
        """Close the current epoch and open the next: the owner's word that a changed source is the same table.

        Returns
        -------
        int
            Number of the new epoch. What the closed one cost stays spent, for every row.
        """
        with self._file.transaction():
            self._read()
            number = self._binding.open_epoch()
        with self._file.transaction():
            self._read()
            self._head.write()
        return number

    def spent_units(self) -> int:
        """Units spent, over all epochs."""
        with self._file.transaction():
            self._read()
        return self._state.spent

    def summary(self) -> LedgerSummary:
        """What was promised, spent and is left."""
        with self._file.transaction():
            self._read()
        return summary(self._state)

    def history(self) -> list[LedgerEntry]:
        """Every debit, oldest first."""
        with self._file.transaction():
            self._read()
            return history(self._file, self._state)

    def answers(self, *, release_id: str | None = None, run_id: str | None = None) -> list[RecordedAnswer]:
        """What was released, as it was recorded: everything, what one run released, or the answer with one release.

        Spends nothing; nothing is drawn again.
        """
        with self._file.transaction():
            self._read()
            return recorded_answers(self._file, self._state, release_id, run_id)

    def lines(self) -> list[EntryLine]:
        """Every debit as it is kept, oldest first."""
        with self._file.transaction():
            self._read()
            return [self._state.entry(number) for number in range(1, self._state.last + 1)]

    def check_columns(self, table: str) -> None:
        """Raise `LedgerError` unless the ledger is of a table with this schema, or of none yet; see `SourceMark`."""
        terms = self._state.terms
        self._binding.check_table(SourceMark(table, "", terms.rows_per_person or 1, terms.unit))

    def recharged_units(self, others: Mapping[int, tuple[Region, int]]) -> int:
        """Units that would be spent if these lines had been charged for other rows or otherwise; changes nothing."""
        return recharged(self._state, self.lines(), others)

    @unbroken()
    def _read(self) -> None:
        """Take in what any process has added, and notice if the file has gone back."""
        self._state.read()
        self._head.check()

    # -- life -------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the file. May be called twice."""
        self._file.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<dpdb ledger {self._file.shown}: {self.notion.name}>"


class _Asked(NamedTuple):
    """What an entry says of a release besides its charge."""

    request: str
    run_id: str | None
    analyst: str | None
    label: str | None
    rule_set: str | None


class _RefusedError(Exception):
    def __init__(self, decision: Decision) -> None:
        super().__init__()
        self.decision = decision
