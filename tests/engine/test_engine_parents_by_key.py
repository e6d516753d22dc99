"""Parents joined by key say what EXISTS of each rule says: NULLs, repeated keys, conditions on both, any threshold."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlglot import exp

from dpdb.engine import LocalTable, ParentFiles, TableSpec
from dpdb.engine.parents import by_key, opened
from dpdb.opening import open_local_table
from dpdb.thresholds import REPEATED_PARENTS

RULES = {  # the rule, and when a row c violates it
    "x IN p.x": "c.x IS NOT NULL AND NOT EXISTS (FROM p WHERE p.x = c.x)",
    "(x, w) IN p(x, w)": "c.x IS NOT NULL AND c.w IS NOT NULL AND NOT EXISTS (FROM p WHERE p.x = c.x AND p.w = c.w)",
    "x IN p.x WHERE p.y > 1": "c.x IS NOT NULL AND NOT EXISTS (FROM p WHERE p.x = c.x AND p.y > 1)",
    "w IN q.w WHERE q.z IS NOT NULL": "c.w IS NOT NULL AND NOT EXISTS (FROM q WHERE q.w = c.w AND q.z IS NOT NULL)",
    "CHECK (p.y = 1) BY x = p.x": "EXISTS (FROM p WHERE p.x = c.x AND NOT (p.y = 1))",
    "CHECK (p.y IS NULL) BY x = p.x": "EXISTS (FROM p WHERE p.x = c.x AND NOT (p.y IS NULL))",
    "CHECK (y <= p.y) BY x = p.x": "EXISTS (FROM p WHERE p.x = c.x AND NOT (c.y <= p.y))",
    "CHECK (y <= p.y) BY x = p.x AND w = p.w": "EXISTS (FROM p WHERE p.x = c.x AND p.w = c.w AND NOT (c.y <= p.y))",
    "CHECK (y <= q.z) BY w = q.w WHERE y > 0": "c.y > 0 AND EXISTS (FROM q WHERE q.w = c.w AND NOT (c.y <= q.z))",
    "EXISTS q BY w = q.w": "c.w IS NOT NULL AND NOT EXISTS (FROM q WHERE q.w = c.w)",
}
WORDS = ["a", "A", "b", "", None]
ENDS = [REPEATED_PARENTS.least, 1, REPEATED_PARENTS.at, REPEATED_PARENTS.most]


@contextmanager
def threshold(at: float) -> Iterator[None]:
    before, REPEATED_PARENTS.at = REPEATED_PARENTS.at, at
    try:
        yield
    finally:
        REPEATED_PARENTS.at = before


def some_tables(rng: random.Random) -> dict[str, pa.Table]:
    def cells(some: list[Any], many: int) -> list[Any]:
        return [rng.choice(some) for _ in range(many)]

    numbers, rows, parents = [None, 0, 1, 2, 3], rng.randrange(30), rng.randrange(25)
    small = pa.int16() if rng.random() < 0.5 else pa.int64()  # keys of another width
    return {
        "c": pa.table({
            "owner": pa.array(cells([1, 2, 3, 4, 5, None], rows), pa.int64()),
            "x": pa.array(cells(numbers, rows), pa.int64()),
            "w": pa.array(cells(WORDS, rows), pa.string()),
            "y": pa.array(cells(numbers, rows), pa.int64()),
        }),
        "p": pa.table({
            "x": pa.array(cells([None, 0, 1, 2], parents), small),
            "w": pa.array(cells(WORDS, parents), pa.string()),
            "y": pa.array(cells(numbers, parents), pa.int64()),
        }),
        "q": pa.table({
            "w": pa.array(cells(["a", "b", None], parents), pa.string()),
            "z": pa.array(cells(numbers, parents), pa.int64()),
        }),
    }  # fmt: skip


def in_sql(tables: dict[str, pa.Table], count: str) -> list[int]:
    with duckdb.connect() as database:
        for name, rows in tables.items():
            database.register(name, rows)
        found = [database.execute(f"SELECT {count} FROM c WHERE {when}").fetchone() for when in RULES.values()]
    return [int(row[0]) for row in found if row is not None]


def opened_table(tables: dict[str, pa.Table]) -> LocalTable:
    return open_local_table(tables["c"], constraints=[*RULES], public_parents={"p": tables["p"], "q": tables["q"]})


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 300), marks=pytest.mark.slow)])
def test_rows_and_owners_that_violate_are_those_of_plain_sql_at_any_threshold(seeds: range) -> None:
    seen = 0
    for seed in seeds:
        tables = some_tables(random.Random(seed))
        owners, rows = in_sql(tables, "count(DISTINCT owner)"), in_sql(tables, "count(*)")
        with opened_table(tables) as table:
            asked = [table.exact_statistic([each]) for each in table.constraints]
            known = [each for each in asked if each is not None]
            assert len(known) == len(RULES)
            for at in ENDS:
                with threshold(at):
                    assert table.count_owners("owner", [*table.constraints])[:] == owners, (seed, at)
                    assert table.count_all(None, known) == rows, (seed, at)
            everybody = len(set(tables["c"]["owner"].to_pylist()) - {None})
            assert table.count_owners("owner", [None, *table.constraints])[0] == everybody
        seen += sum(owners)
    assert seen > 20


@pytest.mark.heavy(family="long")
def test_many_rules_are_many_scans_of_the_same_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = some_tables(random.Random(2))
    with opened_table(tables) as table:
        together = table.count_owners("owner", [*table.constraints] * 30)
        monkeypatch.setattr("dpdb.engine.owners._PER_SCAN", 3)
        monkeypatch.setattr("dpdb.engine.owners.BITS", 2)
        assert table.count_owners("owner", [*table.constraints]) * 30 == together
    assert together[: len(RULES)] == in_sql(tables, "count(DISTINCT owner)")


@pytest.mark.heavy(family="long")
def test_the_comparison_sees_a_key_that_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = some_tables(random.Random(3))
    monkeypatch.setattr(by_key, "same_key", lambda pairs, alias: exp.true())
    with opened_table(tables) as table:
        assert table.count_owners("owner", [*table.constraints]) != in_sql(tables, "count(DISTINCT owner)")


@pytest.mark.heavy(family="privacy")
def test_the_comparison_sees_one_row_of_a_repeated_key_taken_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = some_tables(random.Random(3))
    real = by_key._Joins.value

    def first_place(self: Any, column: Any) -> exp.Expr:
        grouped = self._groups[by_key._identity(column)]
        grouped.places = grouped.places[:1]
        return real(self, column)

    monkeypatch.setattr(by_key._Joins, "value", first_place)
    with threshold(REPEATED_PARENTS.most), opened_table(tables) as table:
        assert table.count_owners("owner", [*table.constraints]) != in_sql(tables, "count(DISTINCT owner)")


@pytest.mark.heavy(family="long")
def test_keys_whose_spellings_are_equal_are_looked_for_by_exists() -> None:
    """-0.0 is 0.0, and a month is 30 days."""
    rows = pa.table({"owner": [1, 2, 3], "x": [0.0, -0.0, 2.5]})
    parent = pa.table({"x": [-0.0, 0.0, float("nan")], "y": [1, 2, 3]})
    with open_local_table(
        rows, constraints=["x IN p.x", "CHECK (p.y = 1) BY x = p.x"], public_parents={"p": parent}
    ) as table:
        assert table.count_owners("owner", [*table.constraints]) == [1, 2]


@pytest.mark.heavy(family="long")
def test_tables_that_share_files_open_a_parent_once_for_each_choice_of_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = {}
    for name, rows in some_tables(random.Random(4)).items():
        paths[name] = str(tmp_path / f"{name}.parquet")
        pq.write_table(rows, paths[name])
    read: list[str] = []
    real = opened.open_source
    monkeypatch.setattr(opened, "open_source", lambda *a, **k: (read.append(a[1]), real(*a, **k))[1])
    rules = [["x IN p.x"], ["x IN p.x WHERE p.y > 1"], ["CHECK (p.y = 1) BY x = p.x"]]
    found = []
    with ParentFiles() as files:
        for texts in rules:
            parents = {"public_parents": {"p": paths["p"]}}
            spec = TableSpec.of(paths["c"], parents, constraints=texts)
            with open_local_table(replace(spec, parent_files=files)) as table:
                found.append((table.count_owners("owner", [*table.constraints]), dict(table.public_keys)))
            with open_local_table(spec) as alone:
                assert found[-1] == (alone.count_owners("owner", [*alone.constraints]), dict(alone.public_keys))
    assert len(read) == len(rules) + 2  # of x, of x and y; the last finds that of the second
