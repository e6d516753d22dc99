"""A small table, and what the two-sided measures are of it, counted over all sets of rows in plain Python."""

from __future__ import annotations

import math
from itertools import combinations

import pyarrow as pa

__all__ = ["CERTAIN", "KEY", "ROWS", "RULE", "near", "truth"]

RULE, KEY = "zip -> city", "UNIQUE(card)"
ROWS = pa.table(
    {
        "zip": [1, 1, 1, 2, 2, 3, 3, 4, 5],
        "city": ["a", "b", "c", "a", "b", "a", "a", None, "a"],
        "card": [1, 1, 1, 2, 2, 3, 4, None, None],
    }
)
CERTAIN = 60  # epsilon: noise of half a row or bit has probability below exp(-29), of a row of two below 2 exp(-30)


def truth(measure: str, rule: str) -> float:
    """Return the exact value of `drastic`, `maximal_consistency` in bits, or `problematic`, under `RULE` or `KEY`."""
    rows = ROWS.to_pylist()
    pairs = [pair for pair in combinations(range(len(rows)), 2) if _in_conflict(*(rows[row] for row in pair), rule)]
    if measure == "drastic":
        return int(bool(pairs))
    if measure == "problematic":
        return len({row for pair in pairs for row in pair})
    return math.log2(_maximal_consistent_subsets(len(rows), pairs))


def near(value: float, measure: str, rule: str) -> bool:
    """Return whether a release at `CERTAIN` is what it should be; false for one of 10^12 right ones."""
    return abs(value - truth(measure, rule)) < 0.5


def _in_conflict(one: dict[str, object], other: dict[str, object], rule: str) -> bool:
    equal = "zip" if rule == RULE else "card"
    if one[equal] is None or one[equal] != other[equal]:
        return False
    return rule == KEY or (None not in (one["city"], other["city"]) and one["city"] != other["city"])


def _maximal_consistent_subsets(rows: int, pairs: list[tuple[int, int]]) -> int:
    consistent = {
        chosen
        for chosen in range(1 << rows)
        if not any(chosen >> one & 1 and chosen >> other & 1 for one, other in pairs)
    }
    return sum(
        all(chosen >> row & 1 or chosen | 1 << row not in consistent for row in range(rows)) for chosen in consistent
    )
