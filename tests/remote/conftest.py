"""Random tables are those of the engine's own tests; one Spark session and one PostgreSQL server for all tests."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from asked_there import AskedThere, Sent
from helpers_clickhouse import ClickHouse, why_no_clickhouse
from helpers_postgres import Server, running_server
from helpers_sail import Sail, why_no_sail
from helpers_spark import FOR_FEW_ROWS, SETTINGS, why_no_spark

sys.path.insert(0, str(Path(__file__).parents[1] / "engine"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A classic session of two cores in which a task may fail three times."""
    reason = why_no_spark()
    if reason is not None:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("spark")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # for tests whose frames run Python; dpdb runs none there
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of PySpark's own imports
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2,4]").appName("dpdb tests")
        places = {"spark.local.dir": str(folder), "spark.sql.warehouse.dir": str(folder / "warehouse")}
        for name, value in (SETTINGS | FOR_FEW_ROWS | places).items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def sail() -> Iterator[Any]:
    """A session of Sail: Spark's protocol, in a second."""
    reason = why_no_sail()
    if reason is not None:
        pytest.skip(reason)
    server = Sail()
    yield server.session
    server.stop()


@pytest.fixture(scope="session")
def clickhouse() -> Iterator[ClickHouse]:
    """A server of ClickHouse's HTTP interface."""
    reason = why_no_clickhouse()
    if reason is not None:
        pytest.skip(reason)
    with TemporaryDirectory(prefix="dpdb-ch-") as folder:
        server = ClickHouse(Path(folder) / "server")
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture(scope="module")
def postgres(server: Server) -> Server:
    """The server, in a database of this test file's own."""
    server.use_new_database()
    return server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with running_server() as server:
        yield server


@pytest.fixture(
    params=[
        "duckdb",
        pytest.param("spark", marks=pytest.mark.heavy(family="spark")),
        pytest.param("postgres", marks=pytest.mark.heavy(family="long")),
    ]
)
def sent(request: pytest.FixtureRequest) -> Sent:
    """Make rows a table of another engine; returns what opens it."""
    if request.param == "duckdb":
        return lambda rows: {"source": AskedThere(rows)}
    if request.param == "spark":
        spark = request.getfixturevalue("spark")

        def framed(rows: pa.Table) -> dict[str, Any]:
            frame = spark.createDataFrame(rows)
            naive = "naive" in rows.column_names  # which it would take for moments of its session's zone
            return {"source": frame.withColumn("naive", frame["naive"].cast("timestamp_ntz")) if naive else frame}

        return framed
    server: Server = request.getfixturevalue("postgres")
    return lambda rows: {"source": server.address, "table": server.holding(rows)}
