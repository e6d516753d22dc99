"""`Database`: limits, errors, life and death."""

from __future__ import annotations

import gc
import logging
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sqlglot import exp

from dpdb.constraints import load_constraints
from dpdb.database.database import Database
from dpdb.engine.slice import LocalSlice
from dpdb.engine.sql.bind import bind
from dpdb.errors import OWNER_LOG, EngineError, ParameterError
from dpdb.schema import Column, TableSchema
from dpdb.sources.source import Source


def edges_of_big_table(database: Database) -> tuple[int, int, int]:
    """Number of edges and two checksums that depend on their order."""
    database.execute("CREATE TABLE big AS SELECT (range * 7919) % 10000 AS a, range % 977 AS b FROM range(100000)")
    schema = TableSchema((Column("a", "BIGINT"), Column("b", "BIGINT")))
    dcs = bind(database, load_constraints(["a -> b", "UNIQUE(b)"]), schema)
    part = LocalSlice(database, Source("big", schema, exp.to_table("big")), dcs, None, name="big_part")
    size = first = second = 0
    for u, v in part.edges.batches():
        places = np.arange(size, size + len(u), dtype=np.uint64)
        first = (first + int((u.astype(np.uint64) * places).sum())) % 2**61
        second = (second + int((v.astype(np.uint64) * places).sum())) % 2**61
        size += len(u)
    part.close()
    return size, first, second


@pytest.mark.heavy(family="long")
def test_a_small_memory_limit_spills_and_gives_the_same_edges(tmp_path: Path) -> None:
    with Database(threads=2) as database:
        expected = edges_of_big_table(database)
    with Database(memory_limit="120MB", temp_directory=tmp_path, threads=2) as database:
        found = edges_of_big_table(database)
        database.execute(
            "CREATE TABLE more AS SELECT range AS a, hash(range) AS b, hash(-range) AS c FROM range(5000000)"
        )
        spilled = [file.stat().st_size for file in database.directory.iterdir()]
    assert expected[0] > 5_000_000
    assert found == expected
    assert sum(spilled) > 0
    assert list(tmp_path.iterdir()) == []


def test_the_default_settings_protect(tmp_path: Path) -> None:
    with Database(temp_directory=tmp_path) as database:
        settings = dict(database.rows("SELECT name, value FROM duckdb_settings()"))
        assert settings["temp_directory"] == str(database.directory)
        assert settings["temp_file_encryption"] == "true"
        assert settings["python_enable_replacements"] == "false"
        assert settings["TimeZone"] == "UTC"
        assert settings["default_collation"] == ""
        frame = [1, 2]  # a Python variable is no table
        with pytest.raises(EngineError, match="does not exist"):
            database.rows("FROM frame")
        del frame


