"""Tables of PostgreSQL through the doors: releases, exact values, what is refused, and what is never shown."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from helpers_postgres import Server
from helpers_remote import of_no_rows

import dpdb
from dpdb.doors.cli.main import main
from dpdb.errors import ConstraintTypeError, EngineError, LedgerError, ParameterError, SourceError
from dpdb.ledger import Ledger
from dpdb.opening import open_table
from dpdb.remote.foreign_sources import PostgresSource

PEOPLE = pa.table(
    {
        "who": ["x", "x", "y", None, "z", "z"],
        "zip": [1, 1, 2, 2, 1, None],
        "city": ["a", "b", "c", "d", "a", "e"],
        "age": [1.5, float("nan"), -0.0, 0.0, None, 2.0],
    }
)
RULES = ["zip -> city", "not(t1.zip=t2.zip&t1.age<t2.age&t1.city>t2.city)", "CHECK (age <> 2 OR zip IS NOT NULL)"]


@pytest.fixture(scope="module")
def people(postgres: Server) -> str:
    postgres.run("CREATE SCHEMA clinic", "CREATE ROLE analyst LOGIN PASSWORD 'sesame%1'", "CREATE SEQUENCE numbers")
    postgres.holding(PEOPLE, "people")
    postgres.run("ALTER TABLE people SET SCHEMA clinic", "GRANT USAGE ON SCHEMA clinic TO analyst")
    postgres.run("GRANT SELECT ON clinic.people TO analyst")
    return "clinic.people"


@pytest.fixture
def log() -> Iterator[list[str]]:
    """What the owner's log is told."""
    told: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: told.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("dpdb.owner")
    logger.addHandler(handler)
    yield told
    logger.removeHandler(handler)


