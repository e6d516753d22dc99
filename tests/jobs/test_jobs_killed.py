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


@pytest.mark.heavy
@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize("rounds", [1, pytest.param(9, marks=pytest.mark.slow)])
def test_a_killed_job_publishes_once_and_spends_once_and_jobs_at_once_lose_no_row(
    rounds: int, kind: str, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"zip": ["1", "1", "2"], "city": ["a", "b", "c"]}), tmp_path / "t.parquet")
    temporary = tmp_path / "temporary"  # killed processes leave their temporary directories
    temporary.mkdir()
    run = subprocess.run(
        [sys.executable, str(DRIVER), str(tmp_path), str(rounds), kind],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"TMPDIR": str(temporary)},
    )
    assert run.returncode == 0, run.stderr
    done = json.loads(run.stdout)
    kills = sum(done["killed"].values())
    # The file of results is made by the first run only.
    assert kills >= rounds * STEPS[kind] - (rounds - 1 if kind == "DuckDB" else 0)
    assert len(done["killed"]) >= STEPS[kind]  # every step
    assert done["left"] == []
    assert done["codes"] == [0] * 4
    assert done["rows"] == done["distinct"] == 2 * 3  # jobs, rows of a run
    print(f"{kind}: {kills} kills: {done['killed']}")
