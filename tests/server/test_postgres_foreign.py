"""PostgreSQL's own servers as clients: foreign tables by postgres_fdw, and dblink."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from helpers_postgres import Server as PostgresServer
from private_rows import shows_private
from server_site import Server, make_site

STATES = [("CA", 39), ("NY", 19), ("TX", 29)]


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(make_site(tmp_path_factory.mktemp("foreign"), epsilon=50, postgres=True)) as running:
        yield running


@pytest.fixture(scope="module")
def foreign(wire: Server, postgres_server: PostgresServer) -> Iterator[psycopg.Connection[Any]]:
    postgres_server.use_new_database()
    with psycopg.connect(postgres_server.address, autocommit=True) as connection:
        try:
            connection.execute("CREATE EXTENSION postgres_fdw; CREATE EXTENSION dblink")
        except psycopg.Error as error:
            pytest.skip(f"this PostgreSQL has no postgres_fdw: {error}")
        connection.execute(
            "CREATE SERVER dpdb FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', "
            f"port '{wire.postgres_port}', dbname 'served', sslmode 'disable')"
        )
        connection.execute(
            "CREATE USER MAPPING FOR CURRENT_USER SERVER dpdb OPTIONS "
            f"(user 'ann', password '{wire.site.tokens['ann']}')"
        )
        connection.execute("IMPORT FOREIGN SCHEMA public FROM SERVER dpdb INTO public")
        yield connection


@pytest.mark.heavy(family="long")
def test_foreign_tables_by_postgres_fdw(foreign: psycopg.Connection[Any], wire: Server) -> None:
    def asked(query: str) -> list[tuple[Any, ...]]:
        return foreign.execute(query).fetchall()

    columns = "SELECT attname, atttypid::regtype::text FROM pg_attribute WHERE attrelid = '{}'::regclass AND attnum > 0"
    assert asked(columns.format("states")) == [("state", "text"), ("people", "bigint")]
    assert ("age", "bigint") in asked(columns.format("visits"))
    assert asked("SELECT * FROM states ORDER BY state") == STATES
    assert asked("SELECT state FROM states WHERE people > 20 AND state LIKE '%X' OR state IN ('CA')") == [
        ("CA",),
        ("TX",),
    ]
    plan = str(asked("EXPLAIN (VERBOSE) SELECT count(*), sum(people), avg(people) FROM states WHERE people > 20"))
    assert "Remote SQL: SELECT count(*), sum(people), avg(people) FROM public.states WHERE ((people > 20))" in plan
    assert asked("SELECT count(*), sum(people), avg(people) FROM states WHERE people > 20") == [(2, 68, 34)]
    assert asked("SELECT s.state, t.people FROM states s JOIN states t ON s.people < t.people ORDER BY 1, 2") == [
        ("NY", 29),
        ("NY", 39),
        ("TX", 39),
    ]
    assert asked("SELECT * FROM states WHERE people = (SELECT max(people) FROM states)") == [("CA", 39)]
    foreign.execute("ANALYZE states")
    foreign.execute("ALTER SERVER dpdb OPTIONS (ADD fetch_size '1')")
    assert asked("SELECT state, people FROM states ORDER BY people DESC") == [("CA", 39), ("TX", 29), ("NY", 19)]
    with foreign.transaction():
        foreign.execute("DECLARE q CURSOR FOR SELECT * FROM states ORDER BY state")
        assert asked("FETCH 2 FROM q") + asked("FETCH 2 FROM q") == STATES
    for refused in (
        "SELECT * FROM visits",
        "SELECT count(*) FROM visits",
        "DELETE FROM states",
        "INSERT INTO states VALUES ('x', 1)",
    ):
        with pytest.raises(psycopg.Error) as said:
            foreign.execute(refused)
        assert not shows_private(said.value)
    assert wire.site.spent() == 0


@pytest.mark.heavy(family="long")
def test_dblink(foreign: psycopg.Connection[Any], wire: Server) -> None:
    def asked(query: str) -> list[tuple[Any, ...]]:
        return foreign.execute(query).fetchall()

    before = wire.site.spent()
    place = f"host=127.0.0.1 port={wire.postgres_port} dbname=served user=ann password={wire.site.tokens['ann']}"
    assert asked(f"SELECT dblink_connect('dpdb', '{place} sslmode=disable')") == [("OK",)]
    rows = "AS t (state text, people bigint)"
    assert asked(f"SELECT * FROM dblink('dpdb', 'SELECT * FROM states ORDER BY state') {rows}") == STATES
    ((measure, value),) = asked(
        "SELECT * FROM dblink('dpdb', 'SELECT measure, value FROM dp_count(''visits'', 0.01)') "
        "AS t (measure text, value float8)"
    )
    assert measure == "count"
    assert value >= 0
    assert wire.site.spent() - before == pytest.approx(0.01)
    assert asked("SELECT dblink_open('dpdb', 'c', 'SELECT * FROM states ORDER BY state')") == [("OK",)]
    assert asked(f"SELECT * FROM dblink_fetch('dpdb', 'c', 2) {rows}") == STATES[:2]
    assert asked("SELECT dblink_close('dpdb', 'c')") == [("OK",)]
    assert asked("SELECT dblink_send_query('dpdb', 'SELECT count(*) FROM states')") == [(1,)]
    assert asked("SELECT * FROM dblink_get_result('dpdb') AS t (n bigint)") == [(3,)]
    assert asked("SELECT * FROM dblink_get_result('dpdb') AS t (n bigint)") == []
    assert asked("SELECT dblink_disconnect('dpdb')") == [("OK",)]
