"""What rows and owners break, counted in plain Python: for comparison with `dpdb.engine.broken`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
Broken = Callable[[Row], bool | None]


def by_row(rows: Sequence[Row], rules: Sequence[Broken]) -> list[list[int]]:
    """Return v_i of each row; what is not known is not broken."""
    return [[int(bool(rule(row))) for rule in rules] for row in rows]


def by_owner(rows: Sequence[Row], rules: Sequence[Broken], owner: str, *, any_row: bool) -> dict[str, list[int]]:
    """Return v_i of each owner, by its text."""
    found: dict[str, list[int]] = {}
    for row, told in zip(rows, by_row(rows, rules), strict=True):
        if row[owner] is not None:
            mine = found.setdefault(str(row[owner]), [0] * len(rules))
            found[str(row[owner])] = [max(pair) if any_row else sum(pair) for pair in zip(mine, told, strict=True)]
    return found


def by_sum(units: Sequence[Sequence[int]]) -> tuple[dict[int, int], list[dict[int, int]]]:
    """Return by A >= 1 the sum of max_i v_i, and for each rule the sum of v_i where it is not 0."""
    tops: dict[int, int] = {}
    counts: list[dict[int, int]] = [{} for _ in (units[0] if units else ())]
    for told in units:
        a = sum(told)
        if a:
            tops[a] = tops.get(a, 0) + max(told)
            for count, v in zip(counts, told, strict=True):
                if v:
                    count[a] = count.get(a, 0) + v
    return tops, counts
