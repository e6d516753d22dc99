"""Sources that are no local file: lakes, S3, web servers and databases behind ADBC, each with the real thing."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpdb.database.database import Database
from dpdb.errors import SourceError
from dpdb.opening import open_table
from dpdb.sources.open import open_source
from dpdb.sources.source import Reading

ROWS = [{"zip": "01", "city": "A", "n": 1}, {"zip": "01", "city": "B", "n": 2}, {"zip": "02", "city": None, "n": 3}]
TABLE = pa.Table.from_pylist(ROWS)


def rows(source: Any, **options: Any) -> list[dict[str, Any]]:
    with Database() as database:
        opened = open_source(database, source, **options)
        batches = list(database.stream(f"FROM {opened.scan.sql('duckdb', normalize_functions=False)} ORDER BY n"))
        assert opened.path is None
    with Database() as database:
        described = open_source(database, source, rows=Reading.NONE, **options)
        assert (described.schema, described.description) == (opened.schema, opened.description)
    return [row for batch in batches for row in batch.to_pylist()]


def token(source: Any, **options: Any) -> str:
    with open_table(source, **options) as table:
        table.refuse_change(all_rows=True)
        return table.opened_content()


def refused(source: Any, match: str, **options: Any) -> str:
    with Database() as database, pytest.raises(SourceError, match=match) as caught:
        open_source(database, source, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# -- lakes ------------------------------------------------------------------------------------------------------


@pytest.mark.heavy(family="long")
def test_delta(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    place = str(tmp_path / "t")
    deltalake.write_deltalake(place, TABLE.slice(0, 1))
    before = token(place)
    deltalake.write_deltalake(place, TABLE.slice(1), mode="append")
    deltalake.write_deltalake(place, TABLE.slice(1), mode="append")
    deltalake.DeltaTable(place).delete("n > 1")
    assert rows(place) == ROWS[:1]  # the deleted rows' files are still there
    assert token(place) == before
    deltalake.write_deltalake(place, TABLE.slice(1), mode="append")
    assert rows(place) == ROWS
    many = token(place)
    deltalake.DeltaTable(place).optimize.compact()
    assert token(place) == many != before  # a new version of the same rows is no change
    next(Path(place).glob("part-*.parquet"))
    for file in Path(place).glob("part-*.parquet"):
        file.write_bytes(b"PAR1")
    refused(place, "cannot be read|reading its rows failed")


def test_a_delta_log_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("deltalake")
    (tmp_path / "_delta_log").mkdir()
    refused(tmp_path, "deltalake cannot read it")


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("pyiceberg")
    import pyiceberg.catalog
    from pyiceberg.utils.config import Config

    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", f"sqlite:///{tmp_path}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", f"file://{tmp_path}")
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    monkeypatch.setattr(pyiceberg.catalog, "_ENV_CONFIG", Config())  # else read when it was imported first
    return pyiceberg.catalog.load_catalog("lake")


@pytest.mark.heavy(family="long")
def test_iceberg(catalog: Any, tmp_path: Path) -> None:
    catalog.create_namespace("ns")
    table = catalog.create_table("ns.visits", TABLE.schema)
    table.append(TABLE)
    table.append(TABLE.slice(0, 1))
    table.delete("zip = '02'")
    assert rows("iceberg:lake.ns.visits") == [ROWS[0], ROWS[0], ROWS[1]]
    before, snapshot = token("iceberg:lake.ns.visits"), table.current_snapshot()
    table.overwrite(table.scan().to_arrow())
    assert table.current_snapshot() != snapshot
    assert token("iceberg:lake.ns.visits") == before  # a new snapshot of the same rows is no change
    assert rows(table.metadata_location.removeprefix("file://")) == [ROWS[0], ROWS[0], ROWS[1]]
    folder = tmp_path / "ns" / "visits"
    refused(folder / "data", "belongs to a Iceberg table|Iceberg")
    refused(folder, "Iceberg")
    newest = Path(table.metadata_location).name.removesuffix(".metadata.json")
    (folder / "metadata" / "version-hint.text").write_text(newest)
    assert rows(folder) == [ROWS[0], ROWS[0], ROWS[1]]
    refused("iceberg:lake.ns.unknown", "pyiceberg cannot read it")
    refused("iceberg:nowhere.ns.visits", "pyiceberg cannot read it")


@pytest.mark.heavy(family="privacy")
def test_settings_of_iceberg_in_the_current_folder_are_a_strangers(
    catalog: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would say which table is read, by which class, and who is sent the caller's credentials."""
    catalog.create_namespace("ns")
    catalog.create_table("ns.visits", TABLE.schema).append(TABLE)
    settings = {"uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}"}
    text = "".join(f"    {key}: {value}\n" for key, value in settings.items())
    (tmp_path / ".pyiceberg.yaml").write_text(f"catalog:\n  lake:\n{text}")
    for name in ("PYICEBERG_CATALOG__LAKE__URI", "PYICEBERG_CATALOG__LAKE__WAREHOUSE", "PYICEBERG_HOME"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    def opened() -> subprocess.CompletedProcess[str]:
        """Import pyiceberg first, which reads them then; and end as commands do: Arrow's threads may be at work yet."""
        code = "import os; from dpdb.opening import open_table; open_table('iceberg:lake.ns.visits'); os._exit(0)"
        return subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert "pyiceberg cannot read it" in opened().stderr
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    assert opened().returncode == 0


# -- S3 ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bucket() -> Iterator[Any]:
    server = pytest.importorskip("moto.server").ThreadedMotoServer(port=0)
    pytest.importorskip("s3fs")
    server.start()
    try:
        with pytest.MonkeyPatch.context() as patch:
            host, port = server.get_host_and_port()
            patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
            for name, value in (("ACCESS_KEY_ID", "key"), ("SECRET_ACCESS_KEY", "secret"), ("REGION", "us-east-1")):
                patch.setenv(f"AWS_{name}", value)
            patch.setenv("AWS_ALLOW_HTTP", "true")
            patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
            from botocore.session import get_session

            client = get_session().create_client("s3")
            client.create_bucket(Bucket="bucket")
            yield client
    finally:
        server.stop()


def put(bucket: Any, key: str, table: pa.Table) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    bucket.put_object(Bucket="bucket", Key=key, Body=sink.getvalue().to_pybytes())


@pytest.mark.heavy(family="long")
def test_objects_folders_and_globs_on_s3(bucket: Any) -> None:
    put(bucket, "one/t.parquet", TABLE)
    put(bucket, "many/year=2024/a.parquet", TABLE.slice(0, 1))
    put(bucket, "many/year=2025/b.parquet", TABLE.slice(1))
    assert rows("s3://bucket/one/t.parquet") == ROWS
    years = [{**row, "year": "2024" if row["n"] == 1 else "2025"} for row in ROWS]
    assert rows("s3://bucket/many") == rows("s3://bucket/many/") == rows("s3://bucket/many/*/*.parquet") == years
    assert token("s3://bucket/one/t.parquet") == token(TABLE)
    bucket.put_object(Bucket="bucket", Key="csv/t.csv.gz", Body=b"no gzip")
    assert "s3://bucket/csv/t.csv.gz" in refused("s3://bucket/csv/t.csv.gz", "header line|cut short")
    refused("s3://bucket/none", "no object there")
    refused("s3://bucket/none/*.parquet", "no object there")
    refused("s3://nobucket/none.parquet", "cannot be fetched|no object")
    refused("s3://bucket", "names no object")


@pytest.mark.heavy(family="long")
def test_a_key_cannot_lead_out_of_our_folder(bucket: Any) -> None:
    put(bucket, "out/../../evil.parquet", TABLE)
    refused("s3://bucket/out", "is no path|no object there")


@pytest.mark.heavy(family="long")
def test_two_keys_that_are_one_path_are_refused(bucket: Any) -> None:
    put(bucket, "twice/a/t.parquet", TABLE.slice(0, 1))
    put(bucket, "twice/a//t.parquet", TABLE.slice(1))
    refused("s3://bucket/twice", "the keys of two objects are one path")


@pytest.mark.heavy(family="long")
def test_an_object_that_changes_while_it_is_fetched_is_noticed(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    s3fs = pytest.importorskip("s3fs")
    put(bucket, "moving/t.parquet", TABLE)
    fetch = s3fs.S3FileSystem.get_file

    def get_file(self: Any, *where: str) -> None:
        fetch(self, *where)
        put(bucket, "moving/t.parquet", TABLE.slice(1))

    monkeypatch.setattr(s3fs.S3FileSystem, "get_file", get_file)
    refused("s3://bucket/moving/t.parquet", "changed while it was fetched")


@pytest.mark.heavy(family="long")
def test_delta_on_s3(bucket: Any) -> None:
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake("s3://bucket/delta", TABLE, storage_options={"AWS_S3_ALLOW_UNSAFE_RENAME": "true"})
    assert rows("s3://bucket/delta") == ROWS


# -- web servers ------------------------------------------------------------------------------------------------


class Answers(BaseHTTPRequestHandler):
    files: ClassVar[dict[str, bytes]] = {}
    asked: ClassVar[list[Any]] = []

    def do_GET(self) -> None:
        self.asked.append(self.headers["Authorization"])
        body = self.files.get(self.path.partition("?")[0])
        if body is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/csv" if self.path.startswith("/export") else "application/octet-stream")
        self.send_header("Content-Length", str(len(body) + (7 if "short" in self.path else 0)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving(**files: bytes) -> Iterator[str]:
    Answers.files = {f"/{name.replace('__', '.')}": body for name, body in files.items()}
    Answers.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.heavy(family="long")
def test_files_on_a_web_server() -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(TABLE, sink)
    text = b"zip;city;n\n01;A;1\n01;B;2\n02;;3\n"
    with serving(t__parquet=sink.getvalue().to_pybytes(), export=text, short__csv=text) as server:
        assert rows(f"{server}/t.parquet?signature=secret#x") == ROWS
        assert rows(f"{server}/export", csv_schema={"n": "BIGINT"}) == ROWS
        refused(f"{server}/none.csv", "the server answers 404")
        shown = refused(
            f"{server.replace('//', '//me:pass%20word@')}/short.csv?token=secret", "the connection ended before"
        )
        assert Answers.asked[-1] == "Basic bWU6cGFzcyB3b3Jk"
    assert not any(word in shown for word in ("secret", "pass", "me:"))
    assert "secret" not in refused(f"{server}/t.parquet?signature=secret", "cannot be fetched")


# -- ADBC -------------------------------------------------------------------------------------------------------


@pytest.mark.heavy(family="long")
def test_adbc_connections_and_addresses(tmp_path: Path) -> None:
    driver = pytest.importorskip("adbc_driver_duckdb.dbapi")
    file = tmp_path / "t.db"
    with closing(driver.connect(str(file))) as connection:
        with closing(connection.cursor()) as cursor:
            cursor.adbc_ingest("visits", TABLE)
        connection.commit()
        assert rows(connection, table="visits") == rows(connection, table="main.visits") == ROWS
        assert token(connection, table="visits") == token(TABLE)
        refused(connection, "name the table")
        refused(connection, "cannot be read", table='no"ne')
    assert rows(f"adbc:duckdb:{file}", table="visits") == ROWS
    refused("adbc:duckdb:/no/such/folder/t.db?password=secret", "cannot be read", table="visits")
    assert "secret" not in refused("adbc:nodriver:secret", r"pip install 'dpdb\[adbc\]'", table="visits")


def test_the_driver_that_guesses_types_from_rows_is_refused(tmp_path: Path) -> None:
    driver = pytest.importorskip("adbc_driver_sqlite.dbapi")
    with closing(driver.connect(str(tmp_path / "t.db"))) as connection:
        refused(connection, "give the path of the file", table="visits")
    refused(f"adbc:sqlite:{tmp_path}/t.db", "give the path of the file", table="visits")
