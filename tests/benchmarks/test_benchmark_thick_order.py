"""Order rules in which most pairs of rows may conflict, such as the two delays of a flight: `pytest -m benchmark -s`.

CPU seconds of a process of its own for each statistic, kernels loaded; the least of three runs against pairs. What is
asserted are ratios within the run, and that both ways give the same number.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
FLIGHTS = 336_776
CORRELATIONS = {"independent": 0.0, "weak": 0.3, "strong": 0.9, "very strong": 0.995}
STATISTICS = ("twice_fractional_cover", "degrees")
LEAST = {"twice_fractional_cover": 20.0, "degrees": 20.0}
"""How much faster than by pairs."""

pytestmark = pytest.mark.benchmark


def run(rows: int, values: int, correlation: float, statistic: str, way: str) -> dict[str, Any]:
    command = [sys.executable, str(HERE / "run_thick_order.py"), *map(str, (rows, values, correlation, statistic, way))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("name", CORRELATIONS)
def test_against_looking_at_pairs(name: str, statistic: str) -> None:
    rows = 40_000 if statistic == "degrees" else 10_000  # pairs are counted in vectors: sums pay off among more rows
    rounds = [[run(rows, 300, CORRELATIONS[name], statistic, way) for way in ("chosen", "pairs")] for _ in range(3)]
    chosen, pairs = (min(ways, key=lambda found: found["seconds"]) for ways in zip(*rounds, strict=True))
    ratio = pairs["seconds"] / chosen["seconds"]
    print(f"{name:12} {rows:,} rows {statistic:22} {chosen['seconds']:6.3f} s, by pairs {ratio:6.1f}x")
    assert chosen["answer"] == pairs["answer"]
    assert ratio > LEAST[statistic]


@pytest.mark.parametrize("values", [300, 1_440])
@pytest.mark.parametrize("name", CORRELATIONS)
def test_flights_at_full_size(name: str, values: int) -> None:
    """Rows grow about 34 times from 10,000, pairs 1,100 times; 2 tau* and degrees grow with rows."""
    for statistic in STATISTICS:
        small, large = (run(rows, values, CORRELATIONS[name], statistic, "chosen") for rows in (10_000, FLIGHTS))
        print(
            f"{name:12} {values:5,} values {FLIGHTS:,} rows {statistic:22} {large['seconds']:7.2f} s"
            f" ({large['seconds'] / small['seconds']:6.1f}x that of 10,000), blocks {large['blocks']:.2f} s,"
            f" {large['peak GB']:.2f} GB"
        )
        assert large["peak GB"] < 1
        assert large["seconds"] / small["seconds"] < 1_100
