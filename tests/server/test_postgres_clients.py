"""Real clients of PostgreSQL: n statements cost exactly n charges; descriptions, plans and the catalog cost nothing."""

from __future__ import annotations

import asyncio
import os
import pty
import select
import shutil
import signal
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from server_site import Server, count, make_site

COST = 0.01
PAID = count(COST)
TYPED = "SELECT value, lower, measure, theta FROM dp_count('visits', 0.01)"
DRIVER = Path("/usr/share/java/postgresql.jar")
JAVA = shutil.which("javac") and shutil.which("java")


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(make_site(tmp_path_factory.mktemp("clients"), epsilon=50, postgres=True)) as running:
        yield running


@pytest.fixture
def charged(wire: Server) -> Callable[[int], None]:
    """Checks how many statements of `COST` were paid for since the test began."""
    before = wire.site.spent()

    def check(statements: int) -> None:
        assert wire.site.spent() - before == pytest.approx(statements * COST, abs=1e-9)

    return check


def place(server: Server) -> dict[str, Any]:
    return {"host": "127.0.0.1", "port": server.postgres_port, "user": "ann", "password": server.site.tokens["ann"]}


def psql(server: Server, *commands: str, ok: bool = True) -> subprocess.CompletedProcess[str]:
    if shutil.which("psql") is None:
        pytest.skip("psql is not installed")
    given = {f"PG{key.upper()}": str(value) for key, value in place(server).items()} | {"PGDATABASE": "visits"}
    options = [option for command in commands for option in ("-c", command)]
    return subprocess.run(["psql", "-X", *options], env=os.environ | given, capture_output=True, text=True, check=ok)


@pytest.mark.heavy(family="clients")
def test_psql(wire: Server, charged: Callable[[int], None]) -> None:
    done = psql(wire, r"\d", r"\d visits", r"\df dp_count", f"EXPLAIN {PAID}", "SHOW server_version", "BEGIN", "COMMIT")
    for shown in ("visits", "states", "zip", "dp_count", "epsilon 0.01 by 1 release", "15.0", "COMMIT"):
        assert shown in done.stdout
    charged(0)
    done = psql(wire, PAID, f"{PAID}; {PAID}")
    assert done.stdout.count("(1 row)") == 3
    assert done.stderr.count("NOTICE:  epsilon 0.01 by 1 release\nDETAIL:  release ") == 3
    charged(3)
    many = "SELECT value, s FROM dp_count('visits', 0.01), unnest([10, 11, 12, 13, 14]) AS u(s)"
    done = psql(wire, r"\set FETCH_COUNT 2", many)  # psql declares a cursor
    assert [str(one) in done.stdout for one in range(10, 15)] == [True] * 5
    assert "(5 rows)" in done.stdout
    assert done.stderr.count("NOTICE:") == 1
    charged(4)


def completed(server: Server, typed: str) -> str:
    """What psql shows in a terminal after the tabulator was pressed twice behind what was typed."""
    if shutil.which("psql") is None:
        pytest.skip("psql is not installed")
    given = {f"PG{key.upper()}": str(value) for key, value in place(server).items()} | {"PGDATABASE": "visits"}
    child, terminal = pty.fork()
    if not child:
        os.execvpe("psql", ["psql", "-X", "-q"], os.environ | given | {"TERM": "dumb"})
    try:
        shown = b""
        for keys, wanted in ((b"", b"=> "), (typed.encode() + b"\t\t", None)):
            os.write(terminal, keys)
            until = time.monotonic() + (20 if wanted else 3)
            while time.monotonic() < until and (wanted is None or wanted not in shown):
                if select.select([terminal], [], [], 0.2)[0]:
                    shown += os.read(terminal, 65536)
        return shown.decode(errors="replace").rpartition("=> ")[2]
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)


@pytest.mark.heavy(family="clients")
@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("SELECT * FROM sta", "SELECT * FROM states"),
        ("SELECT * FROM states WHERE peo", "SELECT * FROM states WHERE people"),
        ("\\d sta", "\\d states"),
        ("SET datest", "SET datestyle TO"),
        ("\\df dp_cou", "\\df dp_count"),
    ],
)
def test_psql_completes(wire: Server, charged: Callable[[int], None], typed: str, shown: str) -> None:
    assert shown.lower() in completed(wire, typed).lower()
    charged(0)


@pytest.mark.heavy(family="clients")
def test_patterns_over_the_catalog_have_the_backslash_as_escape(wire: Server) -> None:
    """As drivers write names of tables in them (`st\\_x`)."""
    with psycopg.connect(**place(wire), dbname="visits") as connection:
        for sign in ("LIKE", "ILIKE", "OPERATOR(pg_catalog.~~)"):
            query = f"SELECT proname FROM pg_proc WHERE proname {sign} %s ORDER BY 1"
            assert connection.execute(query, [r"dp\_cou%"]).fetchall() == [("dp_count",)]
            assert connection.execute(query, [r"dp\%cou%"]).fetchall() == []
        query = "SELECT proname FROM pg_proc WHERE proname LIKE 'dp!_cou%' ESCAPE '!' AND proname NOT LIKE E'x\\\\_%'"
        assert connection.execute(query).fetchall() == [("dp_count",)]


