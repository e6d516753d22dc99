"""Rules across tables where both lie in another engine: the statistics of our own, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from asked_there import AskedThere
from helpers_postgres import Server
from helpers_remote import closed_forms, statistics

import dpdb
from dpdb.engine import Table
from dpdb.errors import ConstraintTypeError, DpdbError, ParameterError, SourceError
from dpdb.ledger import Ledger
from dpdb.opening import open_table

DAY = date(2020, 1, 1)
VISITS = pa.table(
    {
        "vid": list(range(120)),
        "person_id": [None if k % 7 == 0 else k % 30 for k in range(120)],
        "day": [DAY + timedelta(k % 50) if k % 11 else None for k in range(120)],
        "code": [k % 3 for k in range(120)],
        "across_0": [k % 4 for k in range(120)],
        "weight": [float("nan") if k % 5 == 0 else -0.0 if k % 5 == 1 else k / 7 for k in range(120)],
    }
)
PEOPLE = pa.table(
    {
        "pid": [*range(25), *range(5), None],
        "death": [*(None if k % 5 == 0 else DAY + timedelta(2 * k) for k in range(25)), *[DAY + timedelta(31)] * 6],
        "kind": [*(k % 2 for k in range(25)), 1, 1, 1, 1, 1, 0],
        "most": [float("nan") if k % 4 == 0 else 0.0 if k % 4 == 1 else 3.5 for k in range(31)],
    }
)
RULES = [
    "CHECK (day <= person.death) BY person_id = person.pid",
    "CHECK (day < person.death OR code = 1) BY person_id = person.pid WHERE kind = 1 AND vid > 20",
    "CHECK (weight <= person.most) BY person_id = person.pid AND code = person.kind",
    "person_id IN person.pid WHERE person.kind = 1 AND vid > 20",
    "visit IN person BY person_id = person.pid",
    "person_id, code -> across_0",
]
MEMBERS = [
    "CHECK (code IN (SELECT code_id FROM codes WHERE grp = 1))",
    "not(code IN (SELECT code_id FROM codes WHERE grp = 1) AND day > person.death) BY person_id = person.pid",
    "CHECK (person.kind = 1 OR code NOT IN (SELECT code_id FROM codes)) BY person_id = person.pid "
    "WHERE vid IN (SELECT grp FROM codes) OR vid > 20",
    "CHECK (vid > 60 OR across_0 IN (SELECT code_id FROM codes WHERE grp = 1))",
    "person_id IN person.pid WHERE person.kind = 1 AND vid IN (SELECT code_id FROM codes)",
    "person_id -> code WHERE code IN (SELECT code_id FROM codes WHERE grp = 1)",
    "not(t1.person_id = t2.person_id & (t1.code IN (SELECT code_id FROM codes)) "
    "!= (t2.vid IN (SELECT grp FROM codes)))",
]
CODES = pa.table({"code_id": [0, 1, 1, None, 2, 5], "grp": [1, 2, 1, 1, None, 1]})
UNIT: dict[str, Any] = {"private_parents": ["person"], "unit": "person_id", "max_rows": 100}


def answers(table: Table, where: str | None) -> Any:
    return statistics(table, where), closed_forms(table, where)


def compare(there: Any, table: str | None, settings: dict[str, Any]) -> None:
    """The same numbers, of all rules together and of each; k rows of a unit are all, as each engine has a hash."""
    with duckdb.connect() as connection:
        connection.register("visit", VISITS)
        connection.register("person", PEOPLE)
        for where in (None, "code = 1"):
            with open_table(connection, table="visit", constraints=RULES, **settings) as opened:
                expected = answers(opened, where)
            assert expected[0]["self-conflicts"] > 10
            assert where is not None or expected[0]["degrees"][0] > 0
            with open_table(there, table=table, constraints=RULES, gather_rows=1_000, **settings) as opened:
                assert answers(opened, where) == expected
                opened.refuse_change(all_rows=True)


def compare_counts(there: Any, settings: dict[str, Any]) -> None:
    """Of each rule on one row how many rows violate it, and the state of the rows: few queries."""
    with duckdb.connect() as connection:
        connection.register("visit", VISITS)
        connection.register("person", PEOPLE)
        with open_table(connection, table="visit", constraints=RULES[:4], **settings) as opened:
            expected = closed_forms(opened)
    with open_table(there, constraints=RULES[:4], **settings) as opened:
        asked = [found for dc in opened.constraints if (found := opened.exact_statistic([dc])) is not None]
        counted = opened.count_all(None, asked)
        opened.refuse_change(all_rows=True)
    assert counted == [expected[place, "violations", False] for place in range(1, 5)]


@pytest.fixture
def here() -> Iterator[AskedThere]:
    with duckdb.connect() as connection:
        connection.register("visit", VISITS)
        connection.register("person", PEOPLE)
        yield AskedThere(connection, "visit")


@pytest.fixture(scope="module")
def beside(postgres: Server) -> Server:
    for name, rows in (("visit", VISITS), ("person", PEOPLE)):
        postgres.holding(rows, name)
    return postgres


@pytest.mark.heavy
@pytest.mark.parametrize("settings", [{"public_parents": ["person"]}, UNIT], ids=["public", "private"])
def test_our_own_engine_as_another(here: AskedThere, settings: dict[str, Any]) -> None:
    compare(here, None, settings)


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("settings", [{"public_parents": ["person"]}, UNIT], ids=["public", "private"])
def test_postgresql(beside: Server, settings: dict[str, Any]) -> None:
    compare(beside.address, "visit", settings)


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("settings", [{"public_parents": ["person", "codes"]}, UNIT | {"public_parents": ["codes"]}])
@pytest.mark.parametrize("there", ["here", "postgresql"])
def test_members(beside: Server, there: str, settings: dict[str, Any]) -> None:
    with duckdb.connect() as connection:
        for name, rows in (("visit", VISITS), ("person", PEOPLE), ("codes", CODES)):
            connection.register(name, rows)
        if there != "here":
            beside.run("DROP TABLE IF EXISTS codes")
            beside.holding(CODES, "codes")
        source: Any = AskedThere(connection, "visit") if there == "here" else beside.address
        table = None if there == "here" else "visit"
        with open_table(connection, table="visit", constraints=MEMBERS, **settings) as opened:
            expected = answers(opened, None)
        assert expected[0]["self-conflicts"] > 10
        with open_table(source, table=table, constraints=MEMBERS, gather_rows=1_000, **settings) as opened:
            assert answers(opened, None) == expected
            opened.refuse_change(all_rows=True)


@pytest.mark.filterwarnings("ignore")  # of PySpark, pandas and py4j
@pytest.mark.slow
def test_spark(spark: Any) -> None:
    for name, rows in (("visit", VISITS), ("person", PEOPLE)):
        spark.createDataFrame(rows).createOrReplaceTempView(name)
    try:
        compare_counts("spark:visit", {"public_parents": ["person"]})
    finally:
        for name in ("visit", "person"):
            spark.catalog.dropTempView(name)


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "a file": (RULES[0], {"public_parents": {"person": "person.parquet"}}, "parents are tables of the same database"),
    "not there": ("code IN nowhere.code", {"public_parents": ["nowhere"]}, "parent 'nowhere': "),
    "not declared": (RULES[0], {"public_parents": ["people"]}, "parent 'people': |is not declared"),
    "no column": ("code IN person.code", {"public_parents": ["person"]}, "person: there is no column 'code'"),
    "twice": (RULES[0], {"private_parents": ["person", "main.person"]}, "are one table, and not both are public"),
    "itself": ("code IN visit.vid", {"public_parents": ["visit"]}, "is the measured table itself, whose rows"),
    "rows": (RULES[0], {"private_parents": ["person"]}, "is private, so one of its rows could"),
}


@pytest.mark.heavy
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_sound_or_not_there_is_one_line_and_costs_nothing(
    here: AskedThere, tmp_path: Path, case: str
) -> None:
    rule, settings, message = REFUSED[case]
    ledger = tmp_path / "l.ledger"
    Ledger.create(ledger, 1).close()
    with pytest.raises(DpdbError, match=message) as refused:
        dpdb.open(here, constraints=[rule], ledger=ledger, **settings)
    assert "\n" not in str(refused.value)
    with Ledger.open(ledger) as opened:
        assert opened.summary().spent == 0


@pytest.mark.heavy(family="long")
def test_postgresql_refuses_what_it_reads_differently(beside: Server) -> None:
    options: dict[str, Any] = {"table": "visit", "public_parents": ["person"]}
    with pytest.raises(ConstraintTypeError, match="view of the table"):
        open_table(beside.address, constraints="CHECK (weight / 2 <= person.most) BY person_id = person.pid", **options)
    with pytest.raises(SourceError, match="no such table or view"):
        open_table(beside.address, constraints="code IN gone.x", table="visit", public_parents=["gone"])
    with pytest.raises(ParameterError, match="is the measured table itself"):
        dpdb.open(
            beside.address, constraints="code IN public.visit.vid", table="visit", public_parents=["public.visit"]
        )


@pytest.mark.heavy(family="privacy")
def test_a_private_parent_that_changes_is_seen(beside: Server) -> None:
    """In PostgreSQL a session sees one state of stored tables; the next one sees another state, of the parent alone."""
    options: dict[str, Any] = {"table": "visit", "constraints": RULES[:1], **UNIT}
    states = []
    for statement in ("SELECT 1", "UPDATE person SET most = 7 WHERE pid = 3"):
        with open_table(beside.address, **options) as opened:
            beside.run(statement)
            opened.refuse_change(all_rows=True)
            states.append(opened.opened_content())
    with open_table(beside.address, **options) as opened:
        states.append(opened.opened_content())
    assert states[0] == states[1] != states[2]
