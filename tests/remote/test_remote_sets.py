"""Suites over a set of tables in another engine: counted there as of Parquet files of the same rows, check by check."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from contextlib import suppress
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from asked_there import AskedThere
from helpers_postgres import NotStartedError, Server, why_no_postgres
from helpers_sets import DAY, OPTIONS, SCHEMAS, SUITES, SUITES_OF_ROWS, compare, random_tables, written
from inside import account_of

from dpdb import stopping as steps
from dpdb.doors.cli.main import main
from dpdb.errors import EngineError, LedgerError, ParameterError, SourceError
from dpdb.ledger import Ledger
from dpdb.suites import TableSet

_NUMBERS = count()
# More than any of the tables here has: ordered pairs and overlapping times are counted over the rows in conflict.
GATHERED = 10_000


def in_postgres(server: Server, tables: dict[str, pa.Table]) -> str:
    """Make a schema with the tables, and return what names them all."""
    schema = f"set_{next(_NUMBERS)}"
    server.run(f"CREATE SCHEMA {schema}")
    for name, rows in tables.items():
        made = server.holding(rows)
        server.run(f"ALTER TABLE {made} SET SCHEMA {schema}", f"ALTER TABLE {schema}.{made} RENAME TO {name}")
    return f"{schema}.*"


def both_ways(folder: Path, tables: dict[str, pa.Table], there: Any, **options: Any) -> None:
    """Persons, and rows."""
    here, suites = written(folder, tables)
    persons = compare(here, there, suites, **options)
    _, suites = written(folder / "rows", {}, SUITES_OF_ROWS)
    rows = compare(here, there, suites, max_rows=1_000, gather_rows=GATHERED, **options)
    assert sum(found[0] > 0 for found in persons.values()) > len(persons) // 2
    assert any(found[0] > persons[name][0] for name, found in rows.items() if name in persons)


@pytest.mark.heavy(family="long")
def test_our_own_engine_as_another(tmp_path: Path) -> None:
    tables = random_tables(Random(0), 40)
    with duckdb.connect() as connection:
        for name, rows in tables.items():
            connection.register(name, rows)
        both_ways(tmp_path, tables, AskedThere(connection))


@pytest.mark.heavy(family="both ways")
def test_postgresql(postgres: Server, tmp_path: Path) -> None:
    tables = random_tables(Random(3), 40)
    both_ways(tmp_path, tables, postgres.address, table=in_postgres(postgres, tables))


@pytest.mark.slow
def test_postgresql_over_many_sets(postgres: Server, tmp_path: Path) -> None:
    for seed in range(10, 30):
        tables = random_tables(Random(seed), 30)
        both_ways(tmp_path / str(seed), tables, postgres.address, table=in_postgres(postgres, tables))


@pytest.mark.filterwarnings("ignore")  # of PySpark, pandas and py4j
@pytest.mark.slow
def test_spark(spark: Any, tmp_path: Path) -> None:
    """A schema with a view in it, and a folder of files that Spark reads."""
    tables = random_tables(Random(5), 40)
    here, suites = written(tmp_path, tables)
    spark.sql("CREATE DATABASE omop_set")
    try:
        for name in tables:
            made = "VIEW" if name == "visit" else "TABLE"
            source = spark.read.parquet(str(here / f"{name}.parquet"))
            if made == "TABLE":
                source.write.saveAsTable(f"omop_set.{name}")
            else:
                source.write.saveAsTable("omop_set.stored")
                spark.sql("CREATE VIEW omop_set.visit AS SELECT * FROM omop_set.stored")
        found = compare(here, "spark:omop_set", suites)
        assert sum(one[0] > 0 for one in found.values()) > len(found) // 2
        _, by_rows = written(tmp_path / "rows", {}, SUITES_OF_ROWS)
        compare(here, f"spark:parquet.`{here}`", by_rows, max_rows=1_000, gather_rows=GATHERED)
        with pytest.raises(SourceError, match="there is no such schema"):
            TableSet("spark:nowhere", suites, **OPTIONS)
    finally:
        spark.sql("DROP DATABASE omop_set CASCADE")


@pytest.mark.heavy(family="long")
def test_rows_in_conflict_come_only_if_the_owner_has_said_how_many(place: tuple[Server, str], tmp_path: Path) -> None:
    server, table = place
    _, suites = written(tmp_path, {}, {"visit": SUITES_OF_ROWS["visit"]})
    asked: dict[str, Any] = OPTIONS | {"table": table, "max_rows": 3}
    with pytest.raises(ParameterError, match="--gather-rows N"):
        TableSet(server.address, suites, **asked)
    with TableSet(server.address, suites, **asked, gather_rows=100) as opened:
        run = opened.prepare(epsilon=1)
        assert '"fractional cover"' not in run.spec  # with the rows, each rule has its closed form, as in a file
        assert len(opened.run(run)) == len(opened.prepare().counted.limits)


# -- bad input ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def place(postgres: Server) -> tuple[Server, str]:
    """A set in which a fourth of 4,000 persons have no birth."""
    days = [None if k % 4 == 0 else DAY for k in range(4_000)]
    person = pa.table([list(range(4_000)), days, [1] * 4_000], schema=SCHEMAS["person"])
    return postgres, in_postgres(postgres, random_tables(Random(6), 40) | {"person": person})


REFUSED: dict[str, tuple[dict[str, Any], dict[str, str], list[str], str]] = {
    "no schema": ({"table": "nowhere.*"}, {}, [], "there is no schema 'nowhere'"),
    "one table": ({"table": "person"}, {}, [], "--table is a schema with all its tables"),
    "no private parent": ({"public_parents": {}}, {}, [], "declare it: --public-parent concept"),
    "a file": ({"public_parents": {"concept": "c.parquet"}}, {}, [], "parents are tables of the same schema"),
    "another type": ({}, {"visit": "note IN concept.concept_id\n"}, [], "note"),
    "two of a name": ({}, {}, ['CREATE TABLE {}."Concept" (concept_id int)'], "has two tables of one name"),
    "nothing": ({}, dict.fromkeys(("person", "visit", "death"), "NOT NULL(gone)\n"), [], "no check of"),
    "unlike units": ({}, {}, ["ALTER TABLE {}.death ALTER person_id TYPE text"], "cannot compare 'person_id'"),
    "a view that fails": ({}, {}, ["CREATE VIEW {0}.late AS SELECT person_id, 1 / (person_id - person_id) AS x FROM "
                                   "{0}.person"], "late'?: reading its rows failed"),
    "a view of chance": ({}, {}, ["CREATE VIEW {0}.late AS SELECT person_id, random() AS x FROM {0}.person"],
                         "its rows are not those that were there when it was opened"),
}  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_set_is_one_line_and_costs_nothing(
    place: tuple[Server, str], tmp_path: Path, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    server, table = place
    options, suites, statements, said = REFUSED[case]
    if statements:
        table = in_postgres(server, random_tables(Random(6), 10))
        server.run(*(each.format(table[:-2]) for each in statements))
        suites = suites | ({"late": "CHECK (x >= 0)\n"} if "late" in statements[0] else {})
    _, folder = written(tmp_path, {}, SUITES | suites)
    ledger = tmp_path / "set.ledger"
    Ledger.create(ledger, 3).close()
    asked = OPTIONS | {"table": table} | options
    words = ["check", server.address, str(folder), "--table", asked["table"], "--unit", asked["unit"], "--quiet"]
    for name, source in asked["public_parents"].items():
        words += ["--public-parent", name if source is None else f"{name}={source}"]
    assert main([*words, "--ledger", str(ledger)]) in (2, 3)
    shown = capsys.readouterr()
    assert shown.out == ""
    lines = [line for line in shown.err.splitlines() if not line.startswith("dpdb: with --run-id")]
    assert len(lines) == 1, lines
    assert re.search(said, lines[0]), lines
    with Ledger.open(ledger) as opened:
        assert opened.lines() == []


@pytest.mark.heavy(family="long")
def test_what_is_missing_there_is_named_and_not_checked(
    place: tuple[Server, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No vocabulary, no parent, no column, and what PostgreSQL might compute otherwise: public reasons."""
    server, table = place
    _, folder = written(
        tmp_path,
        {},
        {
            "person": "NOT NULL(born)\nlow: CHECK (sex / 2 = 1)\n",
            "visit": "a: kind IN vocabulary.concept_id\nb: CHECK (x > 0)\nc: lost IN person.person_id\n",
        },
    )  # fmt: skip
    words = ["check", server.address, str(folder), "--table", table, "--unit", "person_id", "--dry-run"]
    assert main([*words, "--public-parent", "vocabulary"]) == 0
    shown = capsys.readouterr().out
    assert "Not checked: 4, for public reasons:" in shown
    for reason in (
        "there is no table vocabulary",
        "there is no column x",
        "there is no column lost",
        "in PostgreSQL /",
    ):
        assert reason in shown


