"""Order rules on 10 million rows beside fetching the sorted rows as Arrow: `pytest -m benchmark -s ...`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from run_one_sort import SORTED

pytestmark = pytest.mark.benchmark

ROWS = 10_000_000


def test_an_order_rule_takes_at_most_twice_as_long_as_fetching_the_sorted_rows() -> None:
    command = [sys.executable, str(Path(__file__).parent / "run_one_sort.py"), str(ROWS)]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    for name, number in found.items():
        print(f"{name:50}{number:8.2f}")
    assert found[SORTED] < 2 * found["fetched"]
