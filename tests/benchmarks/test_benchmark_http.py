"""Processor time of a statement through HTTP beside a warm session: `pytest -m benchmark -s ...`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.benchmark


def test_a_statement_through_http_costs_at_most_twice_its_processor_time(tmp_path: Path) -> None:
    command = [sys.executable, str(Path(__file__).parent / "run_http.py"), str(tmp_path), "40"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    print(f"\nmilliseconds through HTTP, in a warm session:\n{found}")
    for line in found.splitlines():
        _, http, warm = line.split()
        assert float(http) <= 2 * float(warm)