@pytest.mark.heavy(family="long")
def test_views_are_tables_of_a_set(postgres: Server, tmp_path: Path) -> None:
    tables = random_tables(Random(11), 30)
    table = in_postgres(postgres, tables)
    postgres.run(
        "CREATE SCHEMA shown", *(f"CREATE VIEW shown.{each} AS SELECT * FROM {table[:-1]}{each}" for each in tables)
    )
    here, suites = written(tmp_path, tables)
    compare(here, postgres.address, suites, table="shown.*")


# -- runs -----------------------------------------------------------------------------------------------------------


@pytest.mark.heavy(family="spending")
def test_a_set_there_is_checked_by_one_debit_at_one_moment(place: tuple[Server, str], tmp_path: Path) -> None:
    server, table = place
    _, suites = written(tmp_path, {})
    ledger = tmp_path / "set.ledger"
    Ledger.create(ledger, 3).close()
    asked: dict[str, Any] = OPTIONS | {"table": table, "ledger": ledger}
    with TableSet(server.address, suites, **asked) as opened:
        server.run(f"DELETE FROM {table[:-2]}.death")  # after the opening: it is not seen
        first = opened.check(epsilon=1, run_id="monday")
        assert {(each.name, each.severity): each.verdict for each in first}["person.born", "fail"] == "fail"
        assert opened.check(epsilon=1, run_id="monday").to_json() == first.to_json()
        spent = account_of(opened).spent()
        assert 0.25 < spent <= 1
        assert server.asked(
            "SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in %'"
        ) == [(1,)]
    with TableSet(server.address, suites, **asked) as again:
        assert again.check(epsilon=1, run_id="monday").to_json() == first.to_json()
        with pytest.raises(LedgerError, match="epoch"):  # the deleted rows are another state of the set
            again.check(epsilon=1, run_id="tuesday")
        assert account_of(again).spent() == spent
    with pytest.raises(LedgerError):
        TableSet(server.address, suites, **asked, max_rows=2, gather_rows=100)


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("before", [True, False])
def test_a_server_that_goes_away_is_one_line(tmp_path: Path, before: bool) -> None:
    """Before the debit nothing is spent; after it the same run id finishes what was debited, once."""
    reason = why_no_postgres()
    if reason is not None:
        pytest.skip(reason)
    with TemporaryDirectory(prefix="dpdb-pg-") as folder:
        Path(folder).chmod(0o755)
        server = Server(Path(folder) / "server")
        try:
            table = in_postgres(server, random_tables(Random(6), 20))
            _, suites = written(tmp_path, {})
            ledger = tmp_path / "set.ledger"
            Ledger.create(ledger, 3).close()
            asked: dict[str, Any] = OPTIONS | {"table": table, "ledger": ledger}
            with TableSet(server.address, suites, **asked) as opened:
                run = opened.prepare(epsilon=1, run_id="monday")
                if before:
                    server.stop()
                else:
                    steps.watchers.append(lambda step: server.stop() if step == "reserved" else None)
                try:
                    said = (
                        "a query failed in PostgreSQL" if before else "the release failed after its budget was debited"
                    )
                    with pytest.raises(EngineError, match=f"{said}; the reason is in") as caught:
                        opened.run(run)
                finally:
                    steps.watchers.clear()
                assert "\n" not in str(caught.value)
                assert account_of(opened).spent() == (0 if before else 1)
            server.start()
            with TableSet(server.address, suites, **asked) as again:
                again.check(epsilon=1, run_id="monday")
                assert 0 < account_of(again).spent() <= 1
            with Ledger.open(ledger) as opened_ledger:
                assert len(opened_ledger.lines()) == 1
        finally:
            with suppress(NotStartedError):  # it did not come back
                server.stop()


