"""A small private table with its ledger and a job file over them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpdb.ledger import Ledger

JOB = """name = "visits"
source = "t.parquet"
constraints = ["zip -> city"]
ledger = "t.ledger"
results = "results.duckdb"

[[release]]
name = "overall"
measure = "all"
epsilon = 0.3
[release.gate]
repair = 1000000000

[[release]]
name = "by-zip"
measure = "repair"
epsilon = "0.2"
by = "zip"
keys = ["1", "2"]

[[release]]
name = "rows"
measure = "count"
epsilon = 0.1
where = "age < 3"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = {"zip": ["1", "1", "1", "2"], "city": ["alice", "bob", "bob", "carol"], "age": [1, 2, 3, 4]}
    pq.write_table(pa.table(rows), tmp_path / "t.parquet")
    Ledger.create(tmp_path / "t.ledger", 1).close()
    return tmp_path


@pytest.fixture
def job(folder: Path) -> Path:
    path = folder / "job.toml"
    path.write_text(JOB)
    return path
