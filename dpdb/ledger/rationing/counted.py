"""`Counted`: some of a ledger's debits under a limit of their own, counted as the total is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property

from dpdb.ledger.store.entry_lines import EntryLine
from dpdb.ledger.store.state import LedgerState
from dpdb.overlap import Added, Decision, OverlapIndex
from dpdb.predicates import Region, region_from_text

__all__ = ["Counted"]

_SECONDS = 0.1


class Counted:
    """Debits that may cost at most so much together: by overlap within an epoch, added up over epochs.

    Parameters
    ----------
    state : LedgerState
    units : int
        The most that they may cost.
    sequential : int
        The sum of their charges.
    lines : callable
        Reads the debits; called when a decision needs them.
    """

    def __init__(
        self, state: LedgerState, units: int, sequential: int, lines: Callable[[], Iterable[EntryLine]]
    ) -> None:
        self.units, self.sequential = units, sequential
        self._state, self._lines = state, lines

    def decide(self, predicate: Region, charge: int, deadline: float) -> Decision:
        """Decide whether no row would collect more than the limit from these debits; an undecided one refuses.

        Its bounds are on what a row covered by the release collects from them, over all epochs.

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
        """Units for the current epoch: the limit less the debits of earlier epochs."""
        earlier = (index for epoch, index in self._indexes.items() if epoch != self._state.epoch.number)
        return self.units - sum(index.bound(_SECONDS).upper for index in earlier)

    @property
    def spent(self) -> int:
        """A safe bound on what any row collected."""
        inside = self.index.bound(_SECONDS).upper if self.index else 0
        return min(self.sequential, self.units - self.available + inside)

    @cached_property
    def _indexes(self) -> dict[int, OverlapIndex]:
        """Per epoch the debits, read when a decision needs them."""
        merged: dict[int, dict[str, int]] = {}
        for line in self._lines():
            epoch = merged.setdefault(line.epoch, {})
            epoch[line.predicate] = epoch.get(line.predicate, 0) + line.charge
        return {
            epoch: OverlapIndex.of(Added(region_from_text(text), charge) for text, charge in debits.items())
            for epoch, debits in merged.items()
        }
