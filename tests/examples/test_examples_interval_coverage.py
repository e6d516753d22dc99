"""The coverage example measures every mechanism's interval on the bundled table and flags what covers too rarely.

False alarm of the first test: 1e-6 at most, by the script's own level, and far below it with so few releases.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from dpdb.measures import all_measures

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(EXAMPLES)
    import interval_coverage

    return interval_coverage


@pytest.mark.heavy(family="alone")
def test_every_mechanism_rates_and_counts(
    example: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["interval_coverage.py", "--releases", "8"])
    assert example.main() == 0
    out = capsys.readouterr().out
    lines = [line for line in out.splitlines() if line.startswith("bundled hospital") and "theta" not in line]
    at_theta = [line for line in out.splitlines() if line.startswith("bundled hospital") and "at its theta" in line]
    on_one_row = [line for line in out.splitlines() if line.startswith("bundled, one row") and "violating_rows" in line]
    every = [one for measure in all_measures() for one in measure.mechanisms]
    mechanisms = [one for one in every if not one.is_default_where_it_applies]
    without = sum(one.no_estimate is not None for one in mechanisms)
    chosen = [line for line in at_theta if "theta 3" not in line]
    assert len(chosen) == len(lines) - 5 - without  # the last five are rates and the count
    assert all("two-sided" in line for line in at_theta)
    assert len(lines) == len(mechanisms) + 5  # two rates alone, two together, a count
    assert len(on_one_row) == sum(one.on_one_row for one in every)
    assert all("two-sided" in line for line in on_one_row)
    assert sum("two-sided" in line for line in lines) >= 5
    assert all("[" in line for line in lines)
    assert ", 0 below nominal" in out


@pytest.mark.parametrize(("hits", "flagged"), [(2000, False), (1900, False), (1880, False), (1840, True), (0, True)])
def test_what_is_flagged(hits: int, flagged: bool, example: ModuleType) -> None:
    found = example.Found("t", "count", 2000, hits, 2000)
    assert (example.chance(found, 0.95) < example.FALSE_ALARM / 114) == flagged
    assert "two-sided" in example.described(found, 0.95)
