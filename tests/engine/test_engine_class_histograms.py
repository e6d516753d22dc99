"""Class histograms: equal to a count in Python, cut by declarations alone, and in SQL that every engine can read."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp

from dpdb.engine import class_histograms, has_class_histogram
from dpdb.engine.sql.class_histograms import class_histogram, self_conflict_count
from dpdb.opening import declared_table, open_table

Row = dict[str, Any]

# Each rule with its groups and classes in Python: the class None is no class, "own" is one for each row.
SIDES = "not(t1.a=t2.a & t1.d>=2 & t2.d<=2)"
RULES = {
    "a -> b": (("a",), ("b",), lambda row: True),
    "a, c -> b": (("a", "c"), ("b",), lambda row: True),
    "d = 1: a -> c": (("a",), ("c",), lambda row: row["d"] == 1),
    "UNIQUE(a, b)": (("a", "b"), None, lambda row: True),
    "not(t1.b=t2.b & t1.d IN (1, 2) & t2.d IN (1, 2))": (("b",), None, lambda row: row["d"] in (1, 2)),
    "not(t1.c!=t2.c)": ((), ("c",), lambda row: True),
    "not(t1.a=t2.a & t1.b<t2.b)": (("a",), ("b",), lambda row: True),
}


def expected(rows: Sequence[Row], rule: str) -> Counter[tuple[int, ...]]:
    """Sizes of classes, descending, of each group."""
    groups: dict[tuple[Any, ...], Counter[Any]] = {}
    for number, row in enumerate(rows):
        if rule == SIDES:
            key, first, second = (row["a"],), (row["d"] or 0) >= 2, 0 < (row["d"] or 9) <= 2
            kind: Any = ("own", number) if first and second else "first" if first else "second" if second else None
        else:
            lhs, rhs, met = RULES[rule]
            key = tuple(row[name] for name in lhs)
            kind = ("own", number) if rhs is None else tuple(row[name] for name in rhs)
            kind = None if not met(row) or (rhs and row[rhs[0]] is None) else kind
        if kind is not None and None not in key:
            groups.setdefault(key, Counter())[kind] += 1
    return Counter(tuple(sorted(classes.values(), reverse=True)) for classes in groups.values())


def found(table: pa.Table) -> Counter[tuple[int, ...]]:
    answer: Counter[tuple[int, ...]] = Counter()
    for row in table.to_pylist():
        sizes = (*sorted(row["sizes"] or (), reverse=True), *[1] * row["singles"])
        answer[sizes] += row["groups"]
    del answer[()]  # a group of all rows is there even if it is empty
    return answer


def random_rows(draw: random.Random, count: int) -> list[Row]:
    values = {"a": [1, 1, 2, 3, None], "b": ["x", "x", "y", None], "c": [0.5, -0.0, 0.0, float("nan"), None],
              "d": [1, 2, 3, None]}  # fmt: skip
    return [{name: draw.choice(options) for name, options in values.items()} for _ in range(count)]


def as_values(rows: Sequence[Row]) -> list[Row]:
    """NaN equals itself in a table."""
    return [{name: "nan" if value != value else value for name, value in row.items()} for row in rows]


def as_table(rows: Sequence[Row]) -> pa.Table:
    types = {"a": pa.int64(), "b": pa.string(), "c": pa.float64(), "d": pa.int32()}
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in types.items()})


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 40))])
def test_every_rule_is_counted_as_in_python(seed: int) -> None:
    draw = random.Random(seed)
    rows = random_rows(draw, draw.choice([0, 1, 5, 40]))
    rules = [*RULES, SIDES, "not(t1.d=3 & t1.b='y')"]
    kept = [row for row in rows if not (row["d"] == 3 and row["b"] == "y")]
    with open_table(as_table(rows), constraints=rules) as table:
        for where, meant in ((None, kept), ("a < 3", [row for row in kept if (row["a"] or 9) < 3])):
            bound = None if where is None else table.where(where)
            for position, rule in enumerate((*RULES, SIDES)):
                alone, [counted] = table.class_histograms(bound, position=position)
                everything = rows if where is None else [row for row in rows if (row["a"] or 9) < 3]
                assert found(counted) == expected(as_values(everything), rule), rule
                assert alone == 0
            alone, together = table.class_histograms(bound)
            assert alone == len([row for row in rows if row not in kept and (where is None or (row["a"] or 9) < 3)])
            histograms = class_histograms(table.constraints, table.schema)
            assert len(histograms) == len(together) == len(RULES)  # two of the rules say the same
            for one, counted in zip(histograms, together, strict=True):
                rule = (*RULES, SIDES)[table.constraints.index(one.constraints[0])]
                assert found(counted) == expected(as_values(meant), rule), rule


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("rules", "sizes"),
    [
        (["zip -> city", "zip -> state"], [1, 1]),
        (["zip -> city", "zip -> state", "NOT NULL(city)"], [1, 1]),
        (["zip -> city", "zip -> state", "NOT NULL(city)", "NOT NULL(state)"], [2]),
        (["zip -> city", "zip -> state", "day -> state", "NOT NULL(city)", "NOT NULL(state)"], [2, 1]),
        (["zip -> city", "zip -> state", "not(t1.city IS NULL & t1.day > 1)", "NOT NULL(state)"], [1, 1]),
        (["zip -> city", "zip -> state", "UNIQUE(zip)"], [0]),
        (["zip -> city", "day = 1: zip -> state", "NOT NULL(city)", "NOT NULL(state)"], [1, 1]),
        (["zip -> city", "not(t1.zip=t2.zip & t1.city<t2.city)"], [1]),
    ],
)
def test_a_left_hand_side_is_one_histogram_where_no_declared_value_may_be_null(
    rules: list[str], sizes: list[int]
) -> None:
    columns = {"zip": "VARCHAR", "city": "VARCHAR", "state": "VARCHAR", "day": "INTEGER"}
    with declared_table(columns, constraints=rules) as table:
        histograms = class_histograms(table.constraints, table.schema)
        assert [len(one.classes) for one in histograms] == sizes
        pairwise = [bound for bound in table.constraints if not bound.constraint.is_single_tuple]
        assert sorted(table.constraints.index(b) for one in histograms for b in one.constraints) == list(
            range(len(pairwise))
        )


def test_rows_say_nothing_of_what_may_be_null() -> None:
    rules = ["zip -> city", "zip -> state"]
    full = pa.table({"zip": ["1", "1"], "city": ["a", "b"], "state": ["x", "y"]})
    holed = pa.table({"zip": ["1", "1"], "city": ["a", None], "state": ["x", "y"]})
    for rows in (full, holed):
        with open_table(rows, constraints=rules) as table:
            assert len(table.class_histograms()[1]) == 2


def test_a_table_of_a_database_declares_what_may_be_null(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE t(zip VARCHAR, city VARCHAR NOT NULL, state VARCHAR NOT NULL)")
        connection.execute("INSERT INTO t VALUES ('1', 'a', 'x'), ('1', 'a', 'y'), ('1', 'b', 'y'), (NULL, 'c', 'y')")
        connection.execute("CREATE VIEW v AS FROM t")
    for name, groups in (("t", [{(1, 1, 1): 1}]), ("v", [{(2, 1): 1}, {(2, 1): 1}])):
        with open_table(tmp_path / "shop.duckdb", table=name, constraints=["zip -> city", "zip -> state"]) as table:
            assert [column.nullable for column in table.schema.columns] == [True, name == "v", name == "v"]
            assert [dict(found(counted)) for counted in table.class_histograms()[1]] == groups


@pytest.mark.heavy(family="alone")
def test_values_compare_as_in_the_conflict_graph(tmp_path: Path) -> None:
    """Collations are dropped, enumerations are text, times out of the calendar are NULL, terms are computed."""
    with duckdb.connect(str(tmp_path / "odd.duckdb")) as connection:
        connection.execute("CREATE TABLE t(a VARCHAR COLLATE NOCASE, e ENUM('x', 'y'), s TIMESTAMP_S, i INTERVAL)")
        connection.execute("INSERT INTO t VALUES ('p', 'x', '2020-01-01', '1 month'), ('P', 'y', NULL, '30 days')")
        connection.execute("INSERT INTO t VALUES ('p', 'y', '2020-01-01', '30 days'), ('p', 'y', NULL, '31 days')")
        connection.execute("INSERT INTO t VALUES ('p', 'y', '290000-01-01 (BC)'::TIMESTAMP_S, NULL)")
    rules = [
        "a -> e",
        "i -> e",
        "s -> a",
        "not(lower(t1.a) = lower(t2.a) & t1.e != t2.e)",
        "not(t1.e=t2.e & t1.a='p' & t2.a='P')",
    ]
    with open_table(tmp_path / "odd.duckdb", constraints=rules) as table:
        a, i, s, lower, sides = (found(counted) for counted in table.class_histograms()[1])
        assert a == {(3, 1): 1, (1,): 1}
        assert i == {(2, 1): 1, (1,): 1}
        assert s[(2,)] == 1
        assert lower == {(4, 1): 1}
        assert sides == {(1,): 1, (3, 1): 1}
        for position, groups in enumerate((a, i, s, lower, sides)):
            with closing(table.slice(position=position)) as part:
                conflicts = sum(
                    times * (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2 for sizes, times in groups.items()
                )
                assert part.edges.edge_count == conflicts


def test_some_shapes_have_no_histogram() -> None:
    rules = ["not(t1.a>t2.a & t1.b<t2.b)", "not(t1.a=t2.b)", "not(t1.a!=t2.a & t1.b!=t2.b)",
             "not(t1.a=t2.a & t1.a!=t2.a)", "not(t1.a=t2.a & t1.b!=t2.b & t1.b=1)", "not(t1.a=1)"]  # fmt: skip
    with declared_table({"a": "INTEGER", "b": "INTEGER"}, constraints=rules) as table:
        assert not any(map(has_class_histogram, table.constraints))
        assert class_histograms(table.constraints, table.schema) == ()


@pytest.mark.heavy
@pytest.mark.parametrize("dialect", ["duckdb", "spark", "postgres"])
def test_the_trees_are_sql_of_other_engines(dialect: str) -> None:
    rules = [*RULES, SIDES, "not(t1.d=3)"]
    columns = {"a": "BIGINT", "b": "VARCHAR", "c": "DOUBLE", "d": "INTEGER"}
    with declared_table(columns, constraints=rules) as table:
        rows = exp.table_("rows", quoted=True)
        queries = [class_histogram(one, rows) for one in class_histograms(table.constraints, table.schema)]
        for query in (*queries, self_conflict_count(table.constraints, rows)):
            text = query.sql(dialect)
            assert sqlglot.parse_one(text, dialect=dialect).sql(dialect) == text
            assert " JOIN " not in text
            assert " OVER " not in text


def test_times_out_of_the_calendar_are_no_group() -> None:
    """As in the conflict graph, where they are NULL: other casts of them would fail."""
    seconds = pa.array([10**13, 10**13, 0, 0], pa.int64()).cast(pa.timestamp("s"))
    with open_table(pa.table({"s": seconds, "a": [1, 2, 1, 2]}), constraints=["s -> a"]) as table:
        assert [found(counted) for counted in table.class_histograms()[1]] == [{(1, 1): 1}]
        with closing(table.slice()) as part:
            assert part.edges.edge_count == 1