@pytest.mark.heavy(family="clients")
def test_psycopg(wire: Server, charged: Callable[[int], None]) -> None:
    with psycopg.connect(**place(wire), dbname="visits") as connection:
        text = connection.execute(TYPED).fetchone()
        binary = connection.cursor(binary=True).execute(TYPED).fetchone()
        assert text is not None
        assert binary is not None
        assert [type(one) for one in text] == [type(one) for one in binary] == [float, float, str, type(None)]
        charged(2)
        asked = "SELECT value FROM dp_count('visits', %s, where := %s) WHERE value > %s"
        for form in ("%s", "%b", "%t"):
            connection.execute(asked.replace("%s", form), (COST, "state = 'CA'", -1e9)).fetchall()
        charged(5)
        for _ in range(3):
            connection.execute(PAID, prepare=True)
        charged(8)
        with connection.pipeline():
            found = [connection.execute(asked, (COST, None, 0)) for _ in range(3)]
        assert all(isinstance(one.fetchall(), list) for one in found)
        charged(11)
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="'visits' is private"):
            connection.execute("SELECT * FROM visits")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute(PAID)
        connection.rollback()
        with pytest.raises(psycopg.errors.ConfigurationLimitExceeded, match="budget refused"):
            connection.execute(count(1000))
        connection.rollback()
        with pytest.raises(psycopg.errors.FeatureNotSupported), connection.cursor() as cursor:
            cursor.copy("COPY states TO STDOUT").__enter__()
    charged(11)


@pytest.mark.heavy(family="clients")
def test_psycopg_values(wire: Server, charged: Callable[[int], None]) -> None:
    """What Python sends is a literal of its type; in text and in binary."""
    with psycopg.connect(**place(wire), dbname="visits", autocommit=True) as connection:
        for value in ("x'; DROP", "$1", 5, -5, 2**40, 1.5, True, None, b"".decode()):
            for form in ("%s", "%b", "%t"):
                assert connection.execute(f"SELECT {form}", (value,)).fetchone() == (value,), (value, form)
        keys = "SELECT value FROM dp_count('visits', 0.01, by := 'state', keys := %s)"
        assert len(connection.execute(keys, (["CA", "NY"],)).fetchall()) == 2
    charged(1)


@pytest.mark.heavy(family="clients")
def test_asyncpg(wire: Server, charged: Callable[[int], None]) -> None:
    asyncpg = pytest.importorskip("asyncpg", reason="asyncpg is not installed")

    async def asked() -> None:
        connection = await asyncpg.connect(**place(wire), database="visits", ssl=False)
        statement = await connection.prepare("SELECT value, measure FROM dp_count('visits', $1, where := $2) LIMIT $3")
        assert [one.type.name for one in statement.get_attributes()] == ["float8", "text"]
        assert [one.name for one in statement.get_parameters()] == ["float8", "text", "int8"]
        charged(0)
        for _ in range(2):
            [row] = await statement.fetch(COST, "state = 'CA'", 5)
            assert isinstance(row["value"], float)
        charged(2)
        async with connection.transaction():
            assert await connection.fetchval("SELECT 41 + $1::int", 1) == 42
            found = [
                row["people"] async for row in connection.cursor("SELECT people FROM states ORDER BY 1", prefetch=1)
            ]
            assert found == [19, 29, 39]
        with pytest.raises(asyncpg.InsufficientPrivilegeError, match="'visits' is private"):
            await connection.fetch("SELECT * FROM visits")
        await connection.close()

    asyncio.run(asked())
    charged(2)


@pytest.mark.heavy(family="clients")
def test_pg8000(wire: Server, charged: Callable[[int], None]) -> None:
    driver = pytest.importorskip("pg8000.dbapi", reason="pg8000 is not installed")
    connection = driver.connect(**place(wire), database="visits", ssl_context=False)
    cursor = connection.cursor()
    cursor.execute(TYPED)
    [[value, _, measure, theta]] = cursor.fetchall()
    assert (type(value), measure, theta) == (float, "count", None)
    cursor.execute("SELECT value FROM dp_count('visits', %s) WHERE value > %s", (COST, -1e9))
    assert len(cursor.fetchall()) <= 1
    with pytest.raises(driver.DatabaseError, match="42501"):
        cursor.execute("SELECT * FROM visits")
    connection.rollback()
    connection.close()
    charged(2)


@pytest.mark.heavy(family="clients")
@pytest.mark.parametrize("driver", ["psycopg", "pg8000"])
def test_sqlalchemy(driver: str, wire: Server, charged: Callable[[int], None]) -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    given = place(wire)
    address = "postgresql+{}://{user}:{password}@{host}:{port}/visits".format(driver, **given)
    engine = sqlalchemy.create_engine(address)
    try:
        if driver == "psycopg":  # the same questions from both
            inspector = sqlalchemy.inspect(engine)
            assert {"visits", "states"} <= {*inspector.get_table_names()}
            names = {one["name"]: str(one["type"]) for one in inspector.get_columns("visits")}
            assert (names["city"], names["age"]) == ("TEXT", "BIGINT")
        with engine.connect() as connection:
            states = sqlalchemy.table("states", sqlalchemy.column("state"))
            assert connection.execute(sqlalchemy.select(states).where(states.c.state == "CA")).fetchall() == [("CA",)]
            charged(0)
            for _ in range(2):
                asked = sqlalchemy.text("SELECT value FROM dp_count('visits', :epsilon)")
                assert connection.execute(asked, {"epsilon": COST}).scalar() is not None
    finally:
        engine.dispose()
    charged(2)


