"""The quotas of analysts: how the owner rations the one total among those who ask. The total alone protects.

What every row has collected from all analysts together is decided by the total; a quota counts an analyst's own debits
in the same way. So answers that analysts pool are covered, and quotas may add up to more than the budget.
"""

from __future__ import annotations

from datetime import datetime

from dpdb.errors import BudgetExceededError, RightsError
from dpdb.ledger.amounts import in_parameter, in_words
from dpdb.ledger.rationing.counted import Counted
from dpdb.ledger.store.analyst_lines import AnalystLine
from dpdb.ledger.store.state import LedgerState

__all__ = ["cap_refusal", "own_debits", "quota_refusal", "refuse_rights", "rights_end", "total_refusal"]

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
    state
        The ledger that refused.
    own
        The analyst's own debits.
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
