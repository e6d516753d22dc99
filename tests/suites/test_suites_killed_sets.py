"""A run of a set of tables whose process is killed at any step: one debit, what was recorded stays, one answer."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpdb.ledger import Ledger

STEPS = [
    "secret written", "inserted", "reserved", "level drawn", "level written", "level recorded", "ending", "end written",
    "secret overwritten", "ended",
]  # fmt: skip
SUITES = {
    "person": "born: NOT NULL(born)\nonce: UNIQUE(person_id)\nrow_count WHERE born > 0  fail below 1\n",
    "visit": "of_person: person_id IN person.person_id\nday: CHECK (day >= 0)  fail above 10%\n",
}
KILLED = """
import os, signal, sys
from dpdb import steps

wanted = sys.argv.pop(1)
steps.watchers.append(lambda name: os.kill(os.getpid(), signal.SIGKILL) if name == wanted else None)
from dpdb.doors.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A set in which all persons lack a birth, and no visit breaks a rule."""
    (tmp_path / "tables").mkdir()
    (tmp_path / "suites").mkdir()
    persons = pa.table({"person_id": range(3_000), "born": pa.array([None] * 3_000, pa.int64())})
    visits = pa.table({"person_id": [k % 3_000 for k in range(6_000)], "day": [1] * 6_000})
    for name, rows in (("person", persons), ("visit", visits)):
        pq.write_table(rows, tmp_path / "tables" / f"{name}.parquet")
        (tmp_path / "suites" / f"{name}.suite.txt").write_text(SUITES[name])
    Ledger.create(tmp_path / "set.ledger", 1).close()
    return tmp_path


def run(folder: Path, step: str) -> subprocess.CompletedProcess[str]:
    """Check the set in a process of its own, which is killed at a step."""
    command = ["check", "tables", "suites", "--unit", "person_id", "--epsilon", "1", "--ledger", "set.ledger"]
    command += ["--run-id", "monday", "--format", "json", "--quiet"]
    return subprocess.run(
        [sys.executable, "-c", KILLED, step, *command], cwd=folder, capture_output=True, text=True, check=False
    )


def recorded(ledger: Ledger) -> dict[tuple[str, int], str]:
    """Return what the runs of the suite have recorded, if it was begun."""
    levels = [each for suite in ledger.suites() for each in ledger.suite_levels(suite.number)]
    return {(each.run_id, each.level): each.answer for each in levels}


@pytest.mark.heavy
@pytest.mark.parametrize("step", STEPS)
def test_a_set_that_is_killed_half_way_is_finished_by_its_run_id(folder: Path, step: str) -> None:
    assert run(folder, step).returncode == -signal.SIGKILL
    killed = run(folder, step)  # or finished, where the step lies behind it
    assert killed.returncode == -signal.SIGKILL or killed.stdout, killed.stderr
    with Ledger.open(folder / "set.ledger") as ledger:
        before = recorded(ledger)
        assert ledger.summary().releases <= 1
    first = run(folder, "never")
    again = run(folder, "never")
    assert first.stdout == again.stdout
    found = {each["name"]: each["verdict"] for each in json.loads(first.stdout)["checks"]}
    assert (found["born"], found["of_person"], found["day"]) == ("fail", "pass", "pass"), first.stderr
    with Ledger.open(folder / "set.ledger") as ledger:
        after = recorded(ledger)
        assert before.items() <= after.items()
        assert ledger.summary().releases == 1
        assert ledger.summary().spent == json.loads(first.stdout)["epsilon"] < 1