@pytest.mark.heavy(family="clients")
def test_pandas(wire: Server, charged: Callable[[int], None]) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    with psycopg.connect(**place(wire), dbname="visits") as connection, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has been tested with SQLAlchemy alone, it says
        assert [*pandas.read_sql(PAID, connection).columns] == ["value"]
    charged(1)


@pytest.mark.heavy(family="clients")
def test_adbc(wire: Server, charged: Callable[[int], None]) -> None:
    driver = pytest.importorskip(
        "adbc_driver_postgresql.dbapi", reason="the PostgreSQL driver of ADBC is not installed"
    )
    address = "postgresql://{user}:{password}@{host}:{port}/visits".format(**place(wire))
    options = {"adbc.postgresql.use_copy": "false"}
    with driver.connect(address) as connection:
        with connection.cursor(adbc_stmt_kwargs=options) as cursor:
            cursor.execute(TYPED)
            assert [str(kind) for kind in cursor.fetch_arrow_table().schema.types] == [
                "double",
                "double",
                "string",
                "int64",
            ]
        charged(1)
        with connection.cursor() as cursor, pytest.raises(driver.Error, match="COPY is refused"):
            cursor.execute(TYPED)  # without the option it asks for COPY
    charged(1)


PROGRAM = """
import java.sql.*;
import java.util.*;
public class Asks {
    public static void main(String[] given) throws Exception {
        Properties login = new Properties();
        login.setProperty("user", "ann");
        login.setProperty("password", given[1]);
        login.setProperty("prepareThreshold", "1");
        try (Connection c = DriverManager.getConnection("jdbc:postgresql://127.0.0.1:" + given[0] + "/visits", login)) {
            DatabaseMetaData about = c.getMetaData();
            int columns = 0, tables = 0, functions = 0;
            try (ResultSet r = about.getColumns(null, null, "visits", null)) { while (r.next()) columns++; }
            try (ResultSet r = about.getTables(null, null, null, new String[] {"TABLE"})) { while (r.next()) tables++; }
            try (ResultSet r = about.getFunctions(null, null, "dp_%")) { while (r.next()) functions++; }
            about.getPrimaryKeys(null, null, "visits").close();
            System.out.println("columns " + columns + " tables " + tables + " functions " + functions);
            String asked = "SELECT value, lower, measure FROM dp_count('visits', ?, where := ?)";
            try (PreparedStatement p = c.prepareStatement(asked)) {
                System.out.println("type " + p.getMetaData().getColumnTypeName(1));
                System.out.println("parameter " + p.getParameterMetaData().getParameterTypeName(1));
                for (int i = 0; i < 6; i++) {  // binary after the first
                    p.setDouble(1, 0.01);
                    p.setString(2, "state = 'CA'");
                    try (ResultSet r = p.executeQuery()) {
                        r.next();
                        r.getDouble(1);
                        System.out.println("paid " + r.getString(3));
                    }
                }
            }
            c.setAutoCommit(false);
            try (Statement s = c.createStatement()) {
                s.setFetchSize(2);
                int rows = 0;
                String five = "SELECT value, x FROM dp_count('visits', 0.01), unnest([1,2,3,4,5]) AS u(x)";
                try (ResultSet r = s.executeQuery(five)) {
                    while (r.next()) rows++;
                }
                System.out.println("portions " + rows);
                try {
                    s.executeQuery("SELECT * FROM visits");
                } catch (SQLException e) {
                    System.out.println("code " + e.getSQLState());
                }
            }
            c.rollback();
            System.out.println("valid " + c.isValid(5));
        }
    }
}
"""


@pytest.mark.heavy(family="clients")
@pytest.mark.slow
@pytest.mark.skipif(not (JAVA and DRIVER.is_file()), reason="Java or PostgreSQL's JDBC driver is not installed")
def test_jdbc(wire: Server, charged: Callable[[int], None], tmp_path: Path) -> None:
    (tmp_path / "Asks.java").write_text(PROGRAM)
    subprocess.run(["javac", "Asks.java"], cwd=tmp_path, check=True, timeout=300)
    java = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", f"{DRIVER}:."]
    done = subprocess.run(
        [*java, "Asks", str(wire.postgres_port), wire.site.tokens["ann"]],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    print(done.stdout)
    assert said[0].startswith("columns 6 tables 2 functions ")
    assert not said[0].endswith(" 0")
    assert said[1:] == [
        "type float8",
        "parameter float8",
        *["paid count"] * 6,
        "portions 5",
        "code 42501",
        "valid true",
    ]
    charged(7)
