"""Exact statistics of rules: the fewest rows to delete by brute force, written apart, on small tables."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from case_share import fifth
from sqlglot import exp

from dpdb.engine import GroupForm, RuleStatistic, StatisticKind, SteppedForm, Table, exact_statistic
from dpdb.engine.sql.rule_counts import group_count, stepped_count
from dpdb.opening import declared_table, open_table

Row = tuple[Any, ...]
Conflict = Callable[[Row, Row], bool]
NAMES = "abcd"


def eq(one: Any, other: Any) -> bool:
    return one is not None and one == other


def ne(one: Any, other: Any) -> bool:
    return one is not None and other is not None and one != other


def fewest(rows: Sequence[Row], conflict: Conflict, alone: Callable[[Row], bool] = lambda _: False) -> int:
    """Rows that are in conflict with themselves, and a minimum vertex cover of the others by branching."""
    kept = [row for row in rows if not alone(row)]
    meets = [0] * len(kept)
    for i, j in itertools.combinations(range(len(kept)), 2):
        if conflict(kept[i], kept[j]) or conflict(kept[j], kept[i]):
            meets[i] |= 1 << j
            meets[j] |= 1 << i

    def stay(left: int) -> int:
        if not left:
            return 0
        last = left.bit_length() - 1
        without = left & ~(1 << last)
        with_it = 1 + stay(without & ~meets[last])
        return with_it if not meets[last] & left else max(stay(without), with_it)

    return len(rows) - stay((1 << len(kept)) - 1)


@dataclass(frozen=True)
class Shape:
    """Rules over columns a, b, c, d, and when two rows violate one of them, in one of their orders."""

    name: str
    rules: tuple[str, ...]
    columns: int
    conflict: Conflict
    alone: Callable[[Row], bool] = lambda _: False
    never_null: str = ""

    def __str__(self) -> str:
        return self.name


def fd(left: Sequence[int], *right: int) -> Conflict:
    return lambda p, q: all(eq(p[k], q[k]) for k in left) and any(ne(p[k], q[k]) for k in right)


def key(*columns: int) -> Conflict:
    return lambda p, q: all(eq(p[k], q[k]) for k in columns)


def both(*conflicts: Conflict) -> Conflict:
    return lambda p, q: any(conflict(p, q) for conflict in conflicts)


SHAPES = [
    Shape("fd", ("a -> b",), 2, fd([0], 1)),
    Shape("constant", ("not(t1.b != t2.b)",), 2, fd([], 1)),
    Shape("fd of two columns", ("a, b -> c",), 3, fd([0, 1], 2)),
    Shape("fd on some rows", ("a -> b WHERE c = 1",), 3, lambda p, q: p[2] == q[2] == 1 and fd([0], 1)(p, q)),
    Shape(
        "fd of one row", ("not(t1.c = 1 & t1.a = t2.a & t1.b != t2.b)",), 3, lambda p, q: p[2] == 1 and fd([0], 1)(p, q)
    ),
    Shape(
        "fd of either row",
        ("not(t1.c = 1 & t2.c > 0 & t2.d < 2 & t1.a = t2.a & t1.b != t2.b)",),
        4,
        lambda p, q: p[2] == 1 and q[2] in (1, 2) and q[3] in (0, 1) and fd([0], 1)(p, q),
    ),
    Shape(
        "not together",
        ("not(t1.c = 1 & t2.b = 1 & t1.a = t2.a)",),
        3,
        lambda p, q: p[2] == 1 and q[1] == 1 and eq(p[0], q[0]),
    ),
    Shape("not together at all", ("not(t1.c = 1 & t2.b = 1)",), 3, lambda p, q: p[2] == 1 and q[1] == 1),
    Shape("unique", ("UNIQUE(a, b)",), 2, key(0, 1)),
    Shape("unique on some rows", ("UNIQUE(a) WHERE b = 1",), 2, lambda p, q: p[1] == q[1] == 1 and eq(p[0], q[0])),
    Shape("one row", ("not(t1.b <= t2.b)",), 2, lambda p, q: None not in (p[1], q[1]) and p[1] <= q[1]),
    Shape(
        "primary key",
        ("PRIMARY KEY(a, b)", "NOT NULL(a, b)"),
        2,
        key(0, 1),
        lambda row: None in row,
    ),
    Shape("two right-hand columns", ("a -> b, c",), 3, fd([0], 1, 2)),
    Shape("two and a declared one", ("a -> b, c, d",), 4, fd([0], 1, 2, 3), never_null="d"),
    Shape("one and a declared one", ("a -> b, c",), 3, fd([0], 1, 2), never_null="c"),
    Shape("two on some rows", ("a -> b, c WHERE d = 1",), 4, lambda p, q: p[3] == q[3] == 1 and fd([0], 1, 2)(p, q)),
    Shape("chain", ("a -> b", "a, b -> c"), 3, both(fd([0], 1), fd([0, 1], 2))),
    Shape("chain of two", ("a -> b", "a, b -> c, d"), 4, both(fd([0], 1), fd([0, 1], 2, 3))),
    Shape("key and fd", ("UNIQUE(a)", "a -> b", "a, b -> c"), 3, both(key(0), fd([0], 1), fd([0, 1], 2))),
    Shape(
        "rows alone and fd",
        ("CHECK (c < 2)", "NOT NULL(b)", "a -> b, c"),
        3,
        fd([0], 1, 2),
        lambda row: row[1] is None or row[2] == 2,
    ),
    Shape("either way", ("a -> b", "b -> a"), 2, both(fd([0], 1), fd([1], 0))),
    Shape("either way in groups", ("a, c -> b", "b, c -> a"), 3, both(fd([0, 2], 1), fd([1, 2], 0))),
    Shape(
        "either way on some rows",
        ("a -> b WHERE c = 1", "b -> a WHERE c = 1"),
        3,
        lambda p, q: p[2] == q[2] == 1 and both(fd([0], 1), fd([1], 0))(p, q),
    ),
    Shape(
        "two columns and one, either way",
        ("a, b -> c", "c -> a, b"),
        3,
        both(fd([0, 1], 2), fd([2], 0, 1)),
        never_null="ab",
    ),
    Shape(
        "either way by a third",
        ("a -> c", "a, c -> b", "b -> a"),
        3,
        both(fd([0], 2), fd([0, 2], 1), fd([1], 0)),
        never_null="abc",
    ),
    Shape(
        "either way and more",
        ("a -> b", "b -> a", "a -> c", "b, c -> d"),
        4,
        both(fd([0], 1), fd([1], 0, 2), fd([0], 2), fd([1, 2], 3)),
        never_null="ab",
    ),
    Shape(
        "either way, both and more", ("a -> b", "b -> a", "a, b -> c"), 3, both(fd([0], 1), fd([1], 0), fd([0, 1], 2))
    ),
    Shape(
        "either way and a key",
        ("a -> b", "b -> a", "UNIQUE(a, c)"),
        3,
        both(fd([0], 1), fd([1], 0), key(0, 2)),
        never_null="ab",
    ),
    Shape("two keys", ("UNIQUE(a)", "UNIQUE(b)"), 2, both(key(0), key(1))),
    Shape("two keys that share a column", ("UNIQUE(a, c)", "UNIQUE(b, c)"), 3, both(key(0, 2), key(1, 2))),
    Shape(
        "two keys and what they determine",
        ("UNIQUE(a)", "UNIQUE(b, c)", "a -> d", "b, c -> d"),
        4,
        both(key(0), key(1, 2)),
    ),
    Shape("fd and one of more columns", ("a -> b", "a, c -> d"), 4, both(fd([0], 1), fd([0, 2], 3))),
    Shape("constant and fd", ("[] -> b", "c -> d"), 4, both(fd([], 1), fd([2], 3))),
    Shape("fd and one of more, declared", ("a -> b", "a, c -> d"), 4, both(fd([0], 1), fd([0, 2], 3)), never_null="b"),
    Shape("fd and one of the same and more", ("a -> b", "a, b, c -> d"), 4, both(fd([0], 1), fd([0, 1, 2], 3))),
    Shape("fd and a key of more columns", ("a -> b", "UNIQUE(a, c)"), 3, both(fd([0], 1), key(0, 2))),
    Shape(
        "fd, and two of more, declared",
        ("a -> b", "a, c -> d", "a, c -> b"),
        4,
        both(fd([0], 1), fd([0, 2], 3, 1)),
        never_null="bd",
    ),
    Shape("long chain", ("a -> b", "a, b -> c", "a, b, c -> d"), 4, both(fd([0], 1), fd([0, 1], 2), fd([0, 1, 2], 3))),
    Shape(
        "fd of more columns and rows alone",
        ("a -> b", "a, c -> d", "NOT NULL(b)"),
        4,
        both(fd([0], 1), fd([0, 2], 3)),
        lambda row: row[1] is None,
    ),
    Shape("rows alone", ("CHECK (b < 2)", "NOT NULL(a)"), 2, lambda p, q: False, lambda r: r[0] is None or r[1] == 2),
]


SHAPES_BY_NAME = {shape.name: shape for shape in SHAPES}


def rows_of(shape: Shape, rng: random.Random) -> list[Row]:
    """A table of up to nine rows of few values, so that rows meet."""
    values = rng.choice([(0, 1, None), (0, 1, 2, None)])
    free = [NAMES[k] not in shape.never_null for k in range(shape.columns)]
    most = rng.choice([3, 7, 9])
    return [tuple(rng.choice(values if may else values[:-1]) for may in free) for _ in range(rng.randint(0, most))]


@contextmanager
def opened(
    folder: Path, shape: Shape, tables: Sequence[Sequence[Row]], rules: Sequence[str] | None = None
) -> Iterator[Table]:
    """Many tables in one, told apart by a column, whose declarations are those of the shape."""
    flat = [(number, *row) for number, rows in enumerate(tables) for row in rows]
    names = ["number", *NAMES[: shape.columns]]
    columns = zip(*flat, strict=True) if flat else [()] * len(names)
    made = pa.table({name: pa.array(column, pa.int32()) for name, column in zip(names, columns, strict=True)})
    with duckdb.connect(folder / "small.duckdb") as connection:
        kinds = [f"{name} INTEGER{' NOT NULL' * (name in shape.never_null)}" for name in names]
        connection.execute(f"CREATE TABLE small ({', '.join(kinds)})")
        connection.register("made", made)
        connection.execute("INSERT INTO small SELECT * FROM made")
    with open_table(folder / "small.duckdb", constraints=list(rules or shape.rules), table="small") as table:
        yield table


def counted(table: Table, asked: Sequence[RuleStatistic], numbers: Sequence[int]) -> list[list[int]]:
    return [table.count_all(table.where(f"number = {number}"), asked) for number in numbers]


def statistic_of(table: Table, kind: StatisticKind = "violations") -> RuleStatistic:
    found = exact_statistic(table.constraints, table.schema, kind)
    assert found is not None
    return found


def found_in(folder: Path, shape: Shape, count: int) -> None:
    rng = random.Random(f"{shape}")
    tables = [rows_of(shape, rng) for _ in range(count)]
    with opened(folder, shape, tables) as table:
        found = counted(table, [statistic_of(table)], range(count))
        assert [one for [one] in found] == [fewest(rows, shape.conflict, shape.alone) for rows in tables]


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("shape", fifth(SHAPES), ids=str)
def test_the_fewest_rows_to_delete_are_found(shape: Shape, tmp_path: Path) -> None:
    """Values and NULL, conditions, slices: through parser, binding and SQL."""
    found_in(tmp_path, shape, 30)


def in_each_table(rule: str) -> str:
    """The same rule for pairs of rows of one table."""
    if rule.startswith("not("):
        return f"{rule[:-1]} & t1.number = t2.number)"
    if rule.startswith(("UNIQUE(", "PRIMARY KEY(")):
        return rule.replace("(", "(number, ", 1)
    left = rule.split(" ->", maxsplit=1)[0]
    return rule.replace(left, "number" if left == "[]" else f"number, {left}", 1) if "->" in rule else rule


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_fewest_rows_to_delete_of_ten_thousand_tables_are_found(shape: Shape, tmp_path: Path) -> None:
    """As groups of one table, of which some are asked at once."""
    rng, some = random.Random(f"{shape} slow"), 20
    tables = [rows_of(shape, rng) for _ in range(10_000)]
    with opened(tmp_path, shape, tables, list(map(in_each_table, shape.rules))) as table:
        statistic = statistic_of(table)
        for start in range(0, len(tables), some):
            covers = sum(fewest(rows, shape.conflict, shape.alone) for rows in tables[start : start + some])
            [found] = table.count_all(table.where(f"number >= {start} AND number < {start + some}"), [statistic])
            assert found == covers, start


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["duplicate values", "rows in duplicates"])
def test_duplicates_of_a_key_are_counted(kind: StatisticKind, tmp_path: Path) -> None:
    """A value is a row's columns together, none of them NULL, among the rows that meet the condition."""
    shape, rng = SHAPES_BY_NAME["unique on some rows"], random.Random(5)
    tables = [rows_of(shape, rng) for _ in range(40)]
    with opened(tmp_path, shape, tables) as table:
        found = counted(table, [statistic_of(table, kind), statistic_of(table)], range(len(tables)))
    for rows, (duplicates, fewest_rows) in zip(tables, found, strict=True):
        times = Counter(row[0] for row in rows if row[1] == 1 and row[0] is not None)
        several = [count for count in times.values() if count > 1]
        assert duplicates == (len(several) if kind == "duplicate values" else sum(several))
        assert fewest_rows == sum(count - 1 for count in several)


