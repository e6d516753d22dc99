"""Columns of structs, lists and maps: it is asked whether they are NULL, and nothing else."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpdb
from dpdb.errors import ConstraintTypeError, PredicateError, SourceError
from dpdb.ledger import Ledger
from dpdb.owner import exact_measures

RULES = [
    "NOT NULL(s)",
    "l IS NOT NULL",
    "CHECK (m IS NULL OR id > 3)",
    "not(t1.s IS NULL & t2.l IS NULL & t1.k = t2.k)",
]
TABLE = pa.table(
    {
        "id": [1, 2, 3, 4, 5],
        "k": [1, 1, 1, 2, 2],
        "s": pa.array([{"a": 1}, None, {"a": None}, None, {"a": 2}], pa.struct([("a", pa.int64())])),
        "l": pa.array([[1], [], None, [None], None], pa.list_(pa.int64())),
        "m": pa.array([[("k", 1)], None, [], [], None], pa.map_(pa.string(), pa.int64())),
    }
)
EXPECTED = [2, 2, 2, 2]  # rows 1 and 3; rows 2 and 4; rows 0 and 2; rows 1 and 2, 3 and 4


def _sources(folder: Path) -> dict[str, tuple[Any, dict[str, str]]]:
    pq.write_table(TABLE, folder / "t.parquet")
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t AS FROM '{folder / 't.parquet'}'")
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t AS FROM '{folder / 't.parquet'}'")
    return {
        "arrow": (TABLE, {}),
        "parquet": (folder / "t.parquet", {}),
        "duckdb": (folder / "t.duckdb", {}),
        "connection": (connection, {"table": "t"}),
        "relation": (connection.sql("FROM t"), {}),
    }


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["arrow", "parquet", "duckdb", "connection", "relation"])
def test_nested_columns_may_be_asked_whether_they_are_null(tmp_path: Path, kind: str) -> None:
    source, options = _sources(tmp_path)[kind]
    found = exact_measures(source, RULES, non_private=True, by_constraint=True, measures=["drastic"], **options)
    assert [rule.violations for rule in found.by_constraint or ()] == EXPECTED


@pytest.mark.heavy(family="long")
def test_random_nulls_are_counted_as_a_loop_counts_them() -> None:
    for seed in range(20):
        random_ = random.Random(seed)
        cells = [random_.choice([None, {"a": None}, {"a": 1}]) for _ in range(30)]
        lists = [random_.choice([None, [], [None], [1]]) for _ in range(30)]
        ids = [random_.choice([None, 1, 2, 3]) for _ in range(30)]
        table = pa.table({"s": pa.array(cells, pa.struct([("a", pa.int64())])), "l": lists, "id": ids})
        rule = random_.choice(["s IS NOT NULL", "s IS NULL OR l IS NOT NULL", "NOT NULL(l) WHERE s IS NULL"])
        broken = {
            "s IS NOT NULL": lambda s, _: s is None,
            "s IS NULL OR l IS NOT NULL": lambda s, items: s is not None and items is None,
            "NOT NULL(l) WHERE s IS NULL": lambda s, items: s is None and items is None,
        }[rule]
        expected = sum(broken(s, items) for s, items in zip(cells, lists, strict=True))
        assert exact_measures(table, rule, non_private=True).self_conflicts == expected


def test_releases_read_them_too_and_by_rule() -> None:
    rules = ["NOT NULL(s)", "id -> k WHERE l IS NOT NULL"]
    with dpdb.open(TABLE, constraints=rules, budget=10**6) as session:
        for mechanism in ("ladder", "by_rule"):
            released = session.dp_inconsistency("problematic", epsilon=1000, mechanism=mechanism)
            assert round(released.value) == 2


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("rule", "options", "message"),
    [
        ("s = 5", {}, "column 's' has type STRUCT.*, which constraints cannot compare"),
        ("s -> id", {}, "which constraints cannot compare"),
        ("CHECK (s IN (1))", {}, "which cannot be compared"),
        ("NOT NULL(s)", {"unit": "id", "max_rows": 1}, "make a column of whether it is NULL"),
    ],
)
def test_all_else_is_refused_with_the_remedy(rule: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConstraintTypeError, match=message):
        dpdb.open(TABLE, constraints=rule, **options)


def test_predicates_of_releases_do_not_ask_for_them() -> None:
    with dpdb.open(TABLE, constraints="NOT NULL(s)", budget=1) as session:
        with pytest.raises(PredicateError, match="which cannot be compared"):
            session.dp_count(where="s IS NULL", epsilon=1)
        assert session.spent() == 0


@pytest.mark.heavy(family="long")
def test_a_ledger_sees_that_they_changed(tmp_path: Path) -> None:
    path = tmp_path / "l.ledger"
    Ledger.create(path, 9).close()

    def ask(table: pa.Table) -> None:
        with dpdb.open(table, constraints="NOT NULL(s)", ledger=path) as session:
            session.dp_inconsistency("problematic", epsilon=1)

    ask(TABLE)
    ask(TABLE)
    changed = pa.array([None, None, {"a": None}, None, {"a": 2}], TABLE.schema.field("s").type)
    with pytest.raises(dpdb.errors.DpdbError, match="epoch"):
        ask(TABLE.set_column(2, "s", changed))


def test_a_field_of_a_column_is_refused_with_the_remedy() -> None:
    with pytest.raises(dpdb.errors.UnknownColumnError, match=r"no column 's.a'.*a field is made a column by a view"):
        dpdb.open(TABLE, constraints="s.a -> id")


@pytest.mark.heavy(family="long")
def test_what_cannot_be_read_is_refused_when_the_table_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(
        pa.table({"id": list(range(2000)), "s": [{"a": f"x{k}"} for k in range(2000)]}), path, compression="none"
    )
    content = bytearray(path.read_bytes())
    place = content.find(b"x1000")
    content[place - 40 : place + 40] = b"\xff" * 80
    path.write_bytes(content)
    dpdb.open(path, constraints="UNIQUE(id)").close()
    with pytest.raises(SourceError, match="reading its rows failed"):
        dpdb.open(path, constraints="NOT NULL(s)")
