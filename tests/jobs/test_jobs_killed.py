"""A job killed at any point and retried publishes each release once and spends once; jobs at once lose no row."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

DRIVER = Path(__file__).parent / "job_driver.py"
STEPS = {"DuckDB": 13, "Parquet": 11}


@pytest.mark.parametrize("runs", [15, pytest.param(100, marks=pytest.mark.slow)])
def test_a_killed_job_publishes_once_and_spends_once_and_jobs_at_once_lose_no_row(runs: int, tmp_path: Path) -> None:
    pq.write_table(pa.table({"zip": ["1", "1", "2"], "city": ["a", "b", "c"]}), tmp_path / "t.parquet")
    temporary = tmp_path / "temporary"  # killed processes leave their temporary directories
    temporary.mkdir()
    run = subprocess.run(
        [sys.executable, str(DRIVER), str(tmp_path), str(runs)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"TMPDIR": str(temporary)},
    )
    assert run.returncode == 0, run.stderr
    for kind, done in json.loads(run.stdout).items():
        made_again = (runs - 1) // STEPS[kind] if kind == "DuckDB" else 0  # the file is made by the first run only
        kills = sum(done["killed"].values())
        assert kills >= runs - made_again
        assert len(done["killed"]) >= STEPS[kind]  # every step
        assert done["left"] == []
        assert done["codes"] == [0] * 4
        assert done["rows"] == done["distinct"] == 2 * 2 * 3  # jobs, runs, rows of a run
        print(f"{kind}: {kills} kills in {runs} runs: {done['killed']}")
