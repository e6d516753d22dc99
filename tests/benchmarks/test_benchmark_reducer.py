"""Rows in conflict first: what that saves where few rows conflict, and costs where all do. `pytest -m benchmark -s`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROWS = 1_000_000

pytestmark = pytest.mark.benchmark


@pytest.mark.parametrize(("dirty_percent", "most"), [(1, 0.5), (10, 0.7), (100, 1.1)])
def test_rows_in_conflict_first(dirty_percent: int, most: float) -> None:
    command = [sys.executable, str(HERE / "run_reducer.py"), str(ROWS), str(dirty_percent)]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    ratio = found["in conflict"] / found["all rows"]
    print(
        f"{ROWS:,} rows, {dirty_percent:3}% of groups dirty: all rows {found['all rows']:.2f} CPU s, "
        f"rows in conflict {found['in conflict']:.2f} = {ratio:.2f}x"
    )
    assert found["same"]
    assert ratio < most
