"""The allowances of a ledger: at most so much within a period, inside the one total. Old releases never expire.

An allowance paces; the total protects. Within a period no row collects more than the allowance from its debits, counted
as the total is: by overlap within an epoch, added up over epochs. Debits outside the period stay spent of the total.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from dpdb.errors import LedgerError
from dpdb.ledger.rationing.counted import Counted
from dpdb.ledger.store.acts import Act
from dpdb.ledger.store.periods import Period
from dpdb.ledger.store.state import LedgerState

__all__ = ["Window", "refuse_retired", "windows"]


class Window(Counted):
    """The debits that one allowance counts at some time, and the decision about one more.

    Attributes
    ----------
    period : Period
    clock : datetime
        The time of the machine's clock.
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
