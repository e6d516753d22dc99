"""Every kind of source gives the same conflicts for the same rows, and is left as it was."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from helpers_engine import Table, conflicts, read

from dpdb.constraints import distinct, load_constraints
from dpdb.database.database import Database
from dpdb.engine.slice import LocalSlice
from dpdb.engine.sql.bind import bind
from dpdb.sources.open import open_source

CONSTRAINTS = ["zip -> city", "not(t1.zip=t2.zip&t1.age<t2.age&t1.city=t2.city)", "not(t1.age<0)"]
TYPES = {"zip": "VARCHAR", "city": "VARCHAR", "age": "BIGINT"}
ROWS = [
    ("1", "Ulm", 3), ("1", "Ulm", 3), ("1", "Bonn", 4), ("2", "Köln", 5), ("2", "Köln", 6), ("2", None, 7),
    (None, "Ulm", 1), ("3", "it's", -1), ("3", 'say "hi", twice', 2), ("3", "a\nb", 2),
]  # fmt: skip
TRUTH = conflicts(Table(TYPES, ROWS), distinct(load_constraints(CONSTRAINTS, list(TYPES))))
ARROW = Table(TYPES, ROWS).arrow()
SCHEMA = {"age": "BIGINT"}


def found(source: Any, **options: Any) -> tuple[dict[tuple[int, int], int], int]:
    """Edges by source position, and the number of self-conflicts."""
    with Database() as database:
        opened = open_source(database, source, **options)
        dcs = distinct(load_constraints(CONSTRAINTS, opened.schema.names))
        part = LocalSlice(database, opened, bind(database, dcs, opened.schema), None, name="part", keep_source_row=True)
        result = read(database, part)
    return result.by_position(), result.self_conflicts


def right(source: Any, **options: Any) -> bool:
    return found(source, **options) == (TRUTH.edges, 1)


def csv_text(delimiter: str, quote_null: str = "") -> str:
    def cell(value: Any) -> str:
        return quote_null if value is None else '"' + str(value).replace('"', '""') + '"'

    return "\n".join([delimiter.join(TYPES), *(delimiter.join(map(cell, row)) for row in ROWS)]) + "\n"


def duckdb_file(folder: Path) -> Path:
    path = folder / "warehouse.duckdb"
    with duckdb.connect(str(path)) as connection:
        fill(connection)
    return path


def fill(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE TABLE visits (zip VARCHAR, city VARCHAR, age BIGINT)")
    connection.executemany("INSERT INTO visits VALUES (?, ?, ?)", ROWS)
    connection.execute("CREATE VIEW seen AS SELECT zip, city, age FROM visits")
    connection.execute("CREATE SCHEMA other")
    connection.execute("CREATE TABLE other.visits AS SELECT * FROM visits LIMIT 1")
    connection.execute("CREATE TABLE other.copied AS FROM visits")
    connection.execute("CREATE VIEW other.again AS FROM seen")
    connection.execute("CREATE MACRO same(x) AS x")
    connection.execute("CREATE VIEW through_macro AS SELECT same(zip) AS zip, city, age FROM visits")


def write_csv(folder: Path, name: str, delimiter: str, start: bytes = b"", newline: str = "\n") -> Path:
    data = start + csv_text(delimiter).replace("\n", newline).replace(f"a{newline}b", "a\nb").encode()
    path = folder / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def parquet(folder: Path, name: str = "visits.parquet") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(ARROW, path, row_group_size=3)
    return path


def parquet_parts(folder: Path) -> Path:
    for number, start in enumerate(range(0, len(ROWS), 4)):
        below = folder / "many" / ("then" if number else ".")
        below.mkdir(parents=True, exist_ok=True)
        pq.write_table(ARROW.slice(start, 4), below / f"part{number}.parquet")
    (folder / "many" / "readme.txt").write_text("not a table")
    return folder / "many"


FILES: dict[str, tuple[Callable[[Path], Any], dict[str, Any]]] = {
    "parquet": (parquet, {}),
    "parquet without suffix": (lambda d: parquet(d, "visits"), {}),
    "parquet as text path": (lambda d: str(parquet(d)), {}),
    "parquet with glob characters": (lambda d: parquet(d, "a[1]*.parquet"), {}),
    "directory": (parquet_parts, {}),
    "glob": (lambda d: f"{parquet_parts(d)}/**/*.parquet", {}),
    "csv": (lambda d: write_csv(d, "v.csv", ","), {"csv_schema": SCHEMA}),
    "csv with upper-case suffix": (lambda d: write_csv(d, "v.CSV", ","), {"csv_schema": SCHEMA}),
    "csv with byte order mark": (lambda d: write_csv(d, "v.csv", ",", b"\xef\xbb\xbf"), {"csv_schema": SCHEMA}),
    "csv with glob characters": (lambda d: write_csv(d, "v[1]?.csv", ","), {"csv_schema": SCHEMA}),
    "csv with crlf": (lambda d: write_csv(d, "v.csv", ",", newline="\r\n"), {"csv_schema": SCHEMA}),
    "tsv": (lambda d: write_csv(d, "v.tsv", "\t"), {"csv_schema": SCHEMA}),
    "csv.gz": (lambda d: write_csv(d, "v.csv.gz", ","), {"csv_schema": SCHEMA}),
    "tsv.gz": (lambda d: write_csv(d, "v.tsv.gz", "\t", b"\xef\xbb\xbf"), {"csv_schema": SCHEMA}),
    "duckdb table": (duckdb_file, {"table": "visits"}),
    "duckdb table, other case": (duckdb_file, {"table": "VISITS"}),
    "duckdb table with schema": (duckdb_file, {"table": "other.copied"}),
    "duckdb table of the only schema that has it": (duckdb_file, {"table": "copied"}),
    "duckdb main table with schema": (duckdb_file, {"table": "main.visits"}),
    "duckdb view": (duckdb_file, {"table": "seen"}),
    "duckdb view of a view of another schema": (duckdb_file, {"table": "other.again"}),
    "duckdb view with a macro": (duckdb_file, {"table": "through_macro"}),
}


def snapshot(folder: Path) -> dict[str, str]:
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


@pytest.mark.heavy
@pytest.mark.parametrize("kind", FILES)
def test_files_agree_and_stay_as_they_are(tmp_path: Path, kind: str) -> None:
    make, options = FILES[kind]
    source = make(tmp_path)
    before = snapshot(tmp_path)
    assert right(source, **options)
    assert snapshot(tmp_path) == before


@pytest.mark.heavy(family="long")
def test_a_duckdb_file_beside_its_wal_is_read_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "busy.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("SET checkpoint_threshold = '1GB'")
        fill(connection)
        copy = tmp_path / "copy.duckdb"
        copy.write_bytes(path.read_bytes())
        (tmp_path / "copy.duckdb.wal").write_bytes((tmp_path / "busy.duckdb.wal").read_bytes())
    before = snapshot(tmp_path)
    assert right(copy, table="visits")
    assert snapshot(tmp_path) == before


MEMORY: dict[str, Callable[[], Any]] = {
    "pyarrow table": lambda: ARROW,
    "pyarrow reader": lambda: ARROW.to_reader(max_chunksize=3),
    "pyarrow dataset": lambda: pyarrow.dataset.dataset(ARROW),
    "pyarrow dictionaries": lambda: ARROW.set_column(1, "city", ARROW["city"].dictionary_encode()),
    "pyarrow large text": lambda: ARROW.set_column(1, "city", ARROW["city"].cast(pa.large_string())),
    "pyarrow text views": lambda: ARROW.set_column(1, "city", ARROW["city"].cast(pa.string_view())),
    "pandas": lambda: pd.DataFrame(ROWS, columns=list(TYPES)),
    "pandas objects": lambda: pd.DataFrame(ROWS, columns=list(TYPES)).astype({"zip": object, "city": object}),
    "pandas categories": lambda: pd.DataFrame(ROWS, columns=list(TYPES)).astype({"city": "category"}),
    "pandas with an index": lambda: pd.DataFrame(ROWS, columns=list(TYPES), index=range(50, 50 + len(ROWS))),
    "polars": lambda: pl.DataFrame(ROWS, schema=list(TYPES), orient="row"),
    "polars categories": lambda: pl.DataFrame(ROWS, schema=list(TYPES), orient="row").cast({"city": pl.Categorical}),
}


@pytest.mark.heavy
@pytest.mark.parametrize("kind", MEMORY)
def test_objects_in_memory_agree(kind: str) -> None:
    assert right(MEMORY[kind]())


@pytest.mark.heavy(family="long")
def test_dataset_of_files(tmp_path: Path) -> None:
    assert right(pyarrow.dataset.dataset(parquet(tmp_path)))


CONNECTION_TABLES = [
    "visits",
    "main.visits",
    "seen",
    "other.copied",
    "copied",
    "again",
    "temporary",
    "temp.temporary",
    "glance",
]


@pytest.mark.heavy
@pytest.mark.parametrize("table", CONNECTION_TABLES)
def test_connections_agree(table: str) -> None:
    with duckdb.connect() as connection:
        fill(connection)
        connection.execute("CREATE TEMP TABLE temporary AS FROM visits")
        connection.execute("CREATE TEMP VIEW glance AS FROM temporary")
        assert right(connection, table=table)


@pytest.mark.heavy(family="long")
def test_connection_with_a_registered_object_and_relation() -> None:
    with duckdb.connect() as connection:
        connection.register("registered", ARROW)
        assert right(connection, table="registered")
        fill(connection)
        assert right(connection.sql("SELECT zip, city, age FROM visits"))
        assert right(connection.table("visits"))


@pytest.mark.heavy(family="long")
def test_connection_sees_uncommitted_rows_and_goes_on_working() -> None:
    with duckdb.connect() as connection:
        connection.execute("BEGIN")
        fill(connection)
        assert right(connection, table="visits")
        connection.execute("ROLLBACK")
        assert connection.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(0,)]


@pytest.mark.heavy(family="long")
def test_connection_names_mean_what_they_mean_in_its_sql(tmp_path: Path) -> None:
    path = duckdb_file(tmp_path)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE visits AS SELECT 'x' AS zip, 'y' AS city, 1 AS age")
        connection.execute(f"ATTACH '{path}' AS attached (READ_ONLY)")
        assert found(connection, table="visits") == ({}, 0)  # the attached file's table of that name is not meant
        connection.execute("CREATE TEMP TABLE visits AS FROM attached.main.visits")
        assert right(connection, table="visits")  # a temporary table hides the other
        assert found(connection, table="main.visits") == ({}, 0)
        connection.execute("DROP TABLE temp.main.visits; USE attached")
        assert right(connection, table="visits")


NAMES = [
    "select", "order", "group by", "t", "t1", "row", "id", "ID", "id_", "source_row", "SOURCE_ROW", "u", "v", "dc",
    "a", "b", "text", "size", "edge", "groups", "rowid", "hash", "largest", "constraint", "row_1", "dpdb",
    "source_file", "x y", "x'y", 'x"y', 'x""', "x;y", "--", "/*", "naïve", "straße", "列", "😀", "\\", "%s", "{}", "$1",
    "?", "1", "1.5", "null", "true", "é", " lead",
]  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("name", NAMES)
def test_column_names(database: Database, name: str) -> None:
    key = '"' + name.replace('"', '""') + '"'
    other = "VALUE"
    table = pa.table({name: [1, 1, 1, 2, None], other: ["x", "y", "y", "x", "x"]})
    database.execute("DROP TABLE IF EXISTS source_row")
    source = open_source(database, table)
    dcs = load_constraints([f"not(t1.{key}=t2.{key}&t1.value!=t2.value)", f"not(t1.{key}>1)"], source.schema.names)
    part = LocalSlice(database, source, bind(database, dcs, source.schema), None, name="names", keep_source_row=True)
    try:
        result = read(database, part)
    finally:
        part.close()
    assert result.by_position() == {(0, 1): 0, (0, 2): 0}
    assert (result.self_conflicts, result.degree_bound) == (1, 2)


@pytest.mark.heavy(family="long")
def test_names_of_tables_and_schemas(tmp_path: Path) -> None:
    path = tmp_path / "odd.duckdb"
    with duckdb.connect(str(path)) as connection:
        for schema in ("slice_1", "a.b", 'q"q'):
            quoted = '"' + schema.replace('"', '""') + '"'
            connection.execute(f"CREATE SCHEMA {quoted}")
            connection.execute(f'CREATE TABLE {quoted}."select ""x"" \'y\';" AS SELECT 1 AS zip, 2 AS city, 3 AS age')
    for schema in ("slice_1", "a.b", 'q"q'):
        assert found(path, table=f"{schema}.select \"x\" 'y';") == ({}, 0)
