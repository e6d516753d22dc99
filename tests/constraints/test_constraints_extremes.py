"""`min(x) >= a` and `max(x) <= b` as rules: every row's, broken by as many rows as lie beyond."""

from __future__ import annotations

from itertools import combinations_with_replacement

import pyarrow as pa
import pytest

from dpdb.constraints import parse_constraint
from dpdb.errors import ConstraintSyntaxError
from dpdb.owner import exact_measures

WRITTEN = {
    "min(x) >= 2": "x >= 2",
    "2 < MIN(x)": "x > 2",
    "max(x) <= 5 AND min(x) > 1": "x <= 5 AND x > 1",
    "age: max(x + 1) < 9 WHERE y > 3": "age: x + 1 < 9 WHERE y > 3",
    "min(length(name)) >= 3 and y = 1": "length(name) >= 3 and y = 1",
    "max(day) <= DATE '2026-01-31'": "day <= DATE '2026-01-31'",
}


@pytest.mark.parametrize("text", WRITTEN)
def test_an_extreme_is_of_every_row(text: str) -> None:
    [one], [other] = parse_constraint(text), parse_constraint(WRITTEN[text])
    assert one.canonical() == other.canonical()


@pytest.mark.parametrize(
    "text", ["min(x) <= 2", "max(x) >= 2", "min(x) = 2", "min(x) >= y", "min(x) >= 1 OR y > 2", "max(x) < min(y)",
             "NOT min(x) >= 2", "min(x, 2) >= 1", "min(x) BETWEEN 1 AND 2"]
)  # fmt: skip
def test_what_is_about_the_table_as_a_whole_is_refused(text: str) -> None:
    with pytest.raises(ConstraintSyntaxError, match="min"):
        parse_constraint(text)


@pytest.mark.heavy(family="privacy")
def test_one_row_changes_the_count_by_at_most_one() -> None:
    """All tables of up to two rows of four values: the rule holds where the least value does, NULL aside."""
    values, counts = [None, 1, 2, 3], {}
    for size in range(3):
        for rows in combinations_with_replacement(values, size):
            table = pa.table({"x": pa.array(rows, pa.int64())})
            counts[rows] = exact_measures(table, ["min(x) >= 2"], non_private=True).self_conflicts
            known = [row for row in rows if row is not None]
            assert (counts[rows] == 0) is (not known or min(known) >= 2)
            assert counts[rows] == sum(row < 2 for row in known)
            assert all(counts[rows] - counts[(*rows[:k], *rows[k + 1 :])] in (0, 1) for k in range(size))
