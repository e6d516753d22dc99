"""A limit may be a share of the rows that the rule's WHERE selects."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product

import pyarrow as pa
import pytest
from inside import true_numbers

from dpdb.errors import ConstraintSyntaxError
from dpdb.suites import Session, load_suite, prepare_check
from dpdb.suites.counted import CountedSuite

LINE = "CHECK (v >= 3) WHERE c = 1 AND v IS NOT NULL"
SUITE = f"{LINE}  warn above 10% of selected, fail above 50% of selected"
SCHEMA = pa.schema([("c", pa.int64()), ("v", pa.int64())])


def test_the_rows_that_the_rule_selects_are_read_from_its_where() -> None:
    line = load_suite(SUITE).lines[0]
    assert line.where == "c = 1 AND v IS NOT NULL"
    assert [limit.written(line.statistic) for limit in line.limits] == [
        "warn above 10% of selected",
        "fail above 50% of selected",
    ]
    assert load_suite(f"{LINE}  fail above 10%").lines[0].where is None
    dated = load_suite("CHECK (v > 0) WHERE d < {date}  fail above 1% of selected", date="2026-11-23")
    assert dated.lines[0].where == "d < DATE '2026-11-23'"
    for text in ("CHECK (v >= 3)  fail above 1% of selected", "row_count WHERE v = 1  fail above 1% of selected"):
        with pytest.raises(ConstraintSyntaxError):
            load_suite(text)


def _counted(rows: list[tuple[int | None, int | None]]) -> tuple[CountedSuite, list[tuple[Fraction, int]]]:
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], []]
    table = pa.table(dict(zip(SCHEMA.names, columns, strict=True)), schema=SCHEMA)
    with Session(table, constraints=[LINE]) as session:
        counted = prepare_check(session, SUITE).counted
        return counted, counted.counts(true_numbers(session), None)


@pytest.mark.slow
def test_one_row_changes_the_statistic_within_its_bounds_all_tables() -> None:
    _one_row_changes(3)


@pytest.mark.heavy(family="privacy")
def test_one_row_changes_the_statistic_within_its_bounds() -> None:
    _one_row_changes(1)


def _one_row_changes(most: int) -> None:
    """Compare all tables of some rows with those of one row more, through the real counts, on f - p n."""
    cells = [*product((None, 0, 1), (None, 2, 3))]
    seen: set[Fraction] = set()
    for size in range(most):
        for rows in combinations_with_replacement(cells, size):
            counted, before = _counted([*rows])
            for cell in cells:
                _, after = _counted([*rows, cell])
                for each, (f, n), (g, m) in zip(counted.limits, before, after, strict=True):
                    change = (g - each.limit.amount * m) - (f - each.limit.amount * n)
                    assert each.tested.low <= change <= each.tested.high
                    seen.add(change)
    assert min(seen) == -Fraction(1, 2)
    assert max(seen) == Fraction(9, 10)
