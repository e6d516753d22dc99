"""What is left for rows that no release has covered yet, as those of tomorrow in a table that grows by dates."""

from __future__ import annotations

from dpdb.ledger.allowances import windows
from dpdb.ledger.amounts import in_parameter, is_little
from dpdb.ledger.lines import UnseenRows
from dpdb.ledger.store.clock import present
from dpdb.ledger.store.state import LedgerState
from dpdb.predicates import Region, ValueSet

__all__ = ["little_is_left", "unseen_rows"]

_SECONDS = 0.1  # of a bound, which may be loose but never too low


def unseen_rows(state: LedgerState) -> UnseenRows | None:
    """Return the column whose new values have most left, and how much; None if the whole table has as much.

    A release limits a column if its rows have some values of it only. The rows with none of the values of any such
    release have collected from the other releases alone, and from the closed epochs. What they have left is what a
    release of them may cost now, by the total and by every allowance: never overstated.
    """
    found = [(_left(state, region), column) for column, region in _unseen(state).items()]
    left, column = max(found, default=(0, ""))
    if left <= _left(state, Region()):
        return None
    return UnseenRows(column, in_parameter(state.terms.notion, left))


def little_is_left(state: LedgerState) -> bool:
    """Return whether rows that no release has covered have little left, too."""
    seen = unseen_rows(state)
    return seen is None or is_little(seen.remaining, in_parameter(state.terms.notion, state.budget))


def _unseen(state: LedgerState) -> dict[str, Region]:
    """For each column that releases limit, the rows with other values than theirs, where there are such values."""
    limits: dict[str, list[ValueSet]] = {}
    for query in state.index.queries:
        for column in query.attributes:
            values = ValueSet.union([dict(box).get(column, ValueSet.everything()) for box in query.boxes])
            if not values.is_everything:
                limits.setdefault(column, []).append(values)
    others = {column: ~ValueSet.union(values) for column, values in limits.items()}
    return {column: Region.of({column: values}) for column, values in others.items() if not values.is_empty}


def _left(state: LedgerState, rows: Region) -> int:
    collected = state.index.would_exceed(rows, 0, state.available, _SECONDS).upper
    left = [state.available - collected]
    left += [window.units - window.decide(rows, 0, _SECONDS).upper for window in windows(state, present())]
    return max(0, min(left))