SMALL: dict[str, tuple[Sequence[Any], ...]] = {  # values of each column
    "fd": ([0, None], [0, 1, None]),
    "unique on some rows": ([0, 1, None], [1, 0]),
    "fd of one row": ([0], [0, 1, None], [0, 1]),
    "two right-hand columns": ([0], [0, 1, None], [0, None]),
    "chain": ([0], [0, 1, None], [0, 1]),
    "primary key": ([0, None], [0, 1]),
    "either way": ([0, 1, None], [0, 1]),
    "two keys": ([0, 1, None], [0, 1, None]),
    "fd and one of more columns": ([0], [0, 1, None], [0], [0, 1]),
    "fd and a key of more columns": ([0], [0, 1, None], [0, 1]),
}


@pytest.mark.heavy
@pytest.mark.parametrize("most", [3, pytest.param(5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", fifth(list(SMALL)))
def test_one_row_changes_a_statistic_within_its_bounds_in_every_small_table(
    name: str, most: int, tmp_path: Path
) -> None:
    """Every multiset of rows and each of its rows removed, through SQL; both ends are attained."""
    shape = SHAPES_BY_NAME[name]
    kinds: list[StatisticKind] = ["violations"]
    if name == "unique on some rows":
        kinds += ["duplicate values", "rows in duplicates"]
    every = list(itertools.product(*SMALL[name]))
    tables = [rows for size in range(most + 1) for rows in itertools.combinations_with_replacement(every, size)]
    with opened(tmp_path, shape, tables) as table:
        asked = [statistic_of(table, kind) for kind in kinds]
        found = dict(zip(tables, counted(table, asked, range(len(tables))), strict=True))
    for place, statistic in enumerate(asked):
        changes = {
            found[rows][place] - found[rows[:gone] + rows[gone + 1 :]][place]
            for rows in tables
            for gone in range(len(rows))
        }
        assert {min(changes), max(changes)} == {statistic.low, statistic.high}


NO_CLOSED_FORM = [
    ["not(t1.a < t2.a & t1.b > t2.b & t1.c < t2.c)"],
    ["not(t1.a < t2.a & t1.b > t2.b)", "not(t1.c < t2.c & t1.d > t2.d)"],
    ["not(t1.a < t2.a & t1.b > t2.b)", "a -> b"],
    ["a -> b", "b -> a", "a -> c"],
    ["a -> b", "b -> c"],
    ["a -> b", "c -> d"],
    ["a -> b, c, d"],
    ["a, b -> c", "c -> a, b"],
    ["a -> b", "a, c -> d", "a, b -> c"],
    ["[] -> c", "a -> b", "b -> a"],
    ["UNIQUE(a)", "UNIQUE(b)", "UNIQUE(c)"],
    ["UNIQUE(a)", "UNIQUE(b)", "c -> d"],
    ["a -> b WHERE c = 1", "b -> a"],
    ["a -> b WHERE c = 1", "a -> d"],
    ["not(t1.a = t2.a & t1.b != t2.b & t1.c != t2.c)"],
    ["not(t1.a = t2.b)"],
    ["a -> b, c", "a, b -> d"],
    ["not(t1.d = 1 & t1.a = t2.a & t1.b != t2.b)", "not(t1.d = 1 & t1.a = t2.a & t1.c != t2.c)"],
]


@pytest.mark.heavy
@pytest.mark.parametrize("rules", NO_CLOSED_FORM, ids=" and ".join)
def test_other_rules_have_no_closed_form(rules: list[str]) -> None:
    with declared_table(dict.fromkeys(NAMES, "INTEGER"), constraints=rules) as table:
        assert exact_statistic(table.constraints, table.schema) is None
        assert exact_statistic(table.constraints, table.schema, "duplicate values") is None


def test_declarations_decide_and_rows_do_not(tmp_path: Path) -> None:
    """Three right-hand columns that may be NULL have no closed form, whether one is NULL or not."""
    rows = [(0, 0, 0, 0), (0, 0, 1, 1)]
    for never_null, has_one in (("", False), ("d", True)):
        shape = Shape("three", ("a -> b, c, d",), 4, fd([0], 1, 2, 3), never_null=never_null)
        folder = tmp_path / (never_null or "none")
        folder.mkdir()
        with opened(folder, shape, [rows]) as table:
            found = exact_statistic(table.constraints, table.schema)
            assert (found is not None) == has_one
            assert found is None or table.count_all(None, [found]) == [1]


@pytest.mark.heavy(family="long")
def test_many_rules_are_counted_in_one_call_as_each_alone(tmp_path: Path) -> None:
    """Of the same rows, with and without conditions of one row, in the order in which they are asked."""
    shape, rng = Shape("many", (), 4, fd([], 0)), random.Random(9)
    rules = ["a -> b", "a -> c", "b -> c", "UNIQUE(a, b)", "CHECK (c < 2)", "NOT NULL(d)", "a -> b WHERE c = 1"]
    with opened(tmp_path, shape, [rows_of(shape, rng) for _ in range(20)], rules) as table:
        sets = [[one] for one in table.constraints] + [[table.constraints[0], one] for one in table.constraints[4:6]]
        asked = [one for each in sets if (one := exact_statistic(each, table.schema)) is not None]
        assert len(asked) == len(rules) + 2
        together = table.count_all(None, [*asked, *asked])
        assert together == [number for one in [*asked, *asked] for number in table.count_all(None, [one])]
        assert table.count_all(table.where("number < 0"), asked) == [0] * len(asked)


@pytest.mark.heavy(of=20)
@pytest.mark.parametrize("dialect", ["postgres", "spark", "snowflake", "bigquery"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_trees_are_sql_of_other_engines(shape: Shape, dialect: str) -> None:
    with declared_table(dict.fromkeys(NAMES, "INTEGER"), constraints=list(shape.rules)) as table:
        found = exact_statistic(table.constraints, table.schema)
    if found is not None and found.form is not None and found.by_aggregates:
        if isinstance(found.form, SteppedForm):
            query = stepped_count(found.form, exp.to_table("t"))
        else:
            assert isinstance(found.form, GroupForm)
            query = group_count(found.form, exp.to_table("t"))
        text = query.sql(dialect)
        assert sqlglot.parse_one(text, dialect=dialect).find(exp.Select)