@pytest.mark.heavy(family="long")
def test_releases_through_every_door(
    postgres: Server, people: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], log: list[str]
) -> None:
    address = postgres.address_of("analyst").replace("analyst@", "analyst:sesame%251@")
    ledger = tmp_path / "people.ledger"
    Ledger.create(ledger, epsilon=3000).close()
    with dpdb.open(address, table=people, constraints=RULES, ledger=ledger, gather_rows=10) as session:
        for release in session.dp_inconsistency("all", 100, by="city", keys=["a", "b"]):
            assert release.where in ("city = 'a'", "city = 'b'")
        assert session.dp_count(epsilon=100, where="zip = 1").value == 3
        # Rows 2 and 6, and one of 3 and 4, of 6. Noise moves the number of rows, for 5% of epsilon, with 4e-9.
        assert session.dp_inconsistency("repair", 400, rate=True).value == pytest.approx(3 / 6)
        print(session)
    source = [address, "--table", people]
    options = ["--constraints", "zip -> city", "--gather-rows", "10", "--ledger", str(ledger)]
    shown = []
    for _ in range(2):
        assert main(["measure", *source, *options, "--measure", "repair", "--epsilon", "100", "--run-id", "d"]) == 0
        shown.append(capsys.readouterr().out.split("\nrepair ")[1].split("\n")[0])
    assert shown[0] == shown[1]
    assert main(["count", *source, "--epsilon", "100", "--ledger", str(ledger), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["releases"][0]["value"] == 6
    statement = "SELECT value FROM dp_count('people', epsilon := 100)"
    assert main(["sql", *source, statement, *options]) == 0
    assert main(["explain", *source, "--constraints", "zip -> city"]) == 0
    job = tmp_path / "job.toml"
    job.write_text(
        f'name = "nightly"\nsource = "{address}"\ntable = "{people}"\nconstraints = ["zip -> city"]\n'
        'ledger = "people.ledger"\nresults = "results.duckdb"\ngather_rows = 10\n'
        '[[release]]\nname = "dirt"\nmeasure = "repair"\nepsilon = 100\n'
    )
    assert main(["run", str(job), "--run-id", "1", "--quiet"]) == 0
    job.unlink()
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    captured = capsys.readouterr()
    for secret in ("sesame%1", "sesame%251"):
        assert secret not in captured.out + captured.err + "".join(log)
        assert secret.encode() not in written


@pytest.mark.heavy(family="long")
def test_exact_values_are_those_of_the_same_rows_here(
    postgres: Server, people: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from pyarrow import parquet

    parquet.write_table(PEOPLE, tmp_path / "people.parquet")
    rules = [part for rule in RULES for part in ("--constraints", rule)]
    shown = []
    for source in ([postgres.address, "--table", people], [str(tmp_path / "people.parquet")]):
        assert main(["exact", *source, *rules, "--non-private", "--by-constraint", "--format", "json"]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("address", "table", "words"),
    [
        ("{owner}", None, "name the table with --table"),
        ("{owner}", "clinic.gone", "there is no such table or view"),
        ("{owner}", "People", "there is no such table or view"),
        ("{owner}", "", "name the table with --table"),
        ("{owner}", "x'; DROP TABLE clinic.people; --", "there is no such table or view"),
        ("{owner}", "numbers", "that is no table or view"),
        ("{wrong}", "clinic.people", "the server refuses the user or the password"),
        ("{nowhere}", "clinic.people", "no connection can be made"),
        ("postgresql://u:pa@sesame@host/db", "t", "not an address"),
        ("postgresql://u:pa/sesame@host/db", "t", "not an address"),
    ],
)
def test_what_cannot_be_opened_is_one_line_without_a_password(
    postgres: Server,
    people: str,
    address: str,
    table: str | None,
    words: str,
    capsys: pytest.CaptureFixture[str],
    log: list[str],
) -> None:
    wrong = postgres.address_of("analyst").replace("analyst@", "analyst:opensesame@")
    nowhere = "postgresql://owner:sesame@/db?host=%2Fno%2Fsuch&sslpassword=sesame2"
    written = address.format(owner=postgres.address, wrong=wrong, nowhere=nowhere)
    named = [] if table is None else ["--table", table]
    assert main(["count", written, *named, "--epsilon", "1"]) == 2
    shown = capsys.readouterr()
    assert words in shown.err
    assert len(shown.err.splitlines()) == 1
    assert "sesame" not in shown.out + shown.err + "".join(log)


@pytest.mark.heavy(family="long")
def test_an_open_connection_keeps_its_own_transaction(postgres: Server, people: str) -> None:
    from adbc_driver_postgresql import dbapi

    with closing(dbapi.connect(postgres.address)) as connection, closing(connection.cursor()) as cursor:
        cursor.execute("INSERT INTO clinic.people VALUES ('new', 9, 'n', 1)")
        with dpdb.open(connection, table=people, constraints=RULES, budget=1000, gather_rows=10) as session:
            assert session.dp_count(epsilon=500).value == 6
            with pytest.raises(SourceError, match="there is no such table"):
                dpdb.open(connection, table="gone", constraints=RULES, budget=1)
        cursor.execute("SELECT count(*) FROM clinic.people")
        assert cursor.fetchone() == (7,)
        connection.rollback()


@pytest.mark.heavy(family="long")
def test_every_release_of_a_session_sees_the_rows_that_were_there_when_it_was_opened(
    postgres: Server, tmp_path: Path
) -> None:
    name = postgres.holding(PEOPLE)
    Ledger.create(tmp_path / "t.ledger", epsilon=9_000)
    options = {"table": name, "constraints": "zip -> city", "ledger": tmp_path / "t.ledger"}
    with dpdb.open(postgres.address, **options) as session:
        assert session.dp_count(epsilon=1000).value == 6
        postgres.run(f"DELETE FROM {name} WHERE zip = 1")
        assert session.dp_count(epsilon=1000, where="zip >= 1").value == 5
    with pytest.raises(LedgerError, match="the source has changed"), dpdb.open(postgres.address, **options) as session:
        session.dp_count(epsilon=0.1)


@pytest.mark.heavy(family="long")
def test_a_view_that_writes_or_fails_on_a_row_is_refused_when_it_is_opened(postgres: Server, people: str) -> None:
    postgres.run(
        "CREATE VIEW failing AS SELECT zip, city::int AS n FROM clinic.people",
        "CREATE VIEW writing AS SELECT zip, nextval('numbers') AS n FROM clinic.people",
    )
    for view in ("failing", "writing"):
        with pytest.raises(SourceError, match="reading its rows failed; the reason is in the owner's log") as failure:
            dpdb.open(postgres.address, table=view, constraints="zip -> n", budget=3, gather_rows=10)
        assert failure.value.__cause__ is None


@pytest.mark.heavy(family="long")
def test_columns_that_the_user_may_not_read_are_left_alone(postgres: Server, people: str) -> None:
    postgres.run(
        "CREATE TABLE granted AS SELECT * FROM clinic.people", "CREATE TABLE closed (zip int, city text)",
        "GRANT SELECT (zip, city) ON granted TO analyst",
    )  # fmt: skip
    address = postgres.address_of("analyst").replace("analyst@", "analyst:sesame%251@")
    with open_table(address, table="granted", constraints="zip -> city", gather_rows=9) as there:
        assert there.count_rows([None, there.where("zip = 1")]) == [6, 3]
    with pytest.raises(ConstraintTypeError, match="double precision that the user may not read"):
        open_table(address, table="granted", constraints="zip -> age")
    with pytest.raises(SourceError, match="the user may read no column of it"):
        open_table(address, table="closed", constraints="zip -> city")


def test_what_a_view_says_of_its_rows_is_shown_to_nobody(
    postgres: Server, people: str, capfd: pytest.CaptureFixture[str], log: list[str]
) -> None:
    postgres.run(
        "CREATE FUNCTION said(city text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE NOTICE 'said %', city; RAISE WARNING 'said %', city; RAISE INFO 'said %', city; RETURN city; END $$",
        "CREATE VIEW talking AS SELECT zip, said(city) AS city FROM clinic.people",
    )
    with dpdb.open(postgres.address, table="talking", constraints="zip -> city", budget=3, gather_rows=9) as session:
        session.dp_inconsistency("repair", 1)
    captured = capfd.readouterr()
    assert "said" not in captured.out + captured.err + "".join(log)


@pytest.mark.heavy(family="privacy")
def test_nothing_is_published_of_a_view_that_is_drawn_anew_every_time(
    postgres: Server, people: str, tmp_path: Path
) -> None:
    """Two readings that are equal by chance: 6 rows of 2^52 values."""
    postgres.run("CREATE VIEW drawn AS SELECT zip, random() AS city FROM clinic.people")
    Ledger.create(tmp_path / "t.ledger", epsilon=3)
    options = {"table": "drawn", "constraints": "zip -> city", "ledger": tmp_path / "t.ledger", "gather_rows": 9}
    with dpdb.open(postgres.address, **options) as session:
        with pytest.raises(SourceError, match="its rows are not those that were there when it was opened"):
            session.dp_inconsistency("repair", 1)
        assert session.spent() == 0
    with dpdb.open(postgres.address, table="drawn", constraints="zip -> city", gather_rows=9) as session:
        with pytest.raises(EngineError, match="the release failed after its budget was debited"):
            session.dp_inconsistency("repair", 1)
        assert session.spent() == 1


@pytest.mark.heavy(family="long")
def test_rows_that_are_stored_are_one_table_for_certain(postgres: Server, people: str) -> None:
    postgres.run(
        "CREATE FOREIGN DATA WRAPPER elsewhere", "CREATE SERVER far FOREIGN DATA WRAPPER elsewhere",
        "CREATE TABLE divided (a int) PARTITION BY LIST (a)", "CREATE TABLE first PARTITION OF divided DEFAULT",
        "CREATE TABLE outside (a int) PARTITION BY LIST (a)",
        "CREATE FOREIGN TABLE fetched PARTITION OF outside DEFAULT SERVER far",
        "CREATE TABLE guarded (a int)", "ALTER TABLE guarded ENABLE ROW LEVEL SECURITY",
        "CREATE VIEW now_there AS SELECT zip, now() AS at, city FROM clinic.people",
        "CREATE MATERIALIZED VIEW drawn_once AS SELECT random() AS a",
    )  # fmt: skip
    fixed = {"divided": True, "outside": False, "fetched": False, "guarded": False, "now_there": False, people: True}
    for table, is_fixed in {**fixed, "drawn_once": True}.items():
        remote = PostgresSource().open(postgres.address, table)
        assert remote.is_fixed == is_fixed, table
        remote.close()
    options: dict[str, Any] = {"constraints": "zip -> city", "gather_rows": 9, "budget": 1}
    with dpdb.open(postgres.address, table="now_there", **options) as session:  # a transaction has one time
        session.dp_inconsistency("repair", 1)


@pytest.mark.heavy(family="long")
def test_views_and_partitions_are_tables(postgres: Server, people: str) -> None:
    postgres.run(
        "CREATE TABLE parted (LIKE clinic.people) PARTITION BY LIST (zip)",
        "CREATE TABLE part_one PARTITION OF parted FOR VALUES IN (1)",
        "CREATE TABLE part_rest PARTITION OF parted DEFAULT",
        "INSERT INTO parted SELECT * FROM clinic.people",
        "CREATE VIEW seen AS SELECT * FROM parted",
        "CREATE MATERIALIZED VIEW kept AS SELECT * FROM parted",
    )
    for name, rows in (("parted", 6), ("part_one", 3), ("seen", 6), ("kept", 6)):
        with open_table(postgres.address, table=name, constraints=RULES[:2], gather_rows=9) as there:
            assert there.count_rows([None]) == [rows]


# -- faults -----------------------------------------------------------------------------------------------------------


def test_a_timeout_after_the_debit_is_one_message_and_paid_once(
    postgres: Server, people: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpdb.remote.postgres_table import PostgresTable

    Ledger.create(tmp_path / "t.ledger", epsilon=3)
    options = {"table": people, "constraints": RULES, "ledger": tmp_path / "t.ledger", "gather_rows": 9}
    with dpdb.open(postgres.address, **options) as session:
        ask, asked = PostgresTable.ask, []

        def timed(table: PostgresTable, tree: object) -> pa.Table:
            if of_no_rows(tree):  # type: ignore[arg-type]
                return ask(table, tree)  # type: ignore[arg-type]
            asked.append(tree)
            table._transaction.run(f"SET LOCAL statement_timeout = {1 if len(asked) == 2 else 0}")
            rows = table._select
            if len(asked) == 2:
                table._select = rows.where("pg_sleep(1) IS NOT NULL", dialect="postgres")
            try:
                return ask(table, tree)  # type: ignore[arg-type]
            finally:
                table._select = rows

        with monkeypatch.context() as slow:
            slow.setattr(PostgresTable, "ask", timed)
            with pytest.raises(EngineError) as failure:
                session.dp_inconsistency("repair", 1, run_id="monday")
        assert str(failure.value).startswith("the release failed after its budget was debited")
        assert session.spent() == 1
        answer = session.dp_inconsistency("repair", 1, run_id="monday")  # in the same session, of the same rows
        assert session.spent() == 1
    assert len(asked) == 2
    with dpdb.open(postgres.address, **options) as session:
        assert session.dp_inconsistency("repair", 1, run_id="monday").value == answer.value


@pytest.mark.heavy(family="long")
def test_a_query_that_ctrl_c_stops_leaves_the_transaction(
    postgres: Server, people: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from contextlib import suppress

    from dpdb.remote import postgres_table as adbc

    def stopped(cursor: Any, query: object) -> None:
        with suppress(Exception):
            cursor.execute("SELECT 1 / 0")
        raise KeyboardInterrupt

    name = postgres.holding(PEOPLE)
    with open_table(postgres.address, table=name, constraints=RULES[:1], gather_rows=9) as there:
        with monkeypatch.context() as once:
            once.setattr(adbc, "answer", stopped)
            with pytest.raises(KeyboardInterrupt):
                there.count_rows([None])
        with pytest.raises(Exception, match="lock timeout"):  # a table that is emptied is so for every snapshot
            postgres.run("SET lock_timeout = 100", f"TRUNCATE {name}")
        assert there.count_rows([None]) == [6]


@pytest.mark.heavy(family="long")
def test_a_server_that_stops_in_the_middle_of_a_query(
    postgres: Server, people: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from threading import Thread

    from dpdb.remote.postgres_table import PostgresTable

    Ledger.create(tmp_path / "t.ledger", epsilon=3)
    options = {"table": people, "constraints": RULES, "ledger": tmp_path / "t.ledger", "gather_rows": 9}
    ask, asked = PostgresTable.ask, []
    stopping = Thread(target=postgres.stop_during_sleep)

    def stopped(table: PostgresTable, tree: object) -> pa.Table:
        if not of_no_rows(tree):  # type: ignore[arg-type]
            asked.append(tree)
        if len(asked) == 2:  # after the content, that is after the debit
            table._select = table._select.where("pg_sleep(3600) IS NOT NULL", dialect="postgres")
            stopping.start()
        return ask(table, tree)  # type: ignore[arg-type]

    with dpdb.open(postgres.address, **options) as session:
        monkeypatch.setattr(PostgresTable, "ask", stopped)
        try:
            with pytest.raises(EngineError) as failure:
                session.dp_inconsistency("repair", 1, run_id="monday")
            monkeypatch.undo()
            assert str(failure.value).startswith("the release failed after its budget was debited")
            with pytest.raises(EngineError, match="a query failed in PostgreSQL"):
                session.dp_count(epsilon=1)
            assert session.spent() == 1
        finally:
            stopping.join()
            postgres.start()
    with dpdb.open(postgres.address, **options) as session:
        answer = session.dp_inconsistency("repair", 1, run_id="monday")
        assert session.dp_inconsistency("repair", 1, run_id="monday").value == answer.value
        assert session.spent() == 1


@pytest.mark.heavy(family="privacy")
def test_a_graph_needs_a_guess_and_a_count_needs_none(postgres: Server, people: str) -> None:
    with dpdb.open(postgres.address, table=people, constraints=RULES, budget=10) as session:
        session.dp_count(epsilon=1)
        with pytest.raises(ParameterError, match="--gather-rows"):
            session.dp_inconsistency("repair", 1)
    with dpdb.open(postgres.address, table=people, constraints=RULES[:1], budget=1_000_000) as session:
        release = session.dp_inconsistency("minimal_inconsistency", 1_000_000, mechanism="by_rule")
    assert release.value == 3
