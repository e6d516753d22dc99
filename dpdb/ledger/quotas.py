"""The quotas of analysts: how the owner rations the one total among those who ask. The total alone protects.

What every row has collected from all analysts together is decided by the total; a quota counts an analyst's own debits
in the same way. So answers that analysts pool are covered, and quotas may add up to more than the budget.

`Counted` is some of a ledger's debits under a limit of their own, counted as the total is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from functools import cached_property

from dpdb.errors import BudgetExceededError, RightsError
from dpdb.ledger.amounts import in_parameter, in_words
from dpdb.ledger.store.rows import AnalystLine, EntryLine
from dpdb.ledger.store.state import LedgerState
from dpdb.overlap import Added, Decision, OverlapIndex
from dpdb.predicates import Region, region_from_text

_NO_LIMIT = 2**62


def own_debits(state: LedgerState, analyst: str, quota: int | None) -> Counted:
    """Return an analyst's own debits under a quota, None for no limit."""
    numbers = state.asked_by.get(analyst, [])
    sequential = sum(state.times.charge(number) for number in numbers)
    return Counted(state, _NO_LIMIT if quota is None else quota, sequential, lambda: map(state.entry, numbers))


def rights_end(line: AnalystLine, state: LedgerState, clock: datetime) -> str | None:
    """Return why an analyst's rights have ended, None while they hold; a clock that goes back revives nothing."""
    if line.credentials is None:
        return "was revoked"
    if line.expires is not None and state.times.now(clock) >= datetime.fromisoformat(line.expires):
        return "has expired"
    return None


def refuse_rights(line: AnalystLine, state: LedgerState, clock: datetime) -> None:
    """Raise `RightsError` if the analyst may not spend."""
    ended = rights_end(line, state, clock)
    if ended is not None:
        raise RightsError(f"the access of {line.name!r} {ended}; nothing was spent")
    if line.role == "owner":
        raise RightsError(f"{line.name!r} sees what others spend, and spends nothing")


def quota_refusal(state: LedgerState, own: Counted, charge: int, upper: int) -> BudgetExceededError:
    """Say that an analyst's own quota refused a release; nothing was spent.

    Parameters
    ----------
    charge
        In units of the ledger's notion.
    upper
        What a row would collect from his debits and this one.
    """
    notion, left = state.terms.notion, max(0, own.units - (upper - charge))
    return BudgetExceededError(
        f"budget refused by your quota: requested {notion.parameter} {in_words(notion, charge)}, and "
        f"{in_words(notion, left)} of your {in_words(notion, own.units)} is left for these rows; nothing was spent",
        requested=notion.value(charge),
        remaining=in_parameter(notion, left),
    )


def cap_refusal(state: LedgerState, most: int, charge: int) -> BudgetExceededError:
    """Say that a statement asks for more than the analyst may spend by one; nothing was spent."""
    notion = state.terms.notion
    return BudgetExceededError(
        f"budget refused: one statement of yours may cost {notion.parameter} {in_words(notion, most)} at most, and "
        f"this one asks for {in_words(notion, charge)}; nothing was spent",
        requested=notion.value(charge),
    )


def total_refusal(state: LedgerState, charge: int, held: str) -> BudgetExceededError:
    """Say that the total or an allowance refused an analyst: in words that tell of nobody else's releases."""
    notion = state.terms.notion
    return BudgetExceededError(
        f"budget refused: requested {notion.parameter} {in_words(notion, charge)}, and the table's budget does not "
        f"allow so much more for these rows; nothing was spent{held}",
        requested=notion.value(charge),
    )


_SECONDS = 0.1


class Counted:
    """Debits that may cost at most so much together: by overlap within an epoch, added up over epochs.

    Parameters
    ----------
    units : int
        The most that they may cost.
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
        charge
            In units of the ledger's notion.
        deadline
            Seconds for the decision.
        """
        together = self.sequential + charge
        if together <= self.units:  # the sum of all charges fits, whatever rows the debits cover
            return Decision(True, together, charge, None)
        exceeding = self.index.would_exceed(predicate, charge, self.available, deadline)
        earlier = self.units - self.available
        return replace(exceeding, upper=earlier + exceeding.upper, lower=earlier + exceeding.lower)

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
