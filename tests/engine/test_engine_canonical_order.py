"""Rows are sorted by hash, ties by value, as `ORDER BY hash(values), values` would; the rest of a slice follows."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from case_share import fifth
from helpers_engine import Table
from hypothesis import given, settings
from sqlglot import exp
from strategies_engine import tables

from dpdb.constraints import parse_constraint
from dpdb.database.database import Database
from dpdb.engine.slice import LocalSlice
from dpdb.engine.sql.bind import bind
from dpdb.engine.sql.coded_rows import canonical_order, row_hashes
from dpdb.opening import open_local_table
from dpdb.sources.source import Source
from dpdb.thresholds import FEW_ROWS


def weak(rows: exp.Table, number: str, columns: Sequence[str]) -> exp.Expr:
    query = row_hashes(rows, number, columns)
    _, value = query.selects
    value.replace(exp.Mod(this=value.copy(), expression=exp.convert(3)))
    return query


def check(database: Database, table: Table, hashed: str) -> None:
    """Compare the codes of ranked rows, coded in all ways, with those that SQL finds in its order."""
    names, found = list(table.types), []
    with database.arrow_table("sorted_input", table.arrow()):
        dcs = bind(database, parse_constraint(f"[] -> {', '.join(names)}"), table.schema())
        for few_rows, columns_at_once in ((-1, 0), (12, 1), (12, 2), (12, 32)):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(FEW_ROWS, "at", few_rows)
                patch.setattr("dpdb.engine.sql.coded_rows._COLUMNS_AT_ONCE", columns_at_once)
                source = Source("s", table.schema(), exp.to_table("sorted_input"))
                part = LocalSlice(database, source, dcs, None, name="sorted")
            order, codes = part.canonical_order(), part.codes(names)
            found.append([tuple(int(codes[name][row]) for name in names) for row in order])
            part.close()
        ranks = ", ".join(f"CASE WHEN {c} IS NULL THEN -1 ELSE dense_rank() OVER (ORDER BY {c}) - 1 END" for c in names)
        expected = database.rows(f"SELECT {ranks} FROM sorted_input ORDER BY {hashed}, {', '.join(names)}")
    assert found == [expected] * 4


@pytest.mark.heavy(family="long")
@settings(derandomize=True, deadline=None, max_examples=25)
@given(tables())
def test_the_order_is_that_of_sql(database: Database, table: Table) -> None:
    check(database, table, f"hash({', '.join(table.types)})")


@pytest.mark.heavy(family="long")
@settings(derandomize=True, deadline=None, max_examples=40)
@given(tables())
def test_rows_of_one_hash_are_ordered_by_value(database: Database, table: Table) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpdb.engine.sql.coded_rows.row_hashes", weak)
        check(database, table, f"hash({', '.join(table.types)}) % 3")


def test_the_order_of_some_rows_is_the_restriction() -> None:
    rng = np.random.default_rng(1)
    for hashes in (1, 3, 50, 2**63):
        codes = [rng.integers(-1, 3, 400).astype(kind) for kind in (np.int8, np.int16, np.int32)]
        known = (codes[0].astype(np.int64) * 7 + codes[1] + 9).astype(np.uint64)
        of_hash = (known * np.uint64(0x9E3779B97F4A7C15)) % np.uint64(hashes)
        whole = canonical_order(of_hash, codes)
        for share in (0.0, 0.1, 0.7):
            kept = rng.random(400) < share
            some = canonical_order(of_hash, codes, np.flatnonzero(kept))
            assert some.tolist() == whole[kept[whole]].tolist()


def test_the_copies_of_a_row_come_as_they_lie() -> None:
    same = np.zeros(300, np.uint64)
    assert canonical_order(same, [np.zeros(300, np.int8)]).tolist() == list(range(300))


NUMBERED = [(name, where) for name in ("rowid", "RowID", "value") for where in (None, "keep % 3 <> 0")]


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("rows", "name", "where"),
    [*((30_000, *case) for case in NUMBERED), *((300_000, *case) for case in fifth(NUMBERED))],
)
def test_rows_are_numbered_whatever_columns_are_called(rows: int, name: str, where: str | None) -> None:
    """Few rows, and more than a thread reads at once; codes are the values, and conditions are asked row by row."""
    values = random.Random(1).sample(range(rows), rows)
    table = pa.table({name: values, "a": [value // 2 for value in values], "keep": range(rows)})
    kept = [value for place, value in enumerate(values) if where is None or place % 3]
    rule = f'not(t1.a=t2.a&t1."{name}">1000&t2."{name}">1000)'
    with open_local_table(table, constraints=[rule, f'a -> "{name}"'], threads=4) as opened:
        part = opened.slice(None if where is None else opened.where(where))
        codes = part.codes(part.columns)
        rank = {value: code for code, value in enumerate(sorted(kept))}
        assert codes[name].tolist() == [rank[value] for value in kept]
        (above,) = part.rows_that([part.constraints[0].predicates[1:2]])
        assert above.tolist() == [value > 1000 for value in kept]
        stored: list[tuple[Any, ...]] = opened.database.rows(part_values(part, name))
        assert [value for (value,) in stored] == [kept[row] for row in part.canonical_order()]
        assert part.degree_bound() == (1 if len(kept) > 1 else 0)


@pytest.mark.parametrize("rule", ["a -> b", "a, b, c, d, e, f, g -> h"])
def test_small_tables_take_as_many_queries_for_many_columns_as_for_few(
    rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def counting(connection: Any, work: Callable[[], object]) -> object:
        asked.append(work)
        return work()

    table = pa.table({name: range(5_000) for name in "abcdefgh"})  # three vectors of DuckDB
    with open_local_table(table, constraints=rule) as opened:
        monkeypatch.setattr("dpdb.database.database.interruptible", counting)
        opened.slice()
    # Schema, table, its rows, their number; hashes and codes, each a query, batches and their end; the table dropped.
    assert len(asked) == 11


def part_values(part: LocalSlice, name: str) -> exp.Select:
    return exp.select(exp.column(name, quoted=True)).from_(part.tuples.copy()).order_by(part.rank)
