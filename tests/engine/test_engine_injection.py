"""What a user types is a name or a literal, whatever it holds: it works as one, or is one clear error."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from case_share import fifth
from helpers_engine import Table as Rows, agree, read, run

from dpdb.constraints import ColumnRef, Constant, DenialConstraint, Operator, Predicate, load_constraints
from dpdb.database.database import Database
from dpdb.engine.slice import LocalSlice
from dpdb.engine.sql.bind import bind
from dpdb.engine.sql.where import parse_where
from dpdb.errors import DpdbError
from dpdb.sources.open import open_source

HOSTILE = [
    "'); DROP TABLE canary; --",
    '"); DROP TABLE canary; --',
    "x'; DROP TABLE canary; --",
    'x"; DROP TABLE canary; --',
    "; DROP TABLE canary",
    "x' OR '1'='1",
    'x" OR "1"="1',
    "-- comment",
    "/* open",
    "*/ closed",
    "''",
    "'",
    '""',
    '"',
    "\\",
    "\\'",
    "\\'; DROP TABLE canary; --",
    "$$",
    "$x$'$x$",
    "E'x'",
    "{x}",
    "%(x)s",
    "?1",
    "$1",
    ":x",
    "x\ty",
    "\u2019; DROP TABLE canary; --",
    "\uff07",
    "a.b.c",
    "a(b)",
    "[1]",
    "#{x}",
    "@x",
]

# One of each kind, for tests that make files.
TELLING = [*HOSTILE[:4], *HOSTILE[7:9], *HOSTILE[11:16], HOSTILE[20], HOSTILE[28]]
BACKSLASH = "\\"  # DuckDB takes it as the end of a folder when it creates a file


@pytest.fixture
def guarded(database: Database):
    """The database with a table that must survive."""
    database.execute("CREATE OR REPLACE TABLE canary AS SELECT 1 AS alive")
    yield database
    assert database.rows("FROM canary") == [(1,)]


def double_quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def single_quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@pytest.mark.heavy
@pytest.mark.parametrize("text", fifth(HOSTILE))
def test_column_names(guarded: Database, text: str) -> None:
    table = pa.table({text: [1, 1, -1], "b": [1, 2, 3]})
    guarded.execute("DROP TABLE IF EXISTS source_row")
    source = open_source(guarded, table)
    name = double_quoted(text)
    dcs = load_constraints([f"{name} -> b", f"not(t1.{name}<0)"], source.schema.names)
    where = parse_where(guarded, f"{name} < 5 AND {name} IS NOT NULL", source.schema)
    part = LocalSlice(guarded, source, bind(guarded, dcs, source.schema), where, name="injected", keep_source_row=True)
    try:
        result = read(guarded, part)
    finally:
        part.close()
    assert (result.by_position(), result.self_conflicts) == ({(0, 1): 0}, 1)


@pytest.mark.heavy
@pytest.mark.parametrize("text", fifth(HOSTILE))
def test_constants_of_constraints(guarded: Database, text: str) -> None:
    table = Rows({"a": "VARCHAR", "b": "VARCHAR"}, [(text, "x"), (text, "y"), ("x", "x"), (None, "x"), (text, "z")])
    predicate = Predicate(ColumnRef(0, "a"), Operator.EQ, Constant(text))
    other = Predicate(ColumnRef(0, "b"), Operator.NE, ColumnRef(1, "b"))
    dcs = [DenialConstraint((predicate, other)), *load_constraints(f"not(t1.a={single_quoted(text)}&t1.b='z')")]
    result = run(guarded, table, dcs)
    agree(table, dcs, result)
    assert (len(result.edges), result.self_conflicts) == (3, 1)


@pytest.mark.heavy
@pytest.mark.parametrize("text", fifth(HOSTILE))
def test_literals_of_where(guarded: Database, text: str) -> None:
    table = Rows({"a": "VARCHAR", "b": "VARCHAR"}, [(text, "x"), (text, "y"), ("x", "x"), (None, "x")])
    literal = single_quoted(text)
    where = parse_where(
        guarded, f"a = {literal} AND a IN ({literal}) AND a BETWEEN {literal} AND {literal}", table.schema()
    )
    result = run(guarded, table, load_constraints("a -> b"), where)
    assert result.by_position() == {(0, 1): 0}
    assert len(result.source) == 2


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["BIGINT", "DOUBLE", "DECIMAL(6,2)", "DATE", "TIMESTAMP", "BOOLEAN"])
@pytest.mark.parametrize("text", HOSTILE[:6])
def test_literals_that_are_no_value_of_the_column(guarded: Database, kind: str, text: str) -> None:
    schema = Rows({"a": kind}, []).schema()
    with pytest.raises(DpdbError, match="cannot compare"):
        bind(guarded, load_constraints(f"not(t1.a={single_quoted(text)})"), schema)
    with pytest.raises(DpdbError, match="is not a value for 'a'"):
        parse_where(guarded, f"a = {single_quoted(text)}", schema)


@pytest.mark.heavy
@pytest.mark.parametrize("text", fifth(HOSTILE))
def test_types_of_a_csv_schema(guarded: Database, tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n")
    for declared in (text, f"INTEGER {text}", f"INTEGER){text}"):
        types, message = types_of(guarded, path, declared)
        assert "\n" not in message
        assert types in ([], ["INTEGER", "VARCHAR"], ["VARCHAR", "VARCHAR"])
        assert bool(types) != bool(message)


def types_of(database: Database, path: Path, declared: str) -> tuple[list[str | None], str]:
    """The column types under a CSV schema, or the error."""
    database.execute("DROP TABLE IF EXISTS source_row")
    try:
        return [column.type for column in open_source(database, path, csv_schema={"a": declared}).schema.columns], ""
    except DpdbError as error:
        return [], str(error)


@pytest.mark.heavy
@pytest.mark.parametrize("text", TELLING)
def test_paths_and_names_in_a_csv_header(guarded: Database, tmp_path: Path, text: str) -> None:
    folder = tmp_path / text.replace("/", "_")
    folder.mkdir()
    table = pa.table({"a": [1, 1], "b": [1, 2]})
    pq.write_table(table, folder / "x.parquet")
    named = f"a {text.replace('/', '_')}.parquet"
    pq.write_table(table, folder / named)
    beside = tmp_path / f"{folder.name}.csv"
    beside.write_text(f"{double_quoted(text)},b\n1,1\n1,2\n")
    for path, columns in (
        (folder, ("a", "b")),
        (folder / "x.parquet", ("a", "b")),
        (folder / named, ("a", "b")),
        (beside, (text, "b")),
    ):
        guarded.execute("DROP TABLE IF EXISTS source_row")
        source = open_source(guarded, path)
        assert source.schema.names == columns
        dcs = bind(guarded, load_constraints(f"{double_quoted(columns[0])} -> b", columns), source.schema)
        part = LocalSlice(guarded, source, dcs, None, name="pathed")
        edges = [pair for us, vs in part.edges.batches() for pair in zip(us, vs, strict=True)]
        part.close()
        assert len(edges) == (6 - 2 if path == folder else 1)


@pytest.mark.heavy
@pytest.mark.parametrize("text", TELLING)
def test_names_of_tables_schemas_and_database_files(tmp_path: Path, text: str) -> None:
    path = tmp_path / f"file {text.replace('/', '_').replace(BACKSLASH, '_')}.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE SCHEMA {double_quoted(text)}")
        connection.execute(f"CREATE TABLE {double_quoted(text)}.{double_quoted(text)} AS SELECT 1 AS a")
        connection.execute(f"CREATE VIEW {double_quoted('view ' + text)} AS SELECT 1 AS b")
        with Database() as database:
            assert open_source(database, connection, table=f"{text}.{text}").schema.names == ("a",)
    for table, columns in ((text, ("a",)), (f"view {text}", ("b",))):
        with Database() as database:
            assert open_source(database, path, table=table).schema.names == columns


@pytest.mark.heavy
@pytest.mark.parametrize("text", TELLING)
def test_a_hostile_table_name_that_does_not_exist(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE canary AS SELECT 1 AS alive")
    with Database() as database, pytest.raises(DpdbError, match="no table or view"):
        open_source(database, path, table=text)
    with duckdb.connect(str(path)) as connection:
        assert connection.execute("FROM canary").fetchall() == [(1,)]


@pytest.mark.heavy
@pytest.mark.parametrize("text", TELLING)
def test_settings(tmp_path: Path, text: str) -> None:
    with pytest.raises(DpdbError, match="is not a size"):
        Database(memory_limit=text)
    folder = tmp_path / text.replace("/", "_")
    folder.mkdir()
    with Database(temp_directory=folder) as database:
        assert database.value("SELECT current_setting('temp_directory')") == str(database.directory)
        assert database.directory.parent == folder
    assert list(folder.iterdir()) == []
