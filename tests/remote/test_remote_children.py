"""At most k children of each key in another engine: its own hash chooses them; the numbers are those of ours."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from asked_there import AskedThere
from helpers_postgres import Server
from helpers_remote import closed_forms, statistics

import dpdb
from dpdb.ledger import Ledger
from dpdb.opening import open_table
from dpdb.remote.opened import GatheredTable

NAMES = ("person_id", "site", "day", "note")
RULES = [
    "person_id IN person.pid",
    "CHECK (day <= place.most) BY site = place.sid",
    "person_id, day -> note",
]
PARENTS = ["person", "place"]
SETTINGS: dict[str, Any] = {"private_parents": PARENTS, "gather_rows": 1_000}


def tables(random: Random, rows: int) -> dict[str, pa.Table]:
    """Visits of few persons at few sites, many of them more than once, and NULL in every key."""
    visits = [
        (
            random.choice([None, *range(5)]),
            random.choice([None, 0.0, -0.0, float("nan"), 2.0]),
            random.randrange(4),
            random.choice(["a", "b", None]),
        )
        for _ in range(rows)
    ]
    visits += random.choices(visits, k=rows // 3) if visits else []
    person, site = pa.array([0, 1, 2, 2], pa.int64()), pa.array([0.0, 2.0, float("nan")], pa.float64())
    kinds = (pa.int32(), pa.float64(), pa.int32(), pa.string())
    columns = list(zip(*visits, strict=True)) or [()] * 4
    return {
        "visit": pa.table([pa.array(c, kind) for c, kind in zip(columns, kinds, strict=True)], NAMES),
        "person": pa.table({"pid": person}),
        "place": pa.table({"sid": site, "most": pa.array([1, 2, 0], pa.int32())}),
    }


def answers(table: Any) -> Any:
    return (
        statistics(table),
        closed_forms(table),
        table.count_rows([None, table.where("day > 1")]),
    )


def in_duckdb(given: dict[str, pa.Table]) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for name, rows in given.items():
        connection.register(name, rows)
    return connection


@pytest.mark.heavy
@pytest.mark.parametrize("most", [1, 2, 4])
def test_with_our_own_hash_the_same_children_are_used_as_in_our_own_engine(most: int) -> None:
    for seed in range(3):
        with in_duckdb(tables(Random(seed), 30)) as connection:
            asked: dict[str, Any] = {"constraints": RULES, "max_children": most}
            with open_table(connection, table="visit", private_parents=PARENTS, **asked) as here:
                wanted = answers(here)
            with open_table(AskedThere(connection, "visit"), **SETTINGS, **asked) as there:
                assert answers(there) == wanted


def by_hand(rows: list[tuple[int, dict[str, Any]]], most: int) -> Counter[str]:
    """The rows kept: each is among the first of its person and of its site, by hash; -0.0 is 0.0, NaN one key."""
    in_order = sorted(rows, key=lambda one: (one[0], repr(_values(one[1]))))
    places: defaultdict[Any, int] = defaultdict(int)
    kept: Counter[str] = Counter()
    for _, row in in_order:
        is_kept = True
        for name in ("person_id", "site"):
            if row[name] is not None:
                key = name, repr(_values(row)[name])
                places[key] += 1
                is_kept &= places[key] <= most
        kept[repr(_values(row))] += is_kept
    return +kept


def _values(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "site": None if row["site"] is None else row["site"] + 0.0}


def compare(there: GatheredTable, given: dict[str, pa.Table], most: int) -> None:
    """The rows that are used there are those of the hash by hand; over these our own engine says the same of all."""
    asking = there._asking
    columns = ", ".join(NAMES)
    stored = there._remote.rows()
    from sqlglot import exp

    names = [exp.column(name, quoted=True) for name in NAMES]
    hashed = exp.select(*names, exp.alias_(asking.spelling.row_hash(names), "row_hash")).from_(stored)
    all_rows = [(row.pop("row_hash"), row) for row in asking.ask(hashed).to_pylist()]
    used = asking.ask(exp.select(*names).from_(asking.rows))
    kept = by_hand(all_rows, most)
    assert Counter(repr(_values(row)) for row in used.to_pylist()) == kept
    assert 0 < kept.total() < len(all_rows)
    with in_duckdb({**given, "visit": used.cast(given["visit"].schema)}) as connection:
        assert connection.execute(f"SELECT {columns} FROM visit").fetchone()
        with open_table(connection, table="visit", constraints=RULES, private_parents=PARENTS) as here:
            assert answers(there) == answers(here)


@pytest.mark.heavy(family="alone")
def test_postgresql(postgres: Server) -> None:
    given = tables(Random(7), 60)
    for name, rows in given.items():
        postgres.holding(rows, name)
    for most in (1, 3):
        with open_table(postgres.address, table="visit", constraints=RULES, max_children=most, **SETTINGS) as there:
            assert isinstance(there, GatheredTable)
            compare(there, given, most)
            there.refuse_change(all_rows=True)


@pytest.mark.filterwarnings("ignore")  # of PySpark, pandas and py4j
@pytest.mark.slow
def test_spark(spark: Any) -> None:
    given = tables(Random(8), 60)
    for name, rows in given.items():
        spark.createDataFrame(rows).createOrReplaceTempView(name)
    try:
        with open_table("spark:visit", constraints=RULES, max_children=2, **SETTINGS) as there:
            assert isinstance(there, GatheredTable)
            compare(there, given, 2)
    finally:
        for name in given:
            spark.catalog.dropTempView(name)


def test_a_release_of_children_there_is_charged_as_here(tmp_path: Path) -> None:
    with in_duckdb(tables(Random(9), 40)) as connection:
        costs = []
        for number, source in enumerate((connection, AskedThere(connection, "visit"))):
            ledger = tmp_path / f"{number}.ledger"
            Ledger.create(ledger, 10).close()
            asked = SETTINGS if number else {"private_parents": PARENTS, "table": "visit"}
            beside, parents = AskedThere(connection, "person") if number else connection, tmp_path / f"p{number}.ledger"
            Ledger.create(parents, 10).close()
            with (
                dpdb.open(beside, table=None if number else "person", ledger=parents) as person,
                dpdb.open(source, constraints=RULES[:1], max_children=2, ledger=ledger, **asked) as session,
            ):
                session.look_into({"person": person})
                found = session.dp_inconsistency("repair", 1)
            costs.append((found.guarantee, found.mechanism, session_spent(ledger), session_spent(parents)))
        assert costs[0] == costs[1]


def session_spent(ledger: Path) -> float:
    with Ledger.open(ledger) as opened:
        return opened.summary().spent
