"""Every fast path saves half in a use that people have: `pytest -m benchmark -s tests/benchmarks/...fast_paths.py`.

Others have files of their own: projections by special rows, rows in conflict first, one sort, range matching (thick
orders).
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from run_fast_path import CASES

pytestmark = pytest.mark.benchmark


@pytest.mark.parametrize("case", CASES)
def test_a_fast_path_takes_at_most_half(case: str) -> None:
    command = [sys.executable, str(Path(__file__).with_name("run_fast_path.py")), case]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    print(f"{case:52} on {found['on']:10,.3f} off {found['off']:10,.3f} = {found['off'] / found['on']:.2f}x")
    assert found["off"] >= 2 * found["on"]
