"""PostgreSQL's catalog by the clients that ask it, and by those who would have it tell more."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psycopg
import pytest
import sqlalchemy as sa
from attack_statements import ATTACKS
from case_share import fifth, twentieth
from private_rows import shows_private
from server_site import COUNT, Server, make_site

from dpdb.doors.server.analysts import Analyst
from dpdb.doors.server.configuration import load_configuration
from dpdb.doors.server.desk import Desk
from dpdb.doors.server.exchange import RefusedError
from dpdb.doors.server.postgres import catalog
from dpdb.doors.server.postgres.catalog.content import Content, Shown, relations, rows_of, schema_of
from dpdb.doors.server.postgres.catalog.functions import FUNCTIONS, PREFIX, macros
from dpdb.errors import StatementRefusedError

ANN = Analyst("ann", "analyst")
JAR = Path("/usr/share/java/postgresql.jar")


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    site = make_site(tmp_path_factory.mktemp("catalog"), postgres=True, analysts={"ann": {"quota": 4}, "zoe": {}})
    with Server(site) as running:
        yield running
        assert site.spent() == 0  # whatever the clients below have asked


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    site = make_site(tmp_path_factory.mktemp("desk"), analysts={"ann": {}, "zoe": {}})
    opened = Desk(load_configuration(site.config))
    with patch.object(catalog, "_PER_MINUTE", 1_000_000):  # all cases of this file ask more in a minute than one may
        yield opened
    opened.close()
    assert site.spent() == 0


def ask(desk: Desk, *texts: str, database: str = "served") -> list[Any]:
    """Ask one statement after another: tables, None, or what it was refused with."""

    async def asked() -> list[Any]:
        found: list[Any] = []
        for text in texts:
            try:
                found.append(await catalog.answer(text, desk, ANN, database))
            except (StatementRefusedError, RefusedError) as error:
                found.append(error)
        return found

    return asyncio.run(asked())


def psql(wire: Server, *commands: str) -> str:
    if shutil.which("psql") is None:
        pytest.skip("psql is not installed on this machine")
    place = ["-h", "127.0.0.1", "-p", str(wire.postgres_port), "-U", "ann", "-d", "served"]
    environment = os.environ | {"PGPASSWORD": wire.site.tokens["ann"], "PAGER": "cat"}
    given = [part for command in commands for part in ("-c", command)]
    ended = subprocess.run(["psql", "-X", *place, *given], capture_output=True, text=True, env=environment, check=False)
    assert not ended.stderr.replace("Did not find any relations.\n", ""), ended.stderr
    return ended.stdout


@pytest.mark.heavy(family="clients")
@pytest.mark.parametrize(
    ("commands", "words"),
    [
        ((r"\d", r"\dt+"), ["public | states | table | dpdb", "public | visits | table | dpdb"]),
        ((r"\d visits",), ['Table "public.visits"', " zip    | text   |", " age    | bigint |"]),
        ((r"\d+ states", r"\dS pg_class"), ["people | bigint", 'View "pg_catalog.pg_class"']),
        ((r"\df", r"\df+ dp_count"), ["public | dp_count ", "table_name text, epsilon double precision"]),
        ((r"\l", r"\dn+", r"\du"), ["served | dpdb", "public | dpdb", "ann "]),
        ((r"\dv", r"\di", r"\dp", r"\dT", r"\dd", r"\db", r"\dx", r"\dm", r"\ds"), ["Access privileges"]),
    ],
)
def test_psql(wire: Server, commands: tuple[str, ...], words: list[str]) -> None:
    said = psql(wire, *commands)
    for one in words:
        assert one in said, said
    assert "zoe" not in said


@pytest.mark.heavy(family="clients")
def test_sqlalchemy_reflects(wire: Server) -> None:
    address = f"postgresql+psycopg://ann:{wire.site.tokens['ann']}@127.0.0.1:{wire.postgres_port}/served"
    engine = sa.create_engine(address)
    found = sa.inspect(engine)
    assert found.get_schema_names() == ["information_schema", "public"]
    assert sorted(found.get_table_names()) == ["states", "visits"]
    columns = {column["name"]: str(column["type"]) for column in found.get_columns("visits")}
    assert (columns["zip"], columns["age"]) == ("TEXT", "BIGINT")
    assert found.get_pk_constraint("visits") == {"name": None, "constrained_columns": []}
    for ask_for in (
        found.get_foreign_keys,
        found.get_indexes,
        found.get_unique_constraints,
        found.get_check_constraints,
    ):
        assert ask_for("visits") == []
    assert "cannot be selected" in str(found.get_table_comment("visits")["text"])
    assert (found.has_table("visits"), found.has_table("nothing")) == (True, False)
    assert found.get_view_names() == found.get_sequence_names() == found.get_enums() == []
    assert [*sa.Table("states", sa.MetaData(), autoload_with=engine).columns.keys()] == ["state", "people"]
    engine.dispose()


@pytest.mark.heavy(family="clients")
def test_asyncpg_looks_types_up(wire: Server) -> None:
    asyncpg = pytest.importorskip("asyncpg", reason="asyncpg is not installed")

    async def asked() -> None:
        place = {"host": "127.0.0.1", "port": wire.postgres_port, "user": "ann", "database": "served"}
        connection = await asyncpg.connect(**place, password=wire.site.tokens["ann"], ssl=False)
        assert (await connection.fetchval("SELECT [1, 2]")) == [1, 2]
        row = await connection.fetchrow(
            "SELECT oid, typname, typtype, typarray FROM pg_type WHERE typname = $1", "int8"
        )
        assert tuple(row) == (20, "int8", b"b", 1016)
        await connection.close()

    asyncio.run(asked())


@pytest.mark.heavy(family="clients")
def test_adbc_lists_objects(wire: Server) -> None:
    adbc = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="adbc-driver-postgresql is not installed")
    address = f"postgresql://ann:{wire.site.tokens['ann']}@127.0.0.1:{wire.postgres_port}/served?sslmode=disable"
    with adbc.connect(address) as connection:
        [found] = connection.adbc_get_objects(depth="all", db_schema_filter="public").read_all().to_pylist()
        [schema] = found["catalog_db_schemas"]
        tables = {table["table_name"]: table["table_columns"] for table in schema["db_schema_tables"]}
        assert {column["column_name"]: column["ordinal_position"] for column in tables["states"]} == {
            "state": 1,
            "people": 2,
        }
        assert connection.adbc_get_table_schema("visits").names[0] == "zip"


JDBC = """
import java.sql.*;
public class Metadata {
  static void show(String name, ResultSet rows, String... columns) throws Exception {
    while (rows.next()) { StringBuilder line = new StringBuilder(name);
      for (String column : columns) line.append(" ").append(rows.getString(column)); System.out.println(line); }
  }
  public static void main(String[] given) throws Exception {
    Connection connection = DriverManager.getConnection(given[0], given[1], System.getenv("TOKEN"));
    DatabaseMetaData all = connection.getMetaData();
    show("table", all.getTables(null, null, "%", new String[] {"TABLE"}), "TABLE_SCHEM", "TABLE_NAME");
    show("column", all.getColumns(null, "public", "visits", "%"), "COLUMN_NAME", "TYPE_NAME", "ORDINAL_POSITION");
    show("key", all.getPrimaryKeys(null, null, "visits"), "COLUMN_NAME");
    show("imported", all.getImportedKeys(null, null, "visits"), "PKCOLUMN_NAME");
    show("exported", all.getExportedKeys(null, null, "visits"), "PKCOLUMN_NAME");
    show("index", all.getIndexInfo(null, null, "visits", false, false), "INDEX_NAME");
    show("schema", all.getSchemas(), "TABLE_SCHEM"); show("catalog", all.getCatalogs(), "TABLE_CAT");
    show("function", all.getFunctions(null, null, "dp%"), "FUNCTION_NAME");
    show("parameter", all.getFunctionColumns(null, null, "dp_count", "epsilon"), "COLUMN_NAME", "TYPE_NAME");
    show("procedure", all.getProcedures(null, null, "%"), "PROCEDURE_NAME");
    ResultSet types = all.getTypeInfo(); types.next(); System.out.println("type " + types.getString("TYPE_NAME"));
    all.getTablePrivileges(null, null, "visits"); all.getColumnPrivileges(null, null, "visits", "%");
    all.getBestRowIdentifier(null, null, "visits", 1, true); all.getVersionColumns(null, null, "visits");
    all.getUDTs(null, null, "%", null); all.getSQLKeywords(); System.out.println("end " + connection.getSchema());
  }
}
"""


@pytest.mark.heavy(family="clients")
def test_jdbc_has_tables_and_columns(wire: Server, tmp_path: Path) -> None:
    if shutil.which("java") is None or not JAR.exists():
        pytest.skip("Java or its driver for PostgreSQL (libpostgresql-jdbc-java) is not installed on this machine")
    (tmp_path / "Metadata.java").write_text(JDBC)
    address = f"jdbc:postgresql://127.0.0.1:{wire.postgres_port}/served"
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", str(JAR), str(tmp_path / "Metadata.java"), address, "ann"]
    environment = os.environ | {"TOKEN": wire.site.tokens["ann"]}
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)
    lines = ended.stdout.splitlines()
    assert lines[-1:] == ["end public"], ended.stderr
    assert lines[:8] == [
        "table public states", "table public visits", "column zip text 1", "column city text 2", "column age int8 3",
        "column state text 4", "column note text 5", "column pay int8 6",
    ]  # fmt: skip
    assert {"schema public", "catalog served", "function dp_count", "parameter epsilon float8"} <= {*lines}
    assert not [line for line in lines if line.split()[0] in ("key", "imported", "exported", "index", "procedure")]


# What these tools are known to send when they connect; not captured, and the tools do not run in tests.
START_UP = {
    "DBeaver": [
        "SELECT version()",
        "SELECT current_schema(),session_user",
        "select * from pg_catalog.pg_settings where name='standard_conforming_strings'",
        "select string_agg(word, ',') from pg_catalog.pg_get_keywords() where word <> ALL ('{a,abs}'::text[])",
        "SELECT db.oid,db.* FROM pg_catalog.pg_database db WHERE datallowconn AND NOT datistemplate OR db.datname='served' ORDER BY db.datname",  # noqa: E501
        "SELECT n.oid,n.*,d.description FROM pg_catalog.pg_namespace n LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=n.oid AND d.objsubid=0 AND d.classoid='pg_namespace'::regclass ORDER BY nspname",  # noqa: E501
        "SELECT c.oid,c.*,d.description,pg_catalog.pg_get_expr(c.relpartbound, c.oid) as partition_expr, pg_catalog.pg_get_partkeydef(c.oid) as partition_key FROM pg_catalog.pg_class c LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 AND d.classoid='pg_class'::regclass WHERE c.relnamespace=2200 AND c.relkind not in ('i','I','c')",  # noqa: E501
        "SELECT c.relname,a.*,pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) as def_value,dsc.description,dep.objid FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON (a.attrelid=c.oid) LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid=ad.adrelid AND a.attnum = ad.adnum) LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid) LEFT OUTER JOIN pg_depend dep on dep.refobjid = a.attrelid AND dep.deptype = 'i' and dep.refobjsubid = a.attnum and dep.classid = dep.refclassid WHERE NOT a.attisdropped AND c.oid='visits'::regclass ORDER BY a.attnum",  # noqa: E501
        "SELECT t.oid,t.*,c.relkind,format_type(nullif(t.typbasetype, 0), t.typtypmod) as base_type_name, d.description FROM pg_catalog.pg_type t LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid=t.typelem LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid=t.typrelid LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid=d.objoid WHERE t.typname IS NOT NULL AND (c.relkind IS NULL OR c.relkind = 'c') AND (et.typcategory IS NULL OR et.typcategory <> 'C')",  # noqa: E501
        "SELECT typcategory FROM pg_catalog.pg_type WHERE 1<>1 LIMIT 1",
        "SELECT a.oid,a.*,pg_catalog.shobj_description(a.oid, 'pg_authid') as description FROM pg_catalog.pg_roles a ORDER BY a.rolname",  # noqa: E501
        "SELECT c.oid,pg_catalog.pg_total_relation_size(c.oid) as total_rel_size,pg_catalog.pg_relation_size(c.oid) as rel_size FROM pg_class c WHERE c.relnamespace=2200",  # noqa: E501
        "SELECT e.oid,e.* FROM pg_catalog.pg_extension e ORDER BY e.oid",
        "SELECT i.*,i.indkey as keys,c.relname,c.relnamespace,c.relam,c.reltablespace,tc.relname as tabrelname,dsc.description,pg_catalog.pg_get_expr(i.indpred, i.indrelid) as pred_expr FROM pg_catalog.pg_index i INNER JOIN pg_catalog.pg_class c ON c.oid=i.indexrelid INNER JOIN pg_catalog.pg_class tc ON tc.oid=i.indrelid LEFT OUTER JOIN pg_catalog.pg_description dsc ON i.indexrelid=dsc.objoid WHERE i.indrelid='visits'::regclass ORDER BY tabrelname, c.relname",  # noqa: E501
    ],
    "Metabase": [
        "SELECT current_setting('TIMEZONE')",
        "with table_privileges as ( select NULL as role, t.schemaname as schema, t.objectname as table, pg_catalog.has_any_column_privilege(current_user, '\"' || replace(t.schemaname, '\"', '\"\"') || '\"' || '.' || '\"' || replace(t.objectname, '\"', '\"\"') || '\"', 'update') as update, pg_catalog.has_any_column_privilege(current_user, '\"' || t.schemaname || '\"', 'select') as select from ( select schemaname, tablename as objectname from pg_catalog.pg_tables union select schemaname, viewname as objectname from pg_catalog.pg_views union select schemaname, matviewname as objectname from pg_catalog.pg_matviews ) t where t.schemaname !~ '^pg_' and t.schemaname <> 'information_schema' and pg_catalog.has_schema_privilege(current_user, t.schemaname, 'usage')) select t.* from table_privileges t where t.select or t.update",  # noqa: E501
        "SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'",
        'SELECT c.column_name AS name, c.udt_name AS "database-type", c.ordinal_position - 1 AS "database-position", c.table_schema, c.table_name, pk.column_name IS NOT NULL AS "pk?" FROM information_schema.columns AS c LEFT JOIN (SELECT tc.table_schema, tc.table_name, kc.column_name FROM information_schema.table_constraints AS tc INNER JOIN information_schema.key_column_usage AS kc ON (tc.constraint_name = kc.constraint_name) WHERE tc.constraint_type = \'PRIMARY KEY\') AS pk ON c.table_name = pk.table_name WHERE c.table_schema !~ \'^information_schema|catalog_history|pg_\' ORDER BY c.table_schema, c.table_name',  # noqa: E501
        "SELECT nspname, typname FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.oid IN (SELECT DISTINCT e.enumtypid FROM pg_enum e)",  # noqa: E501
    ],
    "Grafana": [
        "SELECT current_setting('server_version_num')::int/100 as version",
        "SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'",
        "select quote_ident(table_name) as \"table\" from information_schema.tables where quote_ident(table_schema) not in ('information_schema', 'pg_catalog', '_timescaledb_cache') and table_type = 'BASE TABLE'",  # noqa: E501
        'select quote_ident(column_name) as "column", data_type as "type" from information_schema.columns where quote_ident(table_name) = \'visits\'',  # noqa: E501
    ],
}


@pytest.mark.heavy
@pytest.mark.parametrize("tool", START_UP)
def test_what_tools_ask_when_they_connect(desk: Desk, tool: str) -> None:
    for text, found in zip(START_UP[tool], ask(desk, *START_UP[tool]), strict=True):
        assert catalog.is_about(text), text
        assert hasattr(found, "num_rows"), (text, found)
    if tool == "Grafana":
        assert found.to_pylist()[2] == {"column": "age", "type": "bigint"}


MIXED = [
    f"SELECT relname FROM pg_class UNION ALL SELECT measure FROM ({COUNT.replace('value', 'measure')})",
    "SELECT (SELECT value FROM dp_count('visits', 0.1)) FROM pg_catalog.pg_class",
    "SELECT pg_catalog.dp_count('visits', 0.1) FROM pg_class",
    "SELECT * FROM pg_class, dp_count('visits', 0.1)",
    "SELECT * FROM pg_class, LATERAL dp_count('visits', 0.1) AS d",
    "WITH pg_type AS (SELECT * FROM dp_count('visits', 0.1)) SELECT * FROM pg_type, pg_class",
    "SELECT * FROM pg_class JOIN visits ON true",
    "SELECT version(), (SELECT count(*) FROM visits)",
    "SELECT * FROM pg_class; SELECT value FROM dp_count('visits', 0.1)",
    "SELECT * FROM pg_class WHERE relname = $$ $$ || (SELECT max(zip) FROM visits)",
    "SELECT * FROM answers.release_1, pg_class",
    "SELECT * FROM read_csv('/etc/passwd'), pg_class",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_catalog.pg_read_file('/etc/passwd') FROM pg_class",
    "SELECT getenv('HOME'), current_user",
    "SELECT * FROM duckdb_settings(), pg_class",
    "SELECT current_user, lo_import('/etc/passwd')",
    "SELECT query_to_xml('select 1', true, true, '') FROM pg_class",
    "INSERT INTO pg_class SELECT * FROM pg_class",
    "DELETE FROM pg_catalog.pg_class",
    "COPY pg_class TO '/tmp/x'",
    "SELECT * INTO other FROM pg_class",
    "SELECT * FROM pg_catalog.pg_authid, pg_catalog.pg_shadow_secret",
]


@pytest.mark.parametrize("text", MIXED)
def test_nothing_else_comes_through(desk: Desk, text: str) -> None:
    """It is refused, or it is not the catalog's and left to the desk; spends nothing."""
    [found] = ask(desk, text)
    assert found is None or isinstance(found, StatementRefusedError), found
    assert catalog.is_about(text) == (found is not None)


