"""A check of a set that is killed, or finds its disk full: one debit, and the answer of an undisturbed run."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

DRIVER = Path(__file__).parent / "set_driver.py"
OPENING = ["asked", "begun", "secret written", "inserted"]  # until the debit's transaction is committed
RUNNING = ["reserved", "level drawn", "level written", "level recorded", "ending", "end written"]
LAST = {"": ["secret overwritten", "ended"], "nightly": ["ended"]}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A set of which two checks fail, each by other thresholds than the other."""
    folder = tmp_path_factory.mktemp("set")
    tables, suites = folder / "tables", folder / "suites"
    tables.mkdir()
    suites.mkdir()
    born = [None if k % 4 == 0 else date(2000, 1, 1) for k in range(2_000)]
    pq.write_table(pa.table({"person_id": list(range(2_000)), "born": born}), tables / "person.parquet")
    kinds = [9 if k % 10 == 0 else 1 for k in range(4_000)]
    visits = {"person_id": [k % 2_000 for k in range(4_000)], "kind": kinds}
    pq.write_table(pa.table(visits), tables / "visit.parquet")
    pq.write_table(pa.table({"concept_id": [1, 2]}), tables / "concept.parquet")
    (suites / "person.suite.txt").write_text("born: NOT NULL(born)\nseen: person_id IN visit.person_id\n")
    (suites / "visit.suite.txt").write_text("kinds: kind IN concept.concept_id\nof: person_id IN person.person_id\n")
    return tables, suites


def driven(places: tuple[Path, Path], folder: Path, kept: str, cases: list[str]) -> dict[str, Any]:
    tables, suites = places
    command = [sys.executable, str(DRIVER), str(tables), "", str(suites), str(folder), kept, *cases]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["1"][0] != found["2"][0], "the thresholds show in what is answered"
    return found


def killed(places: tuple[Path, Path], folder: Path, kept: str, steps: list[str]) -> None:
    found = driven(places, folder, kept, [f"kill {step}" for step in steps])
    for step in steps:
        one, debited = found[f"kill {step}"], step not in OPENING
        assert one["ended"] == [-signal.SIGKILL, 0, 0], step
        assert one["debits after"] == debited, step
        wanted, spent = found["1" if debited else "2"]
        assert one["said"] == [None, wanted, wanted], step
        assert (one["debits"], one["spent"]) == (1, spent), step


@pytest.mark.heavy(family="ends")
def test_a_set_that_is_killed_is_finished_by_the_same_command(places: tuple[Path, Path], tmp_path: Path) -> None:
    killed(places, tmp_path, "", ["secret written", "level recorded", "secret overwritten"])


@pytest.mark.slow
@pytest.mark.parametrize("kept", ["", "nightly"])
def test_a_set_that_is_killed_at_each_step(places: tuple[Path, Path], tmp_path: Path, kept: str) -> None:
    killed(places, tmp_path, kept, [*OPENING, *RUNNING, *LAST[kept]])


@pytest.mark.heavy(family="ends")
def test_a_full_disk_is_one_line_and_the_same_command_goes_on(places: tuple[Path, Path], tmp_path: Path) -> None:
    """Before the debit nothing is spent; after it the run is finished with its own thresholds, and paid once."""
    found = driven(places, tmp_path, "", ["full asked", "full reserved"])
    for case, debited in (("full asked", False), ("full reserved", True)):
        one = found[case]
        assert one["ended"] == [0, 0, 0], one
        assert one["said"][0].startswith("error: "), one
        assert len(one["said"][0].splitlines()) == 1, one
        assert one["debits after"] == debited, one
        wanted, spent = found["1" if debited else "2"]
        assert one["said"][1:] == [wanted, wanted], one
        assert (one["debits"], one["spent"]) == (1, spent), one
