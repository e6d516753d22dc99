"""A small table and a ledger for it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpdb.ledger import Ledger


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    path = tmp_path / "visits.parquet"
    pq.write_table(pa.table({"zip": ["1", "1", "2"], "city": ["a", "b", "c"], "age": [1, 2, 3]}), path)
    return path


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "visits.ledger"
    Ledger.create(path, 3).close()
    return path
