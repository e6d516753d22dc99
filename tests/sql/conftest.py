"""Files of a private table and of public ones, and a front end over them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from private_rows import private_rows
from suite_door import door_with_suite

import dpdb
from dpdb.doors.sql import FrontEnd


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The private table as Parquet, CSV and DuckDB, and two public ones."""
    path = tmp_path_factory.mktemp("front_end")
    rows = private_rows()
    pq.write_table(rows, path / "visits.parquet")
    pa.csv.write_csv(rows, path / "visits.csv")
    with duckdb.connect(str(path / "visits.duckdb")) as connection:
        connection.execute(f"CREATE TABLE visits AS FROM '{path / 'visits.parquet'}'")
    pa.csv.write_csv(pa.table({"state": ["CA", "NY", "TX"], "people": [39, 19, 29]}), path / "states.csv")
    pq.write_table(pa.table({"state": ["CA", "NY"], "rate": [0.5, 0.25]}), path / "rates.parquet")
    return path


@pytest.fixture(scope="session")
def public(folder: Path) -> dict[str, Path]:
    return {"states": folder / "states.csv", "rates": folder / "rates.parquet"}


@pytest.fixture(scope="module")
def front_end(folder: Path, public: dict[str, Path]) -> Iterator[FrontEnd]:
    with door_with_suite(folder, public) as opened:
        yield opened


@pytest.fixture(scope="module")
def session(front_end: FrontEnd) -> dpdb.Session:
    assert isinstance(front_end.session, dpdb.Session)
    return front_end.session