@pytest.mark.heavy(family="spending")
def test_a_set_there_that_is_killed_is_finished_by_the_same_command(postgres: Server, tmp_path: Path) -> None:
    _killed(postgres, tmp_path, ["inserted", "level drawn"])


@pytest.mark.slow
def test_a_set_there_that_is_killed_at_each_step(postgres: Server, tmp_path: Path) -> None:
    steps = [
        "asked",
        "begun",
        "secret written",
        "inserted",
        "reserved",
        "level drawn",
        "level written",
        "level recorded",
    ]
    _killed(postgres, tmp_path, [*steps, "ending", "end written", "secret overwritten", "ended"])


def _killed(server: Server, folder: Path, steps: list[str]) -> None:
    days = [None if k % 4 == 0 else DAY for k in range(2_000)]
    person = pa.table([list(range(2_000)), days, [1] * 2_000], schema=SCHEMAS["person"])
    table = in_postgres(server, random_tables(Random(6), 40) | {"person": person})
    _, suites = written(folder, {}, {"person": "born: NOT NULL(born)\n", "visit": "person_id IN person.person_id\n"})
    driver = Path(__file__).parents[1] / "suites" / "set_driver.py"
    cases = [f"kill {step}" for step in steps]
    command = [sys.executable, str(driver), server.address, table, str(suites), str(folder), "", *cases]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=500).stdout)
    assert found["1"] != found["2"]
    for case in cases:
        debited = case not in ("kill asked", "kill begun", "kill secret written", "kill inserted")
        wanted, spent = found["1" if debited else "2"]
        one = found[case]
        assert (one["ended"], one["debits after"]) == ([-signal.SIGKILL, 0, 0], debited), case
        assert (one["said"], one["debits"], one["spent"]) == ([None, wanted, wanted], 1, spent), case
