"""What a ledger allows: the total, the allowances and a quota decide about one more debit, a look ahead, or several.

An allowance is at most so much within a period, inside the one total; old releases never expire. It paces; the total
protects. Within a period no row collects more than the allowance from its debits, counted as the total is: by overlap
within an epoch, added up over epochs. Debits outside the period stay spent of the total.

To check whether the debits of several releases would fit together spends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from dpdb.errors import BudgetExceededError, LedgerError
from dpdb.ledger.amounts import in_parameter, in_words, is_little
from dpdb.ledger.quotas import Counted, cap_refusal, own_debits, quota_refusal, refuse_rights, total_refusal
from dpdb.ledger.store.clock import present
from dpdb.ledger.store.periods import Period
from dpdb.ledger.store.rows import Act
from dpdb.ledger.store.state import LedgerState
from dpdb.overlap import MOST_WEIGHT, Deadline, Decision, OverlapIndex
from dpdb.predicates import Region, region_from_text, region_to_text


class Fits(NamedTuple):
    """An allowed debit: a bound on the charges that its rows have collected with it, and whether little is left."""

    upper: int
    is_low: bool


class RefusedError(Exception):
    """A debit is refused, by the total or by an allowance; raised inside a transaction, before the message is made.

    Parameters
    ----------
    is_rationed
        Whether an analyst with rights of his own was refused, who is told of nobody else's releases.
    """

    def __init__(self, decision: Decision, window: Window | None = None, *, is_rationed: bool = False) -> None:
        super().__init__()
        self.decision = decision
        self.window = window
        self.is_rationed = is_rationed

    def in_words(self, state: LedgerState, predicate: Region, charge: int, analyst: str | None) -> BudgetExceededError:
        """Return the error with the message of a refused debit.

        Parameters
        ----------
        predicate
            The rows that the refused release covers.
        charge
            In units of the ledger's notion.
        analyst
            Who asks; None for the owner.
        """
        words = held_words(state, predicate, analyst)
        if self.is_rationed:
            return total_refusal(state, charge, words)
        requested = f"requested {state.terms.notion.parameter} {in_words(state.terms.notion, charge)}"
        if self.window is None:
            left, why = self._by_total(state, predicate, charge)
        else:
            left, why = self._by_allowance(state, self.window, predicate, charge)
        return BudgetExceededError(
            f"budget refused by the ledger: {requested}, {why}; nothing was spent{words}",
            requested=state.terms.notion.value(charge),
            remaining=in_parameter(state.terms.notion, left),
            overlap=_rows(self.decision),
        )

    def _by_total(self, state: LedgerState, predicate: Region, charge: int) -> tuple[int, str]:
        """Return the units that are left for these rows, and why the total refused."""
        notion, witness = state.terms.notion, self.decision.witness
        left = units_left(state.index, state.available, predicate, charge, self.decision)
        releases = state.index.releases(witness.queries) if witness is not None else 0
        epochs = f" and earlier epochs took {in_words(notion, state.closed)}" if state.closed else ""
        return left, (
            f"remaining {in_words(notion, left)} for these rows; decided by {_rows(self.decision)} (covered by "
            f"{releases} earlier release{'' if releases == 1 else 's'}{epochs})"
        )

    def _by_allowance(self, state: LedgerState, window: Window, predicate: Region, charge: int) -> tuple[int, str]:
        """Return the units that an allowance has left for these rows, and when the release fits again.

        The decision has bounds over all epochs (see `Window.decide`).
        """
        notion, decision, earlier = state.terms.notion, self.decision, window.units - window.available
        inside = Decision(decision.allowed, decision.upper - earlier, decision.lower - earlier, decision.witness)
        left, again = units_left(window.index, window.available, predicate, charge, inside), window.fits_again(charge)
        when = (
            "no period takes so much"
            if again is None
            else f"unless more is spent, it fits from {again:%Y-%m-%d %H:%M:%S} UTC on at the latest"
        )
        return left, (
            f"and of the allowance of {in_words(notion, window.units)} within {window.period.words} "
            f"{in_words(notion, left)} is left for these rows; {when}{window.clock_words}"
        )


class Limits:
    """The total of a ledger and every allowance that holds now.

    Parameters
    ----------
    index : OverlapIndex
        The debits of the current epoch; for a look ahead a copy, to which `add` adds.
    analyst : str or None
        Who asks: with rights of his own, his quota and his cap count, too.

    Raises
    ------
    RightsError
        His rights have ended.
    """

    def __init__(self, state: LedgerState, clock: datetime, index: OverlapIndex, analyst: str | None) -> None:
        self._state, self._index = state, index
        self._asked = 0
        self._rights = None if analyst is None else state.analysts.newest.get(analyst)
        if self._rights is not None:
            refuse_rights(self._rights, state, clock)
            self._own = own_debits(state, self._rights.name, self._rights.quota)
        self._sequential = state.sequential
        self._windows = list(windows(state, clock))

    def decide(self, predicate: Region, charge: int, deadline: float) -> Fits:
        """Decide whether no row would collect more than the total or an allowance; an undecided debit is refused.

        Parameters
        ----------
        charge
            In units of the ledger's notion.
        deadline
            Seconds for each decision: on the total, and on every allowance.

        Raises
        ------
        BudgetExceededError
            The analyst's quota or cap does not suffice.
        """
        self._ration(predicate, charge, deadline)
        state = self._state
        decision = self._index.would_exceed(predicate, charge, state.available, deadline)
        if not decision.allowed:
            raise RefusedError(decision, is_rationed=self._rights is not None)
        if self._sequential + charge > MOST_WEIGHT:  # of rows that the budget suffices for
            notion = state.terms.notion
            raise LedgerError(
                f"{state.file.shown}: the ledger is full: all its releases together, also those of different rows, may "
                f"cost {notion.parameter} {in_words(notion, MOST_WEIGHT)}; make a new ledger for later ones"
            )
        is_low = is_little(state.available - decision.upper, state.budget)
        for window in self._windows:
            within = window.decide(predicate, charge, deadline)
            if not within.allowed:
                raise RefusedError(within, window, is_rationed=self._rights is not None)
            is_low = is_low or is_little(window.units - within.upper, window.units)
        return Fits(decision.upper, is_low)

    def _ration(self, predicate: Region, charge: int, deadline: float) -> None:
        if self._rights is None:
            return
        most = self._rights.most_per_statement
        if most is not None and self._asked + charge > most:
            raise cap_refusal(self._state, most, self._asked + charge)
        of_analyst = self._own.decide(predicate, charge, deadline)
        if not of_analyst.allowed:
            raise quota_refusal(self._state, self._own, charge, of_analyst.upper)

    def add(self, predicate: Region, charge: int, fits: Fits) -> None:
        """Count one more allowed release in a look ahead, never in a debit.

        Parameters
        ----------
        charge
            In units of the ledger's notion.
        """
        self._index.add(predicate, charge, fits.upper)
        self._sequential += charge
        self._asked += charge
        for window in [*self._windows, *([] if self._rights is None else [self._own])]:
            window.add(predicate, charge)


_REMAINING_SECONDS = 0.015


def _rows(decision: Decision) -> str:
    return decision.witness.describe() if decision.witness is not None else "every row"


def units_left(index: OverlapIndex, available: int, predicate: Region, charge: int, decision: Decision) -> int:
    """Units left for a release of these rows: proven, so it may be too little and never too much."""
    guess, inside = available - (decision.lower - charge), decision.upper - charge
    end = Deadline(_REMAINING_SECONDS)
    while guess > 0 and not end.passed:
        exceeding = index.would_exceed(predicate, guess, available, end.left)
        if exceeding.allowed:
            return min(guess, max(0, charge - 1))
        inside = min(inside, exceeding.upper - guess)
        guess = min(available - (exceeding.lower - guess), guess - 1)
    return max(0, min(charge - 1, guess, available - inside))


class Window(Counted):
    """The debits that one allowance counts at some time, and the decision about one more.

    Attributes
    ----------
    now : datetime
        The time of the decision: see `Times`.
    """

    def __init__(self, state: LedgerState, period: Period, units: int, clock: datetime, begin: datetime) -> None:
        self.period, self.clock = period, clock
        self.now = state.times.now(clock)
        self._first = first = state.times.first_since(begin)
        self._charges = state.times.charges(first)
        super().__init__(state, units, sum(self._charges), lambda: state.entries(first))

    @property
    def clock_words(self) -> str:
        """Say that the clock is behind the newest debit; empty otherwise."""
        if self.now == self.clock:
            return ""
        return f" (the clock is behind the newest debit, of {self.now:%Y-%m-%d %H:%M} UTC, which counts as the present)"

    def fits_again(self, charge: int) -> datetime | None:
        """Return a whole second from which a charge surely fits if no other debit is made; None if it never fits."""
        if charge > self.units and not self.period.is_once:
            return None
        if self.period.length is None:
            return self.period.end(self.now)
        left, number = self.sequential, 0
        while left + charge > self.units:
            left -= self._charges[number]
            number += 1
        last = self.period.end(self._state.times.of(self._first + number - 1))  # when it still counts
        return last.replace(microsecond=0) + timedelta(seconds=1)


def windows(state: LedgerState, clock: datetime) -> Iterator[Window]:
    """Give the window of every allowance that holds now, by the clock or by the newest debit."""
    for period, units in state.acts.allowances.items():
        begin = period.begin(state.times.now(clock))
        if begin is not None:
            yield Window(state, period, units, clock, begin)


_MOST_NAMED = 3


def held_words(state: LedgerState, predicate: Region, analyst: str | None) -> str:
    """Say, for a refusal, which open suites hold how much of these rows' budget.

    Parameters
    ----------
    state
        The ledger that refused.
    analyst
        Who was refused: he is told of his own runs only; None for the owner, who is told of all.
    """
    notion, held = state.terms.notion, []
    for suite in state.suites.known:
        if state.is_answered(suite.line.entry):
            continue
        for entry in map(state.entry, suite.entries):
            if analyst in {None, entry.analyst} and region_from_text(entry.predicate).overlaps(predicate):
                name = suite.line.name
                by = f"run {entry.run_id!r}" if name is None else f"kept suite {name!r}"
                held.append(f"{notion.parameter} {in_words(notion, entry.charge)} is held by {by}")
    more = [f"more by {len(held) - _MOST_NAMED} others"] if len(held) > _MOST_NAMED else []
    return f"; {', '.join([*held[:_MOST_NAMED], *more])}" if held else ""


def refuse_retired(state: LedgerState) -> None:
    """Raise `LedgerError` if the owner has retired the ledger."""
    act, shown = state.acts.retired, state.file.shown
    if act is not None:
        raise LedgerError(
            f"{shown}: the ledger was retired {retired_words(act)}; no further release is made from it and nothing was "
            f"spent. What was released stays: dpdb budget answers {shown}"
        )


def retired_words(act: Act) -> str:
    """Say when, by whom and why a ledger was retired, as far as the owner said."""
    who = "" if act.who is None else f" by {act.who}"
    return f"on {act.at[:10]}{who}" + ("" if act.label is None else f" ({act.label})")


def check_together(
    state: LedgerState,
    releases: Sequence[tuple[Region, int]],
    deadline: float,
    *,
    new_epoch: bool,
    analyst: str | None,
) -> None:
    """Decide on a copy of the index, one release after another, as `Ledger.reserve` would.

    In a `new_epoch` every row has collected what the current one comes to. (An allowance
    that counts disjoint slices of the current epoch is checked less closely here than by the debit.)

    Parameters
    ----------
    state
        The ledger; it is not changed.
    releases
        Predicate and charge of each release, in the order of their debits.
    deadline
        Seconds for each decision.
    new_epoch
        Whether they would be debited in a new epoch.
    analyst
        Who asks; None for the owner.

    Raises
    ------
    LedgerError
        The ledger is full or was retired.
    """
    refuse_retired(state)
    index = OverlapIndex([(Region(), state.overlap())]) if new_epoch else state.index.copy()
    limits = Limits(state, present(), index, analyst)
    for number, (asked, charge) in enumerate(releases, 1):
        predicate = region_from_text(region_to_text(asked))  # as `reserve` will store it
        try:
            limits.add(predicate, charge, limits.decide(predicate, charge, deadline))
        except RefusedError as refused:
            if number == 1:
                raise refused.in_words(state, predicate, charge, analyst) from None
            notion, window = state.terms.notion, refused.window
            limit = "the budget"
            if window is not None and not refused.is_rationed:
                limit = f"the allowance of {in_words(notion, window.units)} within {window.period.words}"
            raise BudgetExceededError(
                f"budget refused by the ledger: release {number} of {len(releases)} requests {notion.parameter} "
                f"{in_words(notion, charge)}, and after those before it some row would collect more than {limit}; "
                f"nothing was spent{held_words(state, predicate, analyst)}",
                requested=notion.value(charge),
            ) from None
