"""Sources that cannot be used: one clear line each, without a value of the table."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpdb.database.database import Database
from dpdb.errors import OWNER_LOG, DpdbError, SourceError
from dpdb.sources.open import open_source

TABLE = pa.table({"a": [1, 1], "b": ["alice", "bob"]})
SECRET = "alice"


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def truncated(folder: Path, keep: float) -> Path:
    path = folder / "t.parquet"
    pq.write_table(pa.table({"a": list(range(5000))}), path)
    return written(path, path.read_bytes()[: int(path.stat().st_size * keep)])


def duplicated_parquet(folder: Path, names: list[str]) -> Path:
    pq.write_table(pa.table([[1], [2]], names=names), folder / "d.parquet")
    return folder / "d.parquet"


def database_file(folder: Path, *statements: str) -> Path:
    with duckdb.connect(str(folder / "w.duckdb")) as connection:
        for statement in statements:
            connection.execute(statement)
    return folder / "w.duckdb"


def empty_folder(folder: Path) -> Path:
    (folder / "empty").mkdir()
    return folder / "empty"


BAD: dict[str, tuple[Callable[[Path], Any], dict[str, Any], str]] = {
    "unknown file": (lambda d: d / "none.parquet", {}, "no such file"),
    "unknown csv": (lambda d: d / "none.csv", {}, "no such file"),
    "empty path": (lambda d: "", {}, "empty"),
    "NUL in the path": (lambda d: "a\0b.csv", {}, "is not a path"),
    "long path": (lambda d: "a" * 5000, {}, "file name too long"),
    "glob without files": (lambda d: f"{d}/*.parquet", {}, "no Parquet or CSV or JSON lines file there"),
    "empty directory": (empty_folder, {}, "no Parquet or CSV or JSON lines file there"),
    "garbage": (lambda d: written(d / "x.parquet", b"hello world, hello"), {}, "not a Parquet, CSV"),
    "empty file": (lambda d: written(d / "x.parquet", b""), {}, "not a Parquet, CSV"),
    "garbage in Parquet clothes": (lambda d: written(d / "x", b"PAR1" + b"x" * 50 + b"PAR1"), {}, "as a parquet file"),
    "truncated Parquet": (lambda d: truncated(d, 0.5), {}, "as a parquet file"),
    "Parquet without its last byte": (lambda d: truncated(d, 0.9999), {}, "as a parquet file"),
    "duplicate names in Parquet": (lambda d: duplicated_parquet(d, ["a", "a"]), {}, "'a' occurs twice"),
    "names differing in case in Parquet": (lambda d: duplicated_parquet(d, ["a", "A"]), {}, "differ only in case"),
    "duplicate names in CSV": (lambda d: written(d / "x.csv", b"a,b,a\n1,2,3\n"), {}, "'a' occurs twice"),
    "names differing in case in CSV": (lambda d: written(d / "x.csv", b"a,b,A\n1,2,3\n"), {}, "differ only in case"),
    "empty CSV": (lambda d: written(d / "x.csv", b""), {}, "must name the columns"),
    "CSV without names": (lambda d: written(d / "x.csv", b",,\n"), {}, "must name the columns"),
    "CSV header not UTF-8": (lambda d: written(d / "x.csv", b"a,\xff\n1,2\n"), {}, "as UTF-8 CSV"),
    "not gzip": (lambda d: written(d / "x.csv.gz", b"a,b\n1,2\n"), {}, "as UTF-8 CSV"),
    "cut gzip": (lambda d: written(d / "x.csv.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"), {}, "as UTF-8 CSV"),
    "broken gzip": (
        lambda d: written(d / "x.csv.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + b"\xff" * 9),
        {},
        "CSV",
    ),
    "garbage in DuckDB clothes": (
        lambda d: written(d / "x", b"x" * 8 + b"DUCK" + b"y" * 5000),
        {},
        "DuckDB cannot open it",
    ),
    "DuckDB file cut short": (
        lambda d: written(d / "x", database_file(d, "CREATE TABLE t (a INT)").read_bytes()[:9_000]),
        {},
        "DuckDB cannot open it (is it damaged or cut short?)",
    ),
    "DuckDB file with a byte changed": (
        lambda d: written(d / "x", database_file(d, "CREATE TABLE t (a INT)").read_bytes().replace(b"main", b"mein")),
        {},
        "DuckDB cannot open it (is it damaged or cut short?)",
    ),
    "DuckDB file without tables": (database_file, {}, "it has: none"),
    "unknown table": (lambda d: database_file(d, "CREATE TABLE t (a INT)"), {"table": "x"}, "no table or view 'x'"),
    "several tables": (
        lambda d: database_file(d, "CREATE TABLE t (a INT)", "CREATE TABLE s (a INT)"),
        {},
        "main.s, main.t",
    ),
    "ambiguous table": (
        lambda d: database_file(d, *(f"CREATE SCHEMA {s}; CREATE TABLE {s}.t (a INT)" for s in "xy")),
        {"table": "t"},
        "x.t, y.t",
    ),
    "view of a lost table": (
        lambda d: database_file(d, "CREATE TABLE t (a INT)", "CREATE VIEW v AS FROM t", "DROP TABLE t"),
        {"table": "v"},
        "as a duckdb file",
    ),
    "table name for Parquet": (lambda d: duplicated_parquet(d, ["a", "b"]), {"table": "t"}, "table name applies to"),
    "table name for Arrow": (lambda d: TABLE, {"table": "t"}, "table name applies to"),
    "CSV schema for Parquet": (
        lambda d: duplicated_parquet(d, ["a", "b"]),
        {"csv_schema": {"a": "INT"}},
        "columns without a type: of CSV",
    ),
    "CSV schema for Arrow": (lambda d: TABLE, {"csv_schema": {"a": "INT"}}, "columns without a type: of CSV"),
    "CSV schema with an unknown column": (
        lambda d: written(d / "x.csv", b"a\n1\n"),
        {"csv_schema": {"z": "INT"}},
        "'z'",
    ),
    "CSV schema with an unknown type": (
        lambda d: written(d / "x.csv", b"a\n1\n"),
        {"csv_schema": {"a": "NUMBERS"}},
        "SQL type",
    ),
    "CSV schema with a nested type": (
        lambda d: written(d / "x.csv", b"a\n1\n"),
        {"csv_schema": {"a": "INT[]"}},
        "SQL type",
    ),
    "duplicate names in Arrow": (lambda d: pa.table([[1], [2]], names=["a", "a"]), {}, "'a' occurs twice"),
    "names differing in case in Arrow": (lambda d: pa.table([[1], [2]], names=["a", "A"]), {}, "differ only in case"),
    "duplicate names in pandas": (lambda d: pd.DataFrame([[1, 2]], columns=["a", "a"]), {}, "one name"),
    "Arrow without columns": (lambda d: pa.table({}), {}, "no columns"),
    "only nested columns": (lambda d: pa.table({"a": [[1]]}), {}, "no column has a type"),
    "a lazy frame": (lambda d: pl.DataFrame({"a": [1]}).lazy(), {}, "LazyFrame: not a source"),
    "a number": (lambda d: 5, {}, "int: not a source"),
    "nothing": (lambda d: None, {}, "NoneType: not a source"),
    "a dictionary": (lambda d: {"a": [1]}, {}, "dict: not a source"),
}


@pytest.mark.heavy
@pytest.mark.parametrize("kind", BAD)
def test_one_clear_line(database: Database, tmp_path: Path, kind: str) -> None:
    make, options, expected = BAD[kind]
    source = make(tmp_path)
    with Database() as fresh, pytest.raises(SourceError) as caught:
        open_source(fresh, source, **options)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_duckdb_file_that_is_open_elsewhere_says_so(tmp_path: Path) -> None:
    path = database_file(tmp_path, "CREATE TABLE t (a INT)")
    match = "is open for writing: close it there, or pass that connection"
    with duckdb.connect(str(path)) as connection:
        with Database() as database, pytest.raises(SourceError, match=match):
            open_source(database, path)
        connection.execute("INSERT INTO t VALUES (1)")
    program = f"import duckdb; c = duckdb.connect({str(path)!r}); print(flush=True); input()"
    other = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    other.stdout.readline()
    with Database() as database, pytest.raises(SourceError, match=match):
        open_source(database, path)
    other.communicate("\n")
    assert other.returncode == 0


def test_a_nested_column_may_lie_in_the_table_but_not_in_a_constraint(database: Database) -> None:
    from dpdb.constraints import parse_constraint
    from dpdb.engine.sql.bind import bind

    database.execute("DROP TABLE IF EXISTS source_row")
    source = open_source(database, pa.table({"a": [1], "n": [[1]]}))
    bind(database, parse_constraint("UNIQUE(a)"), source.schema)
    with pytest.raises(DpdbError, match="column 'n' has type BIGINT"):
        bind(database, parse_constraint("UNIQUE(n)"), source.schema)


@pytest.fixture
def owner_log() -> Iterator[list[str]]:
    """What the owner's log says."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    OWNER_LOG.addHandler(handler)
    yield lines
    OWNER_LOG.removeHandler(handler)


