"""What every command prints, its exit code, and what the ledger keeps of it, compared with recordings.

A change that is wanted shows as a difference of these files: write them anew with DPDB_WRITE_GOLDEN=1.
"""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from recorded_session import commands_of, rerun

FOLDER = Path(__file__).parent / "sessions"
RECORDINGS = sorted(FOLDER.glob("*.txt"))

RULES = """\
zip -> city                                   # 3 zip codes have a second city
not(t1.age>t2.age&t1.fee<t2.fee)
not(t1.age<0)
"""
SUITE = """\
city: zip -> city  warn above 0, fail above 60%
old: not(t1.age<0)  fail above 10 rows
row_count  fail below 10
"everyone has a zip": NOT NULL(zip)
"""
JOB = """\
name = "visits"
source = "visits.parquet"
constraints = "rules.txt"
ledger = "visits.ledger"
results = "results.duckdb"

[[release]]
name = "by state"
measure = "repair"
epsilon = 0.5
by = "state"
keys = ["CA", "NY"]
gate = { repair = 5 }

[[release]]
name = "rows"
measure = "count"
epsilon = 0.1
"""

SERVED = """\
[tables.visits]
source = "visits.parquet"
constraints = "rules.txt"
ledger = "served.ledger"
"""


def visits() -> pa.Table:
    """120 rows: 20 zip codes of 6 rows; every 40th row has another city, two rows break the order, one has no age."""
    rows = range(120)
    return pa.table(
        {
            "id": pa.array([i + 1 for i in rows], pa.int32()),
            "zip": [f"9{i % 20:03}" for i in rows],
            "city": ["Elsewhere" if i % 40 == 7 else f"City {i % 20}" for i in rows],
            "state": ["CA" if i % 20 < 10 else "NY" for i in rows],
            "age": pa.array([None if i == 50 else -1 if i == 77 else 20 + i // 4 for i in rows], pa.int16()),
            "fee": pa.array([10.5 + i // 4 - 30 * (i in (60, 90)) for i in rows], pa.float64()),
            "patient": [f"p{i // 2}" for i in rows],
        }
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table, its rules, a job file, two public files, and a folder for a ledger."""
    pq.write_table(visits(), tmp_path / "visits.parquet")
    pa.csv.write_csv(visits(), tmp_path / "visits.csv")
    pa.csv.write_csv(pa.table({"state": ["CA", "NY"], "people": [39, 19]}), tmp_path / "states.csv")
    (tmp_path / "rules.txt").write_text(RULES)
    (tmp_path / "nightly.suite.txt").write_text(SUITE)
    (tmp_path / "visits.toml").write_text(JOB)
    (tmp_path / "serve.toml").write_text(SERVED)
    (tmp_path / "queries.sql").write_text("age < 30\nage BETWEEN 25 AND 40\nstate = 'CA'\nstate = 'NY'\n")
    (tmp_path / "books").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
@pytest.mark.usefixtures("folder")
def test_commands_print_what_they_printed(recording: Path) -> None:
    found = rerun(recording)
    assert "\n? 143\n" not in found, "a command was ended by a signal: that is no recording"
    if os.environ.get("DPDB_WRITE_GOLDEN"):
        recording.write_text(found, encoding="utf-8")
    assert found == recording.read_text(encoding="utf-8")


def test_every_command_is_recorded() -> None:
    from dpdb.doors.cli.main import build_parser

    actions = build_parser()._subparsers
    assert actions is not None
    commands = set(actions._group_actions[0].choices or ())
    recorded = {
        line.split()[1] for path in RECORDINGS for line in commands_of(path) if line.startswith("dpdb ") and " " in line
    }
    told_by_the_machine = {"warm"}  # what it prints depends on what is compiled; tests/graph/test_graph_compiled.py
    assert commands - told_by_the_machine <= recorded, commands - recorded