@pytest.mark.heavy
@pytest.mark.parametrize("limit", ["", "abc", "-1GB", "12", "1 parsec", "0x1GB", "GB", "1GB; DROP TABLE t"])
def test_bad_memory_limits(tmp_path: Path, limit: str) -> None:
    with pytest.raises(ParameterError, match="is not a size such as '1GB'") as caught:
        Database(memory_limit=limit, temp_directory=tmp_path)
    assert caught.value.__suppress_context__
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("threads", [0, -1, "many"])
def test_bad_threads(tmp_path: Path, threads: object) -> None:
    with pytest.raises(ParameterError):
        Database(threads=threads, temp_directory=tmp_path)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_bad_temp_directories(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for bad in (tmp_path / "none", tmp_path / "file"):
        with pytest.raises(ParameterError, match="cannot be used") as caught:
            Database(temp_directory=bad)
        assert "\n" not in str(caught.value)


def test_close_twice_and_after(tmp_path: Path) -> None:
    database = Database(temp_directory=tmp_path)
    assert stat.S_IMODE(database.directory.stat().st_mode) == 0o700
    database.close()
    database.close()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(EngineError, match="closed"):
        database.rows("SELECT 1")


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_leaving_by_an_exception_cleans_up(tmp_path: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), Database(temp_directory=tmp_path):
        raise error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.heavy(family="long")
def test_an_abandoned_database_cleans_up(tmp_path: Path) -> None:
    database = Database(temp_directory=tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    del database
    gc.collect()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.heavy(family="long")
def test_exit_of_the_interpreter_cleans_up(tmp_path: Path) -> None:
    code = "import sys; from dpdb.database.database import Database as D; d = D(temp_directory=sys.argv[1]); exit(3)"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, b"", b"")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def owner_log() -> Iterator[list[str]]:
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    OWNER_LOG.addHandler(handler)
    yield lines
    OWNER_LOG.removeHandler(handler)


def test_errors_go_to_the_owners_log_with_their_statement(
    database: Database, owner_log: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(EngineError):
        database.execute("SELECT CAST(name AS INTEGER) FROM (SELECT 'alice' AS name)")
    assert len(owner_log) == 1
    assert "alice" in owner_log[0]
    assert "SELECT CAST(name AS INTEGER)" in owner_log[0]
    assert capfd.readouterr() == ("", "")


def test_errors_of_streams_are_engine_errors_and_the_database_lives_on(
    database: Database, owner_log: list[str]
) -> None:
    with pytest.raises(EngineError):
        list(database.stream("SELECT CAST(if(range = 90000, 'alice', '1') AS INTEGER) FROM range(100000)"))
    assert any("alice" in line for line in owner_log)
    assert database.value("SELECT 42") == 42


def test_two_streams_and_a_statement_interleave(database: Database) -> None:
    database.execute("CREATE OR REPLACE TABLE numbers AS FROM range(3000000) AS t(k)")
    one, other = database.stream("FROM numbers"), database.stream("SELECT -k AS k FROM numbers")
    sizes = [len(next(one)), len(next(other)), database.value("SELECT count(*) FROM numbers")]
    sizes += [sum(len(batch) for batch in one), sum(len(batch) for batch in other)]
    database.execute("DROP TABLE numbers")
    assert sizes == [1_000_000, 1_000_000, 3_000_000, 2_000_000, 2_000_000]


def test_a_slice_that_fails_leaves_nothing(database: Database) -> None:
    schema = TableSchema((Column("a", "BIGINT"),))
    dcs = bind(database, load_constraints("UNIQUE(a)"), schema)
    with pytest.raises(EngineError):
        LocalSlice(database, Source("gone", schema, exp.to_table("no_such_table")), dcs, None, name="failing")
    assert database.rows("SELECT 1 FROM duckdb_schemas() WHERE schema_name = 'failing'") == []


def test_close_drops_the_tables_of_a_slice(database: Database) -> None:
    database.execute("CREATE OR REPLACE TABLE two AS SELECT 1 AS a FROM range(2)")
    schema = TableSchema((Column("a", "BIGINT"),))
    dcs = bind(database, load_constraints("UNIQUE(a)"), schema)
    part = LocalSlice(database, Source("two", schema, exp.to_table("two")), dcs, None, name="closing")
    assert part.edges.edge_count == 1
    assert database.rows("SELECT 1 FROM duckdb_tables() WHERE schema_name = 'closing'")
    part.close()
    part.close()
    assert database.rows("SELECT 1 FROM duckdb_tables() WHERE schema_name = 'closing'") == []


# One task that never ends in the main thread, and many.
QUERIES = [
    "SELECT sum(hash(range) % 7) FROM range(1000000000000)",
    "SELECT count(*) FROM range(900000) AS a(k) JOIN range(900000) AS b(k) ON a.k * 7 <> b.k + 3",
]


@pytest.mark.heavy
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("seconds", [0, 0.001, 0.01, 0.3])
@pytest.mark.parametrize("query", QUERIES)
def test_a_signal_stops_a_query_at_once(database: Database, number: str, seconds: float, query: str) -> None:
    def terminated(signum: int, frame: object) -> None:
        raise SystemExit

    chosen = getattr(signal, number)
    before = signal.signal(chosen, terminated if number == "SIGTERM" else signal.default_int_handler)
    timer = threading.Timer(seconds, os.kill, (os.getpid(), chosen))
    try:
        with pytest.raises(SystemExit if number == "SIGTERM" else KeyboardInterrupt):  # noqa: PT012 - it may come at once
            timer.start()
            list(database.stream(query)) if query == QUERIES[1] else database.value(query)
    finally:
        timer.cancel()
        signal.signal(chosen, before)
    assert database.value("SELECT 42") == 42


@pytest.mark.parametrize("limit", ["1B", "1KB", "1MB", "30MiB"])
def test_a_memory_limit_that_no_table_fits_in_is_refused_when_it_is_set(tmp_path: Path, limit: str) -> None:
    with pytest.raises(ParameterError, match=f"^memory_limit '{limit}' is too small to read any table"):
        Database(memory_limit=limit, temp_directory=tmp_path)
    assert not list(tmp_path.iterdir())
