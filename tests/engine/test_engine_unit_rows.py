"""At most k rows per unit: which are kept, and what removing a unit or a row changes."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from sqlglot import exp

from dpdb.database.database import Database
from dpdb.engine.unit_rows import ChildRows, KeyColumn, UnitRows, chosen_by
from dpdb.schema import Column, TableSchema
from dpdb.sources.open import open_source
from dpdb.sources.source import Source

Row = tuple[Any, ...]
Bag = Counter[Row]

TYPES = {"unit": "VARCHAR", "x": "BIGINT"}
ARROW = pa.schema([("unit", pa.string()), ("x", pa.int64())])


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with Database(threads=1) as opened:
        yield opened


def rows_of(database: Database, scan: exp.Expr) -> list[Row]:
    return database.rows(exp.select("*").from_(scan.copy()))


def kept(database: Database, rows: Iterable[Row], most: int, schema: pa.Schema = ARROW) -> Bag:
    """What the engine keeps of a table."""
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    table = pa.table([pa.array(list(c), f.type) for c, f in zip(columns, schema, strict=True)], schema)
    with database.arrow_table("tested", table):
        found = database.describe("SELECT * FROM tested")
        described = TableSchema(tuple(Column(name, kind) for name, kind in found))
        try:
            source = Source("tested", described, exp.to_table("tested"))
            return Counter(rows_of(database, UnitRows(database, source, "unit", most).scan))
        finally:
            database.execute("DROP TABLE IF EXISTS unit_row")


def reference(database: Database, rows: Sequence[Row], most: int) -> Bag:
    """The same in Python: only the hash of one row is asked of DuckDB."""
    result: Bag = Counter()
    for unit in {row[0] for row in rows} - {None}:
        mine = [row for row in rows if row[0] == unit]
        number = {row: database.rows(f"SELECT hash('{row[0]}'::VARCHAR, {row[1] if row[1] is not None else 'NULL'}"
                                     "::BIGINT)")[0][0] for row in set(mine)}  # fmt: skip
        order = sorted(mine, key=lambda row: (number[row], row[1] is None, row[1] or 0))
        result.update(order[:most])
    return result


@pytest.mark.heavy
@pytest.mark.parametrize("largest", [3, pytest.param(6, marks=pytest.mark.slow)])
@pytest.mark.parametrize("most", [1, 2])
def test_every_small_table_and_every_neighbour(database: Database, most: int, largest: int) -> None:
    """All small tables of 2 units and NULL, 2 values: units are independent, a row lets one out and one in at most."""
    kinds = [(unit, x) for unit in ("a", "b", None) for x in (0, 1)]
    tables = [bag for size in range(largest + 1) for bag in itertools.combinations_with_replacement(kinds, size)]
    results = {bag: kept(database, bag, most) for bag in tables}
    replaced = 0
    for bag, mine in results.items():
        assert all(row[0] is not None for row in mine)
        sizes, used = Counter(row[0] for row in bag), Counter(row[0] for row in mine.elements())
        assert all(used[unit] == min(most, sizes[unit]) for unit in ("a", "b"))
        assert mine <= Counter(bag)
        for unit in ("a", "b", None):
            without = results[tuple(row for row in bag if row[0] != unit)]
            assert without <= mine
            gone = mine - without
            assert gone.total() <= most
            assert all(row[0] == unit for row in gone)
        for position in range(len(bag)):
            fewer = results[bag[:position] + bag[position + 1 :]]
            assert (mine - fewer).total() <= 1
            assert (fewer - mine).total() <= 1
            replaced += (fewer - mine).total()
    assert replaced > 0  # a row does take another's place, so one row may cost more than itself


cells = st.one_of(st.none(), st.integers(-2, 2))


@pytest.mark.heavy(family="alone")
@settings(derandomize=True, deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c", None]), cells), max_size=14), st.integers(1, 4), st.randoms())
def test_any_table_is_as_the_reference_says_in_any_order(
    database: Database, rows: list[Row], most: int, shuffle: Any
) -> None:
    expected = reference(database, rows, most)
    assert kept(database, rows, most) == expected
    other = list(rows)
    shuffle.shuffle(other)
    assert kept(database, other, most) == expected


def test_units_are_equal_as_numbers_are(database: Database) -> None:
    schema = pa.schema([("unit", pa.float64()), ("x", pa.int64())])
    rows = [(0.0, 1), (-0.0, 2), (math.nan, 3), (math.nan, 4), (1.0, 5), (None, 6)]
    found = sorted(x for _, x in kept(database, rows, 1, schema))
    assert len(found) == 3
    assert [len({1, 2} & set(found)), len({3, 4} & set(found)), found[-1]] == [1, 1, 5]


SPANS = "SELECT u, CASE WHEN (u + c) % 2 = 0 THEN INTERVAL '1 month' ELSE INTERVAL '30 days' END AS span"


@pytest.mark.heavy
@pytest.mark.parametrize("limit", ["units", "children"])
def test_no_other_row_chooses_between_intervals_that_compare_as_equal(database: Database, limit: str) -> None:
    """A term tells them apart: added to 31 January they are two days. Of each of 20,000 units one of two is kept."""
    found = []
    for order, beside in (
        ("u, c", ""),
        ("c, u", ""),
        ("hash(u, c)", ""),
        ("u, c", "UNION ALL SELECT -1, INTERVAL '1 day'"),
    ):
        rows = f"{SPANS} FROM range(20000) t(u), range(2) s(c) ORDER BY {order}"
        database.execute(f"CREATE TABLE tested AS FROM ({rows}) {beside}")
        schema = TableSchema(tuple(Column(*each) for each in database.describe("FROM tested")))
        source = Source("tested", schema, exp.to_table("tested"))
        assert chosen_by(source).endswith("; tested; texts of intervals")  # a ledger's epoch has one choice
        key = (KeyColumn("u", "BIGINT", "BIGINT"),)
        made = UnitRows(database, source, "u", 1) if limit == "units" else ChildRows(database, source, [key], 1)
        try:
            chosen = exp.select("u", "span::VARCHAR").from_(made.scan.copy()).where("u >= 0")
            found.append(dict(database.rows(chosen)))
        finally:
            database.execute("DROP TABLE tested")
            database.execute("DROP TABLE IF EXISTS unit_row")
    assert len(found[0]) == 20000
    assert all(other == found[0] for other in found)


def test_a_collation_does_not_merge_units(tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE TABLE t (unit VARCHAR COLLATE NOCASE, x INTEGER)")
        made.execute("INSERT INTO t VALUES ('a', 1), ('A', 2), ('A', 3)")
    with Database() as database:
        found = rows_of(database, UnitRows(database, open_source(database, path), "unit", 1).scan)
        assert sorted(unit for unit, _ in found) == ["A", "a"]


def test_columns_that_cannot_be_compared_are_left_out(database: Database) -> None:
    schema = pa.schema([("unit", pa.string()), ("list", pa.list_(pa.int64())), ("x", pa.int64())])
    assert kept(database, [("a", [1], 5)], 1, schema) == Counter([("a", 5)])


def test_nothing_is_read_before_it_is_asked_for(database: Database) -> None:
    source = Source("t", TableSchema((Column("unit", "VARCHAR"),)), exp.to_table("no_such_table"))
    limited = UnitRows(database, source, "unit", 1)
    assert limited.schema is source.schema
    assert limited.description == "t"
