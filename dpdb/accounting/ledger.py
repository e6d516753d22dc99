"""`Ledger`: the durable record of what was spent on one table, for any number of processes at once.

A release goes: one exclusive transaction checks that no row collects more than the budget and writes the debit; then
noise is drawn; then the answer is written; only then is it published. A crash in between wastes budget and never gives
it back. Within an epoch the rows stay as they are (or are only added to), so the cost is the overlap of the releases;
where rows may change, the owner opens a new epoch, and the total is the sum over epochs of their overlaps.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from dpdb.accounting.amounts import budget_units, in_parameter, in_words
from dpdb.accounting.bound import Deadline
from dpdb.accounting.composition import NOTIONS, Notion, Number
from dpdb.accounting.instance import MOST_WEIGHT
from dpdb.accounting.ledger_file import LedgerFile, create_file, reached
from dpdb.accounting.ledger_lines import LedgerEntry, LedgerSummary, Reservation
from dpdb.accounting.ledger_state import Epoch, LedgerState, Terms, epoch_line, terms_line
from dpdb.accounting.marks import SourceMark, mark, new_key, seal
from dpdb.accounting.online import Decision
from dpdb.accounting.predicates import Predicate
from dpdb.accounting.run_lock import RunLock
from dpdb.accounting.stored_predicate import predicate_from_text, predicate_to_text
from dpdb.errors import BudgetExceededError, LedgerError, ParameterError

__all__ = ["Ledger"]

_DECISION_SECONDS = 0.1
_REMAINING_SECONDS = 0.015
_RUN_WAIT = 10.0
_LONGEST_RUN_ID = 200


class Ledger:
    """An open ledger. Several may be open on one file, in one process or many; one object is not thread-safe.

    Use `Ledger.create` once, then `Ledger.open`.
    """

    def __init__(self, path: str | Path) -> None:
        self._file = LedgerFile(Path(path))
        try:
            with self._file.transaction():
                self._state = LedgerState(self._file)
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
        terms = Terms(NOTIONS[notion], units, float(delta), bool(append_only), _now(), new_key())
        first = Epoch(1, terms.created)
        create_file(
            Path(path),
            (1, *terms_line(terms), seal(terms.key, "terms", b"", terms_line(terms))),
            (*epoch_line(first), seal(terms.key, "epoch", b"", epoch_line(first))),
        )
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
            self._state.read()
            self._check_table(source)
            self._check_rows(source)

    def answered(self, run_id: str, request: str) -> str | None:
        """The recorded answer of a run, None if there is none yet or it was another request."""
        found = self._file.rows("SELECT answer FROM entry WHERE run_id = ? AND request = ?", (run_id, request))
        return str(found[0][0]) if found and found[0][0] is not None else None

    def reserve(
        self,
        predicate: Predicate,
        charge: int,
        *,
        source: SourceMark,
        request: str,
        notion: str = "pure",
        run_id: str | None = None,
        deadline: float = _DECISION_SECONDS,
        wait: float = _RUN_WAIT,
    ) -> Reservation:
        """Debit a release, durably, before its noise is drawn; or find what its run has answered already.

        Parameters
        ----------
        predicate
            The rows that can change the answer.
        charge
            In units of `notion`, which must be the ledger's; see `Notion.charge` and `Notion.charge_pure`.
        request
            JSON object of everything public that was asked.
        run_id
            A name for this run. Asked again, the same run gets the recorded answer and spends nothing; if it ended
            before it had one, it may draw now, under an exclusive lock.

        Raises
        ------
        BudgetExceededError
            Some row may collect more than the budget; nothing was spent.
        LedgerError
            The ledger cannot be used, is of another table, notion or state of the rows, or the run id was used for
            another request.
        """
        if notion != self.notion.name:
            raise LedgerError(f"{self._file.path}: a {self.notion.name} ledger takes no {notion} charges")
        if isinstance(charge, bool) or not isinstance(charge, int) or charge < 0:
            raise ParameterError(f"a charge is a whole number of units, got {charge!r}")
        if run_id is None:
            return self._reserve(predicate, charge, source, request, None, deadline)
        if not isinstance(run_id, str) or not run_id.isprintable() or not 0 < len(run_id) <= _LONGEST_RUN_ID:
            raise ParameterError(f"a run id has 1 to {_LONGEST_RUN_ID} printable characters")
        lock = RunLock(self._file.path, run_id, wait)
        try:
            found = self._reserve(predicate, charge, source, request, run_id, deadline)
        except BaseException:
            lock.close()
            raise
        if found.answer is not None:
            lock.close()
            return found
        return replace(found, lock=lock)

    def check_together(self, releases: Sequence[tuple[Predicate, int]], deadline: float = _DECISION_SECONDS) -> None:
        """Check that releases could be debited one after another now; spend nothing.

        Another process may spend in between, so each of them is still decided by `reserve`.

        Raises
        ------
        BudgetExceededError
            One of them is refused, alone or with those before it.
        """
        with self._file.transaction():
            self._state.read()
        index, available = deepcopy(self._state.index), self._state.available
        for number, (asked, charge) in enumerate(releases, 1):
            predicate = predicate_from_text(predicate_to_text(asked))  # as `reserve` will see it
            decision = index.would_exceed(predicate, charge, available, deadline)
            if not decision.allowed and number == 1:
                raise self._refusal(predicate, charge, decision)
            if not decision.allowed:
                asked_for = f"{self.notion.parameter} {in_words(self.notion, charge)}"
                raise BudgetExceededError(
                    f"budget refused by the ledger: release {number} of {len(releases)} requests {asked_for}, and "
                    "after those before it some row would collect more than the budget; nothing was spent",
                    requested=self.notion.value(charge),
                )
            index.add(predicate, charge, decision.upper)

    def record(self, reservation: Reservation, answer: str) -> None:
        """Write the answer of a reservation, once; publish it only afterwards.

        Raises
        ------
        LedgerError
            It cannot be written or there is one already; the new answer must not be published.
        """
        reached("drawn")
        with self._file.transaction():
            changed = self._file.change(
                "UPDATE entry SET answer = ?, answered = ? WHERE number = ? AND answer IS NULL",
                (answer, _now(), reservation.number),
            )
            if changed != 1:
                raise LedgerError(f"{self._file.path}: this run has an answer already; the new one is not published")
            reached("written")
        reached("recorded")

    def _reserve(  # noqa: PLR0917 - the arguments of reserve
        self, predicate: Predicate, charge: int, source: SourceMark, request: str, run_id: str | None, deadline: float
    ) -> Reservation:
        stored = predicate_to_text(predicate)
        predicate = predicate_from_text(stored)
        state = self._state
        reached("asked")
        try:
            with self._file.transaction():
                reached("begun")
                state.read()
                self._check_table(source)
                known = self._known(run_id, request, stored, charge, source)
                if known is not None:
                    return known
                self._check_rows(source)
                if state.sequential + charge > MOST_WEIGHT:
                    raise LedgerError(f"{self._file.path}: the ledger is full; make a new one for later releases")
                decision = state.index.would_exceed(predicate, charge, state.available, deadline)
                if not decision.allowed:
                    raise _RefusedError(decision)
                self._bind(source)
                line = (
                    state.last + 1, state.epoch.number, run_id, request, stored, charge, decision.upper,
                    self._rows_mark(source), _now(),
                )  # fmt: skip
                sealed = seal(state.terms.key, "entry", state.before, line)
                self._file.change(
                    "INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)", (*line, sealed)
                )
                reached("inserted")
        except _RefusedError as refusal:
            raise self._refusal(predicate, charge, refusal.decision) from None
        reached("reserved")
        state.add(line, sealed)
        return Reservation(state.last)

    def _known(
        self, run_id: str | None, request: str, stored: str, charge: int, source: SourceMark
    ) -> Reservation | None:
        """The reservation of an earlier try of the same run."""
        if run_id is None:
            return None
        found: list[Any] = self._file.rows(
            "SELECT number, epoch, request, predicate, charge, source_mark, answer FROM entry WHERE run_id = ?",
            (run_id,),
        )
        if not found:
            return None
        number, epoch, *asked, source_mark, answer = found[0]
        if asked != [request, stored, charge]:
            raise LedgerError(f"run id {run_id!r} was used for another request; give every request its own run id")
        same_rows = epoch == self._state.epoch.number and source_mark == self._rows_mark(source)
        if answer is None and not (self.append_only or same_rows):
            raise LedgerError(
                f"run id {run_id!r} ended without an answer before the source changed; ask again under a new run id"
            )
        return Reservation(number, answer)

    # -- the table and its rows -------------------------------------------------------------------------------

    def _rows_mark(self, source: SourceMark) -> bytes:
        return mark(self._state.terms.key, "rows", f"{source.table}\0{source.content}")

    def _check_table(self, source: SourceMark) -> None:
        terms = self._state.terms
        if terms.table_mark is None:
            return
        if mark(terms.key, "table", source.table) != terms.table_mark:
            raise LedgerError(
                f"{self._file.path}: the ledger of another table (other columns or types); nothing was released"
            )
        if source.rows_per_person != terms.rows_per_person:
            raise LedgerError(
                f"{self._file.path}: this ledger counts for {terms.rows_per_person} rows per person, not for "
                f"{source.rows_per_person}; nothing was released"
            )

    def _check_rows(self, source: SourceMark) -> None:
        known = self._state.epoch.source_mark
        if not self.append_only and known is not None and known != self._rows_mark(source):
            raise LedgerError(
                f"{self._file.path}: the source has changed since the ledger's last release; nothing was released. If "
                f"it is the same table, its owner opens a new epoch: dpdb budget epoch {self._file.path}"
            )

    def _bind(self, source: SourceMark) -> None:
        """Fix table and unit at the first release, and the state of the rows at the first one of an epoch."""
        state = self._state
        if state.terms.table_mark is None:
            state.terms = replace(
                state.terms,
                table_mark=mark(state.terms.key, "table", source.table),
                rows_per_person=source.rows_per_person,
            )
            self._file.change(
                "UPDATE terms SET table_mark = ?, rows_per_person = ?, seal = ?",
                (
                    state.terms.table_mark,
                    state.terms.rows_per_person,
                    seal(state.terms.key, "terms", b"", terms_line(state.terms)),
                ),
            )
        if state.epoch.source_mark is None:
            self._write_epoch(replace(state.epoch, source_mark=self._rows_mark(source)))

    def open_epoch(self) -> int:
        """Close the current epoch and open the next: the owner's word that a changed source is the same table.

        Returns
        -------
        int
            Number of the new epoch. What the closed one cost stays spent, for every row.
        """
        with self._file.transaction():
            self._state.read()
            state = self._state
            if state.epoch.source_mark is None:
                return state.epoch.number  # nothing was released in it yet
            self._write_epoch(replace(state.epoch, closed_overlap=self._overlap()))
            following = Epoch(state.epoch.number + 1, _now())
            self._file.change(
                "INSERT INTO epoch VALUES (?, ?, ?, ?, ?)",
                (*epoch_line(following), seal(state.terms.key, "epoch", b"", epoch_line(following))),
            )
        with self._file.transaction():
            self._state.read()
        return following.number

    def _write_epoch(self, epoch: Epoch) -> None:
        self._file.change(
            "UPDATE epoch SET source_mark = ?, closed_overlap = ?, seal = ? WHERE number = ?",
            (
                epoch.source_mark,
                epoch.closed_overlap,
                seal(self._state.terms.key, "epoch", b"", epoch_line(epoch)),
                epoch.number,
            ),
        )

    # -- reports ----------------------------------------------------------------------------------------------

    def _overlap(self) -> int:
        """A safe bound on the overlap of the current epoch; every debit has proven that it fits."""
        return min(self._state.index.bound(deadline=1.0).upper, self._state.available) if self._state.index else 0

    def spent_units(self) -> int:
        """Units spent, over all epochs."""
        with self._file.transaction():
            self._state.read()
        return self._state.closed + self._overlap()

    def summary(self) -> LedgerSummary:
        """What was promised, spent and is left."""
        spent = self.spent_units()
        terms, notion = self._state.terms, self.notion
        [(unanswered,)] = self._file.rows("SELECT count(*) FROM entry WHERE answer IS NULL")
        assert isinstance(unanswered, int)
        return LedgerSummary(
            notion=notion.name,
            parameter=notion.parameter,
            budget=in_parameter(notion, terms.budget),
            spent=notion.value(spent),
            remaining=in_parameter(notion, terms.budget - spent),
            sequential=notion.value(self._state.sequential),
            epsilon=notion.epsilon(spent, terms.delta),
            delta=terms.delta,
            append_only=terms.append_only,
            rows_per_person=terms.rows_per_person,
            epoch=self._state.epoch.number,
            releases=self._state.last,
            unanswered=unanswered,
            created=terms.created,
        )

    def history(self) -> list[LedgerEntry]:
        """Every debit, oldest first."""
        rows: list[Any] = self._file.rows(
            "SELECT number, epoch, reserved, run_id, charge, predicate, request, answer IS NOT NULL FROM entry "
            "ORDER BY number"
        )
        return [
            LedgerEntry(
                number=number,
                epoch=epoch,
                reserved=reserved,
                run_id=run_id,
                charge=self.notion.value(charge),
                rows=predicate_from_text(predicate).describe(),
                request=json.loads(request),
                answered=bool(answered),
            )
            for number, epoch, reserved, run_id, charge, predicate, request, answered in rows
        ]

    def _refusal(self, predicate: Predicate, charge: int, decision: Decision) -> BudgetExceededError:
        notion = self.notion
        left = self._left(predicate, charge, decision)
        overlap = decision.witness.describe() if decision.witness is not None else "every row"
        releases = len(decision.witness.queries) if decision.witness is not None else 0
        words = {"requested": in_words(notion, charge), "remaining": in_words(notion, left)}
        epochs = f" and earlier epochs took {in_words(notion, self._state.closed)}" if self._state.closed else ""
        return BudgetExceededError(
            f"budget refused by the ledger: requested {notion.parameter} {words['requested']}, remaining "
            f"{words['remaining']} for these rows; decided by {overlap} (covered by {releases} earlier "
            f"release{'' if releases == 1 else 's'}{epochs}); nothing was spent",
            requested=notion.value(charge),
            remaining=in_parameter(notion, left),
            overlap=overlap,
        )

    def _left(self, predicate: Predicate, charge: int, decision: Decision) -> int:
        """Units that a release of these rows could still cost: proven, so it may be too little and never too much."""
        available = self._state.available
        guess, inside = available - (decision.lower - charge), decision.upper - charge
        end = Deadline(_REMAINING_SECONDS)
        while guess > 0 and not end.passed:
            found = self._state.index.would_exceed(predicate, guess, available, end.left)
            if found.allowed:
                return min(guess, max(0, charge - 1))
            inside = min(inside, found.upper - guess)
            guess = min(available - (found.lower - guess), guess - 1)
        return max(0, min(charge - 1, guess, available - inside))

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
        return f"<dpdb ledger {self._file.path}: {self.notion.name}>"


class _RefusedError(Exception):
    def __init__(self, decision: Decision) -> None:
        super().__init__()
        self.decision = decision


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
