"""What one sort counts: as many rows to delete as by brute force, written apart; one more row changes it by 0 or 1."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from case_share import fifth
from test_engine_exact_statistic import Conflict, Row, Shape, counted, eq, fewest, opened

from dpdb.engine import RuleStatistic, SortedForm, Table
from dpdb.opening import open_table


def lt(one: Any, other: Any) -> bool:
    return one is not None and other is not None and one < other


def le(one: Any, other: Any) -> bool:
    return one is not None and other is not None and one <= other


def order(first: Callable[[Any, Any], bool], second: Callable[[Any, Any], bool], *, same_way: bool) -> Conflict:
    """Compare q with p in a, and in b p with q, or q with p if both must not rise."""
    return lambda p, q: first(q[0], p[0]) and (second(q[1], p[1]) if same_way else second(p[1], q[1]))


def crossed(above: Callable[[Any, Any], bool]) -> Conflict:
    return lambda p, q: above(q[1], p[0])


def overlapping(before: Callable[[Any, Any], bool]) -> Conflict:
    return lambda p, q: before(p[0], q[1]) and before(q[0], p[1])


def is_reversed(row: Row) -> bool:
    """Of intervals that can be in conflict at all."""
    return lt(row[1], row[0])


def among(conflict: Conflict, share: Conflict) -> Conflict:
    return lambda p, q: conflict(p, q) and share(p, q)


def in_group(p: Row, q: Row) -> bool:
    return eq(p[2], q[2])


def on_some_rows(p: Row, q: Row) -> bool:
    return p[2] == q[2] == 1


ORDERS = {
    "not(t1.a > t2.a & t1.b < t2.b": order(lt, lt, same_way=False),
    "not(t2.a <= t1.a & t1.b < t2.b": order(le, lt, same_way=False),
    "not(t2.b > t1.b & t2.a < t1.a": order(lt, lt, same_way=False),
    "not(t1.a < t2.a & t2.b <= t1.b": order(lt, le, same_way=False),
    "not(t1.b >= t2.b & t1.a <= t2.a": order(le, le, same_way=False),
    "not(t1.a < t2.a & t1.b < t2.b": order(lt, lt, same_way=True),
    "not(t2.a >= t1.a & t1.b < t2.b": order(le, lt, same_way=True),
    "not(t2.b >= t1.b & t2.a > t1.a": order(lt, le, same_way=True),
    "not(t1.a >= t2.a & t2.b <= t1.b": order(le, le, same_way=True),
}
CROSSES = {"not(t1.a > t2.b": crossed(lt), "not(t1.b < t2.a": crossed(lt), "not(t2.b <= t1.a": crossed(le)}
INTERVALS = {"not(t1.a < t2.b & t2.a < t1.b": overlapping(lt), "not(t2.b >= t1.a & t1.b >= t2.a": overlapping(le)}


def shapes(rules: dict[str, Conflict]) -> list[Shape]:
    """Each rule for all rows, within groups, and for some rows."""
    made = []
    for rule, conflict in rules.items():
        made.append(Shape(f"{rule})", (f"{rule})",), 2, conflict))
        made.append(Shape(f"{rule}, equal c)", (f"{rule} & t1.c = t2.c)",), 3, among(conflict, in_group)))
        some = f"{rule} & t1.c = 1 & t2.c = 1)"
        made.append(Shape(f"{rule}, some)", (some,), 3, among(conflict, on_some_rows)))
    return made


SHAPES = [*shapes(ORDERS), *shapes(CROSSES), *shapes(INTERVALS)]
BESIDE = Shape(
    "beside rows alone",
    ("not(t1.a > t2.a & t1.b < t2.b)", "CHECK (b < 3)", "NOT NULL(a)"),
    2,
    order(lt, lt, same_way=False),
    lambda row: row[0] is None or le(3, row[1]),
)


def reads(shape: Shape, row: Row) -> bool:
    """Whether the rule reads a row."""
    return shape.columns == 2 or (row[2] is not None if "equal c" in shape.name else row[2] == 1)


def with_reversed(shape: Shape, rows: Sequence[Row]) -> int:
    """The fewest rows to delete, reversed intervals among them."""
    return fewest(rows, shape.conflict, lambda row: is_reversed(row) and reads(shape, row))


def random_rows(shape: Shape, draw: random.Random) -> list[Row]:
    values = draw.choice([(0, 1, None), (0, 1, 2, 3, None), (0, 1, 2, 3, 4, 5, 6, 7)])
    rows = draw.randint(0, draw.choice([3, 7, 9]))
    return [(*draw.choices(values, k=2), *draw.choices((1, 1, 2, None), k=shape.columns - 2)) for _ in range(rows)]


def statistics(table: Table) -> list[RuleStatistic]:
    """As `repair` and as checks count."""
    found = [table.exact_statistic(table.constraints, reversed_go=go) for go in (False, True)]
    assert all(each is not None and isinstance(each.form, SortedForm) for each in found)
    return [each for each in found if each is not None]


def compare(folder: Path, shape: Shape, count: int) -> None:
    draw = random.Random(f"{shape}")
    tables = [random_rows(shape, draw) for _ in range(count)]
    with opened(folder, shape, tables) as table:
        asked = statistics(table)
        intervals = "reversed" in asked[1].estimand
        assert intervals == (shape.rules[0].split(" & t1.c")[0].rstrip(")") in INTERVALS)
        for rows, found in zip(tables, counted(table, asked, range(count)), strict=True):
            cover = fewest(rows, shape.conflict, shape.alone)
            assert found == [cover, with_reversed(shape, rows) if intervals else cover], rows


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("shape", [*fifth(SHAPES), BESIDE], ids=str)
def test_the_fewest_rows_to_delete_are_found(shape: Shape, tmp_path: Path) -> None:
    compare(tmp_path, shape, 25)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [*SHAPES, BESIDE], ids=str)
def test_the_fewest_rows_to_delete_of_ten_thousand_tables_are_found(shape: Shape, tmp_path: Path) -> None:
    """As groups of one table, of which some are asked at once."""
    draw, some = random.Random(f"{shape} slow"), 50
    tables = [random_rows(shape, draw) for _ in range(10_000)]
    first, *others = shape.rules
    with opened(tmp_path, shape, tables, [f"{first[:-1]} & t1.number = t2.number)", *others]) as table:
        asked = statistics(table)
        for start in range(0, len(tables), some):
            here = tables[start : start + some]
            cover = sum(fewest(rows, shape.conflict, shape.alone) for rows in here)
            going = sum(with_reversed(shape, rows) for rows in here)
            found = table.count_all(table.where(f"number >= {start} AND number < {start + some}"), asked)
            assert found == [cover, going if "reversed" in asked[1].estimand else cover], start


def changes(folder: Path, shape: Shape, values: Sequence[int | None], most: int) -> list[set[int]]:
    """How the statistics change by one more row: all tables of up to so many rows, and all rows."""
    kinds = list(itertools.product(values, repeat=shape.columns))
    tables = [rows for size in range(most + 1) for rows in itertools.combinations_with_replacement(kinds, size)]
    with opened(folder, shape, tables) as table:
        asked = statistics(table)
        known = dict(zip(tables, counted(table, asked, range(len(tables))), strict=True))
    found: list[set[int]] = [set(), set()]
    for rows, larger in known.items():
        for left in range(len(rows)):
            smaller = known[rows[:left] + rows[left + 1 :]]
            for seen, one, other in zip(found, larger, smaller, strict=True):
                seen.add(one - other)
    return found


@pytest.mark.heavy
@pytest.mark.parametrize("shape", fifth([shape for shape in SHAPES if shape.columns == 2]), ids=str)
def test_one_more_row_changes_them_by_0_or_1(shape: Shape, tmp_path: Path) -> None:
    """On all tables of up to 2 rows of these values."""
    assert changes(tmp_path, shape, (0, 1, None), 2) == [{0, 1}, {0, 1}]


@pytest.mark.slow
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape.columns == 2], ids=str)
def test_one_more_row_changes_them_by_0_or_1_on_larger_tables(shape: Shape, tmp_path: Path) -> None:
    assert changes(tmp_path, shape, (0, 1, 2, None), 4) == [{0, 1}, {0, 1}]


NAN, INFINITY = math.nan, math.inf
TYPES: dict[str, tuple[pa.DataType, list[Any]]] = {  # in ascending order
    "bool": (pa.bool_(), [False, True]),
    "int8": (pa.int8(), [-128, -1, 0, 127]),
    "uint32": (pa.uint32(), [0, 1, 2**32 - 1]),
    "int64": (pa.int64(), [-(2**63), -1, 0, 1, 2**63 - 1]),
    "uint64": (pa.uint64(), [0, 2**63 - 1, 2**63, 2**64 - 1]),
    "float": (pa.float32(), [-INFINITY, -1.5, 0.0, 1e-30, INFINITY, NAN]),
    "double": (pa.float64(), [-INFINITY, -1e300, -1e-300, 0.0, 1e-300, 2.0, INFINITY, NAN]),
    "decimal": (pa.decimal128(12, 2), [Decimal("-1.25"), Decimal("0.00"), Decimal("1.25")]),
    "wide decimal": (pa.decimal128(38, 0), [Decimal(-(10**37)), Decimal(0), Decimal(10**37)]),
    "text": (pa.string(), ["", "B", "a", "ab", "Ω", "\U0001f600"]),
    "bytes": (pa.binary(), [b"", b"\x00", b"a", b"\xff"]),
    "date": (pa.date32(), [date(1, 1, 1), date(1969, 12, 31), date(1970, 1, 1), date(9999, 12, 31)]),
    "time": (pa.time64("us"), [time(0), time(12, 0, 0, 1), time(23, 59)]),
    "seconds": (pa.timestamp("s"), [datetime(1969, 1, 1), datetime(2024, 1, 1)]),
    "microseconds": (pa.timestamp("us"), [datetime(1969, 1, 1), datetime(2024, 1, 1), datetime(2024, 1, 1, 0, 0, 1)]),
    "nanoseconds": (pa.timestamp("ns"), [datetime(1969, 1, 1), datetime(2024, 1, 1)]),
    "zoned": (pa.timestamp("us", "UTC"), [datetime(1969, 1, 1), datetime(2024, 1, 1)]),
    "interval": (pa.duration("us"), [timedelta(0), timedelta(days=1), timedelta(days=40)]),
}
RULES = (
    "not(t1.a > t2.a & t1.b < t2.b)",
    "not(t1.a <= t2.a & t1.b <= t2.b & t1.c = t2.c)",
    "not(t1.a > t2.b & t1.c = t2.c)",
    "not(t1.a <= t2.b & t2.a <= t1.b & t1.c = t2.c)",
)
CONFLICTS = (
    order(lt, lt, same_way=False),
    among(order(le, le, same_way=True), in_group),
    among(crossed(lt), in_group),
    among(overlapping(le), in_group),
)


@pytest.mark.heavy
@pytest.mark.parametrize("name", TYPES)
def test_every_type_is_sorted_as_it_is_compared(name: str) -> None:
    """Brute force over the places of the values; groups of that type, too. -0.0 is 0.0."""
    kind, values = TYPES[name]
    draw = random.Random(name)
    places = [tuple(draw.choice([*range(len(values)), None]) for _ in "abc") for _ in range(9)]

    def value(place: int | None) -> Any:
        found = None if place is None else values[place]
        return -0.0 if found == 0.0 and isinstance(found, float) and draw.random() < 0.5 else found

    columns = {name: pa.array([value(row[k]) for row in places], kind) for k, name in enumerate("abc")}
    with open_table(pa.table(columns), constraints=list(RULES)) as table:
        for bound, rule, conflict in zip(table.constraints, RULES, CONFLICTS, strict=True):
            asked = table.exact_statistic([bound], reversed_go=False)
            assert asked is not None, rule
            assert table.count_all(None, [asked]) == [fewest(places, conflict)], rule


def test_columns_of_two_types_are_compared_in_their_common_type() -> None:
    """A text that is no date, and the like: of two columns that compare no value may be lost without its row."""
    columns = {
        "a": pa.array([1, 2, 2**53 + 1, None, 5], pa.int64()),
        "b": pa.array([0.5, NAN, 2.0**53, 3.0, None], pa.float64()),
    }
    places = [(1, 0.5), (2, INFINITY), (2.0**53, 2.0**53), (None, 3.0), (5, None)]
    with open_table(pa.table(columns), constraints=["not(t1.a > t2.b)", "not(t1.a < t2.b & t2.a < t1.b)"]) as table:
        for bound, conflict in zip(table.constraints, (crossed(lt), overlapping(lt)), strict=True):
            asked = table.exact_statistic([bound], reversed_go=False)
            assert asked is not None
            assert table.count_all(None, [asked]) == [fewest(places, conflict)]


@pytest.mark.heavy
@pytest.mark.parametrize("batch", [1, 3])
def test_batches_may_end_anywhere(batch: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Within a group, between a row's ends, and after a group of many rows."""
    monkeypatch.setattr("dpdb.database.database.BATCH_ROWS", batch)
    for shape in fifth(SHAPES[1::3]):
        draw = random.Random(str(shape))
        rows = [(draw.randrange(14), draw.randrange(14), draw.choice((1, 2))) for _ in range(14)]
        (tmp_path / str(SHAPES.index(shape))).mkdir()
        with opened(tmp_path / str(SHAPES.index(shape)), shape, [rows]) as table:
            asked = statistics(table)
            assert table.count_all(None, asked)[0] == fewest(rows, shape.conflict)