def test_hostile_statements_are_not_the_catalogs(desk: Desk) -> None:
    attacks = [statement for group in ATTACKS.values() for statement in group]
    for text, found in zip(twentieth(attacks), ask(desk, *twentieth(attacks)), strict=True):
        assert found is None or not shows_private(str(found)), text
        for around in ("SELECT * FROM pg_class WHERE EXISTS ({})", "SELECT current_user, ({})"):
            [wrapped] = ask(desk, around.format(text))
            told = wrapped.to_pylist() if hasattr(wrapped, "num_rows") else wrapped
            assert not shows_private(str(told)), text


def test_the_desk_takes_no_part(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(desk, "SELECT 1 FROM pg_class")

    def used(*_: Any, **__: Any) -> None:
        raise AssertionError("the desk was asked")

    for name in ("run", "check", "explain", "account", "history", "board", "_door", "_in"):
        monkeypatch.setattr(desk, name, used)
    for table in desk.tables.values():
        monkeypatch.setattr(table.front_end, "admitted", used)
    [found] = ask(desk, "SELECT count(*) AS n FROM pg_attribute WHERE attrelid = 'visits'::regclass")
    assert found.to_pylist() == [{"n": 6}]


@pytest.mark.heavy(family="privacy")
def test_an_analyst_sees_no_other(desk: Desk) -> None:
    named = [name for name in relations() if "role" in name or "user" in name or "auth" in name]
    texts = [f"SELECT * FROM {name}" for name in dict.fromkeys([*named, *fifth([*relations()])])]
    for text, found in zip(texts, ask(desk, *texts), strict=True):
        assert hasattr(found, "num_rows"), (text, found)
        told = str(found.to_pylist())
        assert "zoe" not in told
        assert not shows_private(told)


def test_rows_have_the_columns_of_their_relations() -> None:
    content = Content((Shown("visits", (("a", "DECIMAL(10,2)"), ("b", "STRUCT(x INTEGER)"), ("c", "DOUBLE[]")), "t"),))
    for name, columns in relations().items():
        assert content.table(name, "ann", "served").schema == schema_of(name)
        for row in rows_of(content, "ann", "served").get(name, ()):
            assert row.keys() <= columns.keys(), name


def test_every_function_is_one_of_duckdb(desk: Desk) -> None:
    """Its macro can be made, and called with no value."""
    import duckdb

    content = Content((Shown("visits", (("a", "BIGINT"),), "it's"),))
    with duckdb.connect() as connection:
        for statement in macros(content, "ann", "it's", FUNCTIONS).split(";\n")[:-1]:
            connection.execute(statement)
        for name, (most, _) in FUNCTIONS.items():
            connection.execute(f"SELECT {PREFIX}{name}({', '.join(['NULL'] * most)})").fetchall()


@pytest.mark.heavy
@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) FROM pg_attribute a, pg_attribute b, pg_attribute c, pg_attribute d",
        "SELECT max(length(repeat(relname, 100000000))) FROM pg_class",
        "SELECT a.attname FROM pg_attribute a, pg_attribute b",
        "WITH RECURSIVE r AS (SELECT 1 AS n FROM pg_class UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r",
    ],
)
def test_limits_hold(desk: Desk, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(desk, "SELECT 1 FROM pg_class")
    remote = catalog._CATALOGS[desk]._remote
    monkeypatch.setattr(remote, "_limits", replace(remote._limits, seconds=0.5))
    began = time.monotonic()
    [found] = ask(desk, text)
    assert isinstance(found, StatementRefusedError)
    assert time.monotonic() - began < 20


def test_an_analyst_who_asks_too_much_waits(tmp_path: Path) -> None:
    site = make_site(tmp_path, analysts={"ann": {}})
    with closing(Desk(load_configuration(site.config))) as desk, patch.object(catalog, "_PER_MINUTE", 2):
        *first, last = ask(desk, *["SELECT 1 FROM pg_class"] * 3)
    assert [table.num_rows > 0 for table in first] == [True, True]
    assert str(last) == "too_many"


def test_failures_are_a_line(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def failed(*_: Any) -> None:
        raise RuntimeError("canary_heron")

    ask(desk, "SELECT 1 FROM pg_class")
    monkeypatch.setattr(Content, "table", failed)
    [found] = ask(desk, "SELECT 1 FROM pg_class")
    assert str(found) == "the catalog cannot answer this"


@pytest.mark.heavy(family="long")
def test_names_and_types_are_postgresqls(wire: Server) -> None:
    place = f"host=127.0.0.1 port={wire.postgres_port} user=ann password={wire.site.tokens['ann']} dbname=served"
    with psycopg.connect(place, autocommit=True) as connection:
        found = connection.execute(
            "SELECT c.oid::regclass AS own, relname, c.OID, 'x'::text, CASE WHEN true THEN 1 END, relkind, "
            "current_user, 1 + 1, format_type(1700, 655366) FROM pg_class c WHERE relname = %s",
            ("visits",),
        )
        assert [(column.name, column.type_code) for column in found.description or ()] == [
            ("own", 25), ("relname", 19), ("oid", 26), ("text", 25), ("case", 23), ("relkind", 18),
            ("current_user", 25), ("?column?", 23), ("format_type", 25),
        ]  # fmt: skip
        [row] = found.fetchall()
        assert (row[0], row[1], row[8]) == ("visits", "visits", "numeric(10,2)")
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="no relation pg_secret"):
            connection.execute("SELECT * FROM pg_secret")
