"""The allowances of a ledger: at most so much within a period, inside the one total. Old releases never expire.

An allowance paces; the total protects. Within a period no row collects more than the allowance from its debits, counted
as the total is: by overlap within an epoch, added up over epochs. Debits outside the period stay spent of the total.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property

from dpdb.errors import LedgerError
from dpdb.ledger.store.acts import Act
from dpdb.ledger.store.periods import Period
from dpdb.ledger.store.state import LedgerState
from dpdb.overlap import Added, Decision, OverlapIndex
from dpdb.predicates import Region, region_from_text

__all__ = ["Window", "refuse_retired", "windows"]

_SECONDS = 0.1


class Window:
    """The debits that one allowance counts at some time, and the decision about one more.

    Attributes
    ----------
    period : Period
    units : int
        The most that the debits may cost together.
    clock : datetime
        The time of the machine's clock.
    now : datetime
        The time of the decision: see `Times`.
    sequential : int
        The sum of the debits' charges.
    """

    def __init__(self, state: LedgerState, period: Period, units: int, clock: datetime, begin: datetime) -> None:
        self.period, self.units, self.clock = period, units, clock
        self.now = state.times.now(clock)
        self._state = state
        self._first = state.times.first_since(begin)
        self._charges = state.times.charges(self._first)
        self.sequential = sum(self._charges)

    def decide(self, predicate: Region, charge: int, deadline: float) -> Decision:
        """Decide whether no row would collect more than the allowance within the period; an undecided one refuses.

        Its bounds are on what a row covered by the release collects within the period, over all epochs.

        Parameters
        ----------
        predicate
            The rows that the release covers.
        charge
            In units of the ledger's notion.
        deadline
            Seconds for the decision.
        """
        together = self.sequential + charge
        if together <= self.units:  # the sum of all charges fits, whatever rows the debits cover
            return Decision(True, together, charge, None)
        found = self.index.would_exceed(predicate, charge, self.available, deadline)
        earlier = self.units - self.available
        return replace(found, upper=earlier + found.upper, lower=earlier + found.lower)

    def add(self, predicate: Region, charge: int) -> None:
        """Count one more allowed release in a look ahead, never in a debit."""
        self.index.add(predicate, charge)
        self.sequential += charge

    @cached_property
    def index(self) -> OverlapIndex:
        """The debits of the current epoch."""
        return self._indexes.get(self._state.epoch.number) or OverlapIndex()

    @cached_property
    def available(self) -> int:
        """Units for the current epoch: the allowance less the debits of earlier epochs."""
        earlier = (index for epoch, index in self._indexes.items() if epoch != self._state.epoch.number)
        return self.units - sum(index.bound(_SECONDS).upper for index in earlier)

    @property
    def spent(self) -> int:
        """A safe bound on what any row collected within the period."""
        inside = self.index.bound(_SECONDS).upper if self.index else 0
        return min(self.sequential, self.units - self.available + inside)

    @cached_property
    def _indexes(self) -> dict[int, OverlapIndex]:
        """Per epoch the debits within the period, read when a decision needs them."""
        merged: dict[int, dict[str, int]] = {}
        for line in self._state.entries(self._first):
            epoch = merged.setdefault(line.epoch, {})
            epoch[line.predicate] = epoch.get(line.predicate, 0) + line.charge
        return {
            epoch: OverlapIndex.of(Added(region_from_text(text), charge) for text, charge in debits.items())
            for epoch, debits in merged.items()
        }

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


def refuse_retired(state: LedgerState, shown: str) -> None:
    """Raise `LedgerError` if the owner has retired the ledger."""
    act = state.acts.retired
    if act is not None:
        raise LedgerError(
            f"{shown}: the ledger was retired {retired_words(act)}; no further release is made from it and nothing was "
            f"spent. What was released stays: dpdb budget answers {shown}"
        )


def retired_words(act: Act) -> str:
    """Say when, by whom and why a ledger was retired, as far as the owner said."""
    who = "" if act.who is None else f" by {act.who}"
    return f"on {act.at[:10]}{who}" + ("" if act.label is None else f" ({act.label})")
