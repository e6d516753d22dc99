"""A ledger's refusal in words: the requested charge, the budget left for these rows, the deciding rows or period."""

from __future__ import annotations

from dpdb.errors import BudgetExceededError
from dpdb.ledger.allowances import Window
from dpdb.ledger.amounts import in_parameter, in_words
from dpdb.ledger.store.state import LedgerState
from dpdb.overlap import Deadline, Decision, OverlapIndex
from dpdb.predicates import Region

__all__ = ["refusal", "refusal_by_allowance"]

_REMAINING_SECONDS = 0.015


def refusal(state: LedgerState, predicate: Region, charge: int, decision: Decision, held: str) -> BudgetExceededError:
    """Say why a release was refused; nothing was spent.

    Parameters
    ----------
    state
        The ledger that refused.
    predicate
        The rows that the refused release covers.
    charge
        In units of the ledger's notion.
    decision
        The decision against the total.
    held
        Further words, on what open suites hold; may be empty.
    """
    notion = state.terms.notion
    left = _left(state.index, state.available, predicate, charge, decision)
    overlap = _rows(decision)
    releases = state.index.releases(decision.witness.queries) if decision.witness is not None else 0
    words = {"requested": in_words(notion, charge), "remaining": in_words(notion, left)}
    epochs = f" and earlier epochs took {in_words(notion, state.closed)}" if state.closed else ""
    return BudgetExceededError(
        f"budget refused by the ledger: requested {notion.parameter} {words['requested']}, remaining "
        f"{words['remaining']} for these rows; decided by {overlap} (covered by {releases} earlier "
        f"release{'' if releases == 1 else 's'}{epochs}); nothing was spent{held}",
        requested=notion.value(charge),
        remaining=in_parameter(notion, left),
        overlap=overlap,
    )


def refusal_by_allowance(
    state: LedgerState, window: Window, predicate: Region, charge: int, decision: Decision, *, held: str
) -> BudgetExceededError:
    """Say which allowance refused a release, and when it fits again; nothing was spent.

    Parameters
    ----------
    state
        The ledger that refused.
    window
        The allowance that refused.
    predicate
        The rows that the refused release covers.
    charge
        In units of the ledger's notion.
    decision
        The decision against the allowance, with bounds over all epochs (see `Window.decide`).
    held
        Further words, on what open suites hold; may be empty.
    """
    notion, period = state.terms.notion, window.period
    earlier = window.units - window.available
    inside = Decision(decision.allowed, decision.upper - earlier, decision.lower - earlier, decision.witness)
    left = _left(window.index, window.available, predicate, charge, inside)
    again = window.fits_again(charge)
    when = (
        "no period takes so much"
        if again is None
        else f"unless more is spent, it fits from {again:%Y-%m-%d %H:%M:%S} UTC on at the latest"
    )
    return BudgetExceededError(
        f"budget refused by the ledger: requested {notion.parameter} {in_words(notion, charge)}, and of the allowance "
        f"of {in_words(notion, window.units)} within {period.words} {in_words(notion, left)} is left for these rows; "
        f"{when}{window.clock_words}; nothing was spent{held}",
        requested=notion.value(charge),
        remaining=in_parameter(notion, left),
        overlap=_rows(decision),
    )


def _rows(decision: Decision) -> str:
    return decision.witness.describe() if decision.witness is not None else "every row"


def _left(index: OverlapIndex, available: int, predicate: Region, charge: int, decision: Decision) -> int:
    """Units left for a release of these rows: proven, so it may be too little and never too much."""
    guess, inside = available - (decision.lower - charge), decision.upper - charge
    end = Deadline(_REMAINING_SECONDS)
    while guess > 0 and not end.passed:
        found = index.would_exceed(predicate, guess, available, end.left)
        if found.allowed:
            return min(guess, max(0, charge - 1))
        inside = min(inside, found.upper - guess)
        guess = min(available - (found.lower - guess), guess - 1)
    return max(0, min(charge - 1, guess, available - inside))
