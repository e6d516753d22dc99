"""The check whether several releases would fit a ledger together; spends nothing."""

from __future__ import annotations

from collections.abc import Sequence

from dpdb.errors import BudgetExceededError
from dpdb.ledger.allowances import windows
from dpdb.ledger.amounts import in_words
from dpdb.ledger.refusal import refusal, refusal_by_allowance
from dpdb.ledger.store.clock import present
from dpdb.ledger.store.state import LedgerState
from dpdb.predicates import Region, region_from_text, region_to_text

__all__ = ["check_together"]


def check_together(state: LedgerState, releases: Sequence[tuple[Region, int]], deadline: float) -> None:
    """Decide on a copy of the index, one release after another, as `Ledger.reserve` would.

    Raises
    ------
    BudgetExceededError
        One of them is refused, alone or with those before it.
    """
    notion = state.terms.notion
    index, available, allowances = state.index.copy(), state.available, list(windows(state, present()))
    for number, (asked, charge) in enumerate(releases, 1):
        predicate = region_from_text(region_to_text(asked))  # as `reserve` will see it
        decision = index.would_exceed(predicate, charge, available, deadline)
        if not decision.allowed and number == 1:
            raise refusal(state, predicate, charge, decision)
        if not decision.allowed:
            raise _refused(f"release {number} of {len(releases)}", state, charge, "the budget")
        index.add(predicate, charge, decision.upper)
        for window in allowances:
            within = window.decide(predicate, charge, deadline)
            if not within.allowed and number == 1:
                raise refusal_by_allowance(state, window, predicate, charge, within)
            if not within.allowed:
                limit = f"the allowance of {in_words(notion, window.units)} within {window.period.words}"
                raise _refused(f"release {number} of {len(releases)}", state, charge, limit)
            window.add(predicate, charge)


def _refused(release: str, state: LedgerState, charge: int, limit: str) -> BudgetExceededError:
    notion = state.terms.notion
    return BudgetExceededError(
        f"budget refused by the ledger: {release} requests {notion.parameter} {in_words(notion, charge)}, and after "
        f"those before it some row would collect more than {limit}; nothing was spent",
        requested=notion.value(charge),
    )
