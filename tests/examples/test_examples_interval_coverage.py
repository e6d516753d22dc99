"""The coverage example measures every mechanism's interval on the bundled table and flags what covers too rarely.

False alarm of the first test: 1e-6 at most, by the script's own level, and far below it with so few releases.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dpdb.measures import minimal_inconsistency, problematic, repair

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_every_mechanism_rates_and_counts() -> None:
    command = [sys.executable, str(EXAMPLES / "interval_coverage.py"), "--releases", "30"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("bundled hospital")]
    mechanisms = sum(len(room.MECHANISMS) for room in (minimal_inconsistency, problematic, repair))
    assert len(lines) == mechanisms + 5  # two rates alone, two together, a count
    assert sum("two-sided" in line for line in lines) >= 5
    assert all("[" in line for line in lines)
    assert ", 0 below nominal" in done.stdout


@pytest.mark.parametrize(("hits", "flagged"), [(2000, False), (1900, False), (1880, False), (1840, True), (0, True)])
def test_what_is_flagged(hits: int, flagged: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    import interval_coverage as example

    found = example.Found("t", "count", 2000, hits, 2000)
    assert (example.chance(found, 0.95) < example.FALSE_ALARM / 114) == flagged
    assert "two-sided" in example.described(found, 0.95)
