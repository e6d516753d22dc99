"""A ledger's refusal in words: what was asked, what is left for these rows, and which rows decide it."""

from __future__ import annotations

from dpdb.errors import BudgetExceededError
from dpdb.ledger.amounts import in_parameter, in_words
from dpdb.ledger.store.state import LedgerState
from dpdb.overlap import Deadline, Decision
from dpdb.predicates import Region

__all__ = ["refusal"]

_REMAINING_SECONDS = 0.015


def refusal(state: LedgerState, predicate: Region, charge: int, decision: Decision) -> BudgetExceededError:
    """Say why a release was refused; nothing was spent."""
    notion = state.terms.notion
    left = _left(state, predicate, charge, decision)
    overlap = decision.witness.describe() if decision.witness is not None else "every row"
    releases = state.index.releases(decision.witness.queries) if decision.witness is not None else 0
    words = {"requested": in_words(notion, charge), "remaining": in_words(notion, left)}
    epochs = f" and earlier epochs took {in_words(notion, state.closed)}" if state.closed else ""
    return BudgetExceededError(
        f"budget refused by the ledger: requested {notion.parameter} {words['requested']}, remaining "
        f"{words['remaining']} for these rows; decided by {overlap} (covered by {releases} earlier "
        f"release{'' if releases == 1 else 's'}{epochs}); nothing was spent",
        requested=notion.value(charge),
        remaining=in_parameter(notion, left),
        overlap=overlap,
    )


def _left(state: LedgerState, predicate: Region, charge: int, decision: Decision) -> int:
    """Units that a release of these rows could still cost: proven, so it may be too little and never too much."""
    available = state.available
    guess, inside = available - (decision.lower - charge), decision.upper - charge
    end = Deadline(_REMAINING_SECONDS)
    while guess > 0 and not end.passed:
        found = state.index.would_exceed(predicate, guess, available, end.left)
        if found.allowed:
            return min(guess, max(0, charge - 1))
        inside = min(inside, found.upper - guess)
        guess = min(available - (found.lower - guess), guess - 1)
    return max(0, min(charge - 1, guess, available - inside))
