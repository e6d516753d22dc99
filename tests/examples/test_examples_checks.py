"""The shows of 25 checks: their SQL counts what dpdb counts, their rules are imported, and they run."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import ModuleType

import pyarrow.parquet as pq
import pytest
from stub_noise import StubNoise

from dpdb.privacy.noise import replaced_noise
from dpdb.suites import load_suite

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "checks"
MODULES = ("commands", "daily_numbers", "dirt", "flights", "suite", "twenty_runs", "year")


@pytest.fixture(scope="module")
def checks() -> Iterator[dict[str, ModuleType]]:
    sys.path.insert(0, str(EXAMPLES))
    try:
        yield {name: importlib.import_module(name) for name in MODULES}
    finally:
        sys.path.remove(str(EXAMPLES))
        for name in MODULES:
            sys.modules.pop(name, None)


@pytest.mark.heavy(family="long")
def test_25_checks_are_counted_as_plain_sql_counts_them(checks: dict[str, ModuleType], tmp_path: Path) -> None:
    """Numbers without noise are exact."""
    suite, runs = checks["suite"], checks["twenty_runs"]
    rows = checks["dirt"].Dirt(pq.read_table(runs.HOSPITAL), runs.FAULTS, runs.np.random.default_rng(20)).after(1)
    pq.write_table(rows, tmp_path / "t.parquet")
    checks["commands"].command("budget", "create", tmp_path / "t.ledger", "--epsilon", "25")
    truth = suite.true_counts(rows)
    with replaced_noise(StubNoise()):
        assert checks["daily_numbers"].numbers(tmp_path / "t.parquet", tmp_path / "t.ledger", Decimal(1)) == truth
    assert len(truth) == len(load_suite(suite.suite_text()).lines) == 25
    assert sum(count > 0 for count in truth) >= 10


def test_rules_of_three_tools_are_one_suite_with_a_true_count_for_each(checks: dict[str, ModuleType]) -> None:
    flights = checks["flights"]
    suite = load_suite(flights.imported())
    names = [line.name for line in suite.lines]
    assert len(names) == 34
    assert all(any(name.startswith(known) for known in flights.TRUE) for name in names)
    assert all(any(name.startswith(known) for name in names) for known in flights.TRUE)
    assert len(flights.TRUE) == 26


@pytest.mark.heavy(family="long")
def test_the_programs_run(checks: dict[str, ModuleType], capsys: pytest.CaptureFixture[str]) -> None:
    """Without noise, so that what they find is known."""
    with replaced_noise(StubNoise()):
        assert checks["twenty_runs"].main(["--runs", "1"]) == 0
        assert checks["year"].main(["--days", "3"]) == 0
        assert checks["daily_numbers"].main(["--days", "3", "--daily", "0.4"]) == 0
    printed = capsys.readouterr().out
    assert "1 runs of 25 checks: 0 failed within their limits" in printed
    assert "Failed within the limit: 0. Wrong bounds of passes: 0." in printed
    assert "the ledger is empty on day 3" in printed