def failing_stream() -> Iterator[pa.RecordBatch]:
    yield TABLE.to_batches()[0]
    raise ValueError(f"row {SECRET}")


def failing_view(folder: Path) -> Path:
    return database_file(
        folder, f"CREATE TABLE t AS SELECT '{SECRET}' AS a", "CREATE VIEW v AS SELECT CAST(a AS INTEGER) AS a FROM t"
    )


def test_rows_that_fail_on_reading_show_only_to_the_owner(tmp_path: Path, owner_log: list[str]) -> None:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t AS SELECT '{SECRET}' AS a")
    connection.execute("CREATE VIEW v AS SELECT CAST(a AS INTEGER) AS a FROM t")
    cases: list[tuple[Any, str | None]] = [
        (failing_view(tmp_path), "v"),
        (connection, "v"),
        (connection.sql("SELECT CAST(a AS INTEGER) AS a FROM t"), None),
        (pa.RecordBatchReader.from_batches(TABLE.schema, failing_stream()), None),
    ]
    for source, table in cases:
        owner_log.clear()
        with Database() as database, pytest.raises(SourceError) as caught:
            open_source(database, source, table=table)
        assert SECRET not in str(caught.value)
        assert caught.value.__suppress_context__
        assert "owner's log" in str(caught.value)
        assert any(SECRET in line for line in owner_log)
    connection.close()


def test_mixed_objects_of_pandas_are_text_and_never_an_error(database: Database) -> None:
    database.execute("DROP TABLE IF EXISTS source_row")
    frame = pd.DataFrame({"a": pd.Series([1, "x", None, 2.5], dtype=object)})
    source = open_source(database, frame)
    assert [column.declared_type for column in source.schema.columns] == ["VARCHAR"]
    assert database.rows("SELECT a FROM source_row") == [("1",), ("x",), (None,), ("2.5",)]


def test_bytes_that_are_not_utf8_in_the_rows_do_not_show_before_the_release(tmp_path: Path) -> None:
    path = written(tmp_path / "x.csv", b"a,b\n1,\xff\n")
    with Database() as database:
        assert open_source(database, path).schema.names == ("a", "b")


@pytest.mark.parametrize("name", ["", "\0"])
def test_a_column_without_a_name_is_one_clear_line(database: Database, name: str) -> None:
    with pytest.raises(SourceError, match="column 2 has a name that SQL cannot take"):
        open_source(database, pa.table([[1], [2]], names=["a", name]))
