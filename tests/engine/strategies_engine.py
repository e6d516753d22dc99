"""Random tables (few values, so that rows repeat and collide) and random constraints over them."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from helpers_engine import NUMBERS, TIMES, Table, comparable, float32
from hypothesis import strategies as st

from dpdb.constraints import ColumnRef, Constant, DenialConstraint, Operator, Predicate

NOON = datetime(2020, 1, 1, 12)
VALUES: dict[str, list[Any]] = {
    "BIGINT": [0, 1, 2, -1, 2**53, 2**53 + 1, -(2**63), 2**63 - 1],
    "SMALLINT": [0, 1, 2, -1, 32767],
    "DOUBLE": [0.0, -0.0, 1.0, 2.5, 0.1, math.nan, math.inf, -math.inf, 2.0**53],
    "FLOAT": [0.0, -0.0, 1.0, 2.5, float32(0.1), math.nan, math.inf],
    "DECIMAL(6,2)": [Decimal("0.00"), Decimal("1.00"), Decimal("2.50"), Decimal("0.10"), Decimal("-1.00")],
    "VARCHAR": ["", "a", "B", "b", "é", "e\u0301", "10", "9", "a ", "\U0001f600", "\uffff", "it's"],
    "DATE": [date(2020, 1, 1), date(2020, 1, 2), date(1969, 12, 31)],
    "TIMESTAMP": [datetime(2020, 1, 1), NOON, datetime(2020, 1, 2)],
    "BOOLEAN": [True, False],
}
NUMBER_CONSTANTS = [0, 1, 2, -1, Decimal("2.5"), Decimal("0.1"), 40_000, 10**20, Decimal("-0.001"), "1", "2.50"]
TEXT_CONSTANTS = ["", "a", "b", "10", "é", "it's", "9", "\U0001f600"]
TIME_CONSTANTS = ["2020-01-01", "2020-01-02", "2020-01-01 12:00:00", "1969-12-31"]


def constants(kind: str) -> list[Any]:
    if kind in NUMBERS:
        return NUMBER_CONSTANTS
    if kind in TIMES:
        return TIME_CONSTANTS
    return [True, False] if kind == "BOOLEAN" else TEXT_CONSTANTS


@st.composite
def tables(draw: st.DrawFn, kinds: list[str] | None = None, row_bound: int = 12) -> Table:
    """2 to 4 columns, 0 to `row_bound` rows from two to four values per column and NULL."""
    chosen = kinds or draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=2, max_size=4))
    pools = [[*draw(st.lists(st.sampled_from(VALUES[k]), min_size=2, max_size=4)), None] for k in chosen]
    row = st.tuples(*(st.sampled_from(pool) for pool in pools))
    rows = draw(st.lists(row, max_size=row_bound))
    repeated = draw(st.lists(st.sampled_from(rows), max_size=row_bound - len(rows))) if rows else []
    return Table(dict(zip("abcd", chosen, strict=False)), rows + repeated)


@st.composite
def predicates(draw: st.DrawFn, types: dict[str, str]) -> Predicate:
    left = ColumnRef(draw(st.integers(0, 1)), draw(st.sampled_from(sorted(types))))
    op = draw(st.sampled_from(list(Operator)))
    shape = draw(st.sampled_from(["same", "same", "same", "any", "constant"]))
    if shape == "same":
        return Predicate(left, op, left.swapped())
    if shape == "constant":
        return Predicate(left, op, Constant(draw(st.sampled_from(constants(types[left.column])))))
    others = [name for name in types if comparable(types[name], types[left.column])]
    return Predicate(left, op, ColumnRef(draw(st.integers(0, 1)), draw(st.sampled_from(others))))


@st.composite
def questions(
    draw: st.DrawFn, kinds: list[str] | None = None, row_bound: int = 12
) -> tuple[Table, list[DenialConstraint]]:
    table = draw(tables(kinds, row_bound))
    dc = st.lists(predicates(table.types), min_size=1, max_size=3).map(lambda parts: DenialConstraint(tuple(parts)))
    return table, draw(st.lists(dc, min_size=1, max_size=4))
