"""`explain` reads no row, whatever the source is: what would be copied for a release is only described."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from dpdb.release.ask import Ask
from dpdb.release.explain import explain

SCHEMA = pa.schema([("zip", pa.string()), ("city", pa.string()), ("tags", pa.list_(pa.string()))])


def exploding() -> Iterator[pa.RecordBatch]:
    raise AssertionError("a row was read")
    yield


@pytest.mark.heavy(family="long")
def test_a_view_is_not_run(tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE VIEW t AS SELECT 'z' AS zip, error('a row was read')::VARCHAR AS city")
        with pytest.raises(duckdb.Error, match="a row was read"):
            connection.execute("FROM t").fetchall()
    explained = explain(str(path), "zip -> city", Ask("all", where="zip = 'a'", epsilon=1))
    assert [planned["mechanism"] for planned in explained["releases"]] == ["ladder", "ladder", "fewest_deletions"]


@pytest.mark.heavy(family="long")
def test_a_stream_is_not_consumed() -> None:
    reader = pa.RecordBatchReader.from_batches(SCHEMA, exploding())
    assert explain(reader, constraints="zip -> city")["source"] == "RecordBatchReader"


@pytest.mark.heavy(family="long")
def test_a_connection_and_a_relation_are_not_run() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE VIEW t AS SELECT 'z' AS zip, error('a row was read')::VARCHAR AS city")
        explain(connection, constraints="zip -> city", table="t")
        explain(connection.sql("FROM t"), constraints="zip -> city")
