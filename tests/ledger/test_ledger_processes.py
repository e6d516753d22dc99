"""A ledger under several processes and under SIGKILL: spent is exact, nothing is published without its debit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from inside import file_of

from dpdb.ledger import Ledger
from dpdb.overlap import maximum_overlap
from dpdb.predicates.region import region_from_text

DRIVER = Path(__file__).parent / "ledger_driver.py"


def drive(*arguments: object, program: Path = DRIVER) -> dict[str, Any]:
    command = [sys.executable, str(program), *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.heavy(family="spending")
@pytest.mark.parametrize("each", [60, pytest.param(500, marks=pytest.mark.slow)])
def test_concurrent_debits_are_exact_and_never_above_the_budget(each: int, tmp_path: Path) -> None:
    path = tmp_path / "shared.ledger"
    Ledger.create(path, "0.2" if each < 100 else "1.5").close()
    done = drive("debits", path, 4, each)
    assert done["codes"] == [0] * 4
    with Ledger.open(path) as ledger:
        lines = file_of(ledger).rows("SELECT predicate, charge FROM entry ORDER BY number")
        summary = ledger.summary()
    assert len(lines) == summary.releases == done["allowed"]
    charges = [charge for _, charge in lines]
    overlap = maximum_overlap([region_from_text(predicate) for predicate, _ in lines], charges)
    assert overlap.optimal
    assert round(summary.spent * 10**9) == overlap.upper <= round(summary.budget * 10**9)
    assert round(summary.sequential * 10**9) == sum(charges)
    assert summary.releases < 4 * each  # the budget did end
    print(
        f"4 x {each} debits in {done['seconds']:.1f} s: {summary.releases} allowed, "
        f"spent {summary.spent} of {summary.budget}"
    )


@pytest.mark.heavy(family="spending")
@pytest.mark.parametrize("runs", [18, pytest.param(160, marks=pytest.mark.slow)])
def test_a_run_killed_at_any_step_publishes_once_and_spends_once(runs: int, tmp_path: Path) -> None:
    path = tmp_path / "killed.ledger"
    Ledger.create(path, 1).close()
    done = drive("kills", path, tmp_path / "published", runs)
    assert done["killed"] >= 1.3 * runs
    assert (done["releases"], done["unanswered"]) == (runs, 0)
    assert done["sequential"] == pytest.approx(runs / 1000)
    print(f"{done['killed']} kills over {runs} runs")


@pytest.mark.heavy(family="spending")
def test_processes_that_answer_one_run_draw_once(tmp_path: Path) -> None:
    path = tmp_path / "raced.ledger"
    Ledger.create(path, 1).close()
    done = drive("race", path, tmp_path / "published", 4, 8)
    assert done["codes"] == [0] * 4
    assert sorted(done["drawn"]) == sorted(f"race {run}" for run in range(8))
    assert done["entries"] == 8
    assert len((tmp_path / "published").read_text().splitlines()) == 32
