"""The check whether the debits of several releases would fit a ledger together; spends nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dpdb.errors import BudgetExceededError
from dpdb.ledger.allowances import refuse_retired
from dpdb.ledger.amounts import in_words
from dpdb.ledger.limits import Limits, RefusedError
from dpdb.ledger.store.clock import present
from dpdb.ledger.store.state import LedgerState
from dpdb.overlap import OverlapIndex
from dpdb.predicates import Region, region_from_text, region_to_text

__all__ = ["check_together"]


def check_together(
    state: LedgerState,
    shown: str,
    releases: Sequence[tuple[Region, int]],
    deadline: float,
    *,
    new_epoch: bool,
    held: Callable[[LedgerState, Region], str],
    analyst: str | None = None,
) -> None:
    """Decide on a copy of the index, one release after another, as `Ledger.reserve` would.

    In a `new_epoch` every row has collected what the current one comes to. (An allowance
    that counts disjoint slices of the current epoch is checked less closely here than by the debit.)

    Parameters
    ----------
    state
        The ledger; it is not changed.
    shown
        Name of the ledger's file, for messages.
    releases
        Predicate and charge of each release, in the order of their debits.
    deadline
        Seconds for each decision.
    new_epoch
        Whether they would be debited in a new epoch.
    held
        Says what open suites hold; see `held_for`.
    analyst
        Who asks; None for the owner.

    Raises
    ------
    BudgetExceededError
        One of them is refused, alone or with those before it.
    LedgerError
        The ledger is full or was retired.
    """
    refuse_retired(state, shown)
    index = OverlapIndex([(Region(), state.overlap())]) if new_epoch else state.index.copy()
    limits = Limits(state, shown, present(), index, analyst)
    for number, (asked, charge) in enumerate(releases, 1):
        predicate = region_from_text(region_to_text(asked))  # as `reserve` will store it
        try:
            limits.add(predicate, charge, limits.decide(predicate, charge, deadline))
        except RefusedError as refused:
            if number == 1:
                raise refused.in_words(state, predicate, charge, held) from None
            notion, window = state.terms.notion, refused.window
            limit = "the budget"
            if window is not None and not refused.is_rationed:
                limit = f"the allowance of {in_words(notion, window.units)} within {window.period.words}"
            raise BudgetExceededError(
                f"budget refused by the ledger: release {number} of {len(releases)} requests {notion.parameter} "
                f"{in_words(notion, charge)}, and after those before it some row would collect more than {limit}; "
                f"nothing was spent{held(state, predicate)}",
                requested=notion.value(charge),
            ) from None
