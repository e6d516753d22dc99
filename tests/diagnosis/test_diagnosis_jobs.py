"""`[[diagnose]]` in job files: once per run id, in a table beside the results, and on the report's page."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stub_noise import StubNoise

import dpdb
from dpdb.doors.cli import main
from dpdb.doors.jobs import read_results
from dpdb.errors import DpdbError
from dpdb.ledger import Ledger
from dpdb.privacy.noise import replaced_noise
from dpdb.stopping import watchers

JOB = """name = "visits"
source = "t.parquet"
constraints = ["zip -> city", "age >= 0"]
ledger = "t.ledger"
results = "{results}"

[[diagnose]]
name = "where"
by = "state"
keys = ["S0", "S1", "S2", "<none>"]
epsilon = 1
top = 2

[[diagnose]]
name = "columns"
by = ["state", "sex"]
keys = [["S0", "S1"], ["F", "M"]]
epsilon = "0.5"
expected = "1%"
rules = true
where = "age < 1000"
"""


@pytest.fixture(params=["results.duckdb", "results"])
def job(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    rows = range(400)
    table = {
        "state": [f"S{k % 3}" for k in rows],
        "sex": ["FM"[k % 2] for k in rows],
        "zip": [k // 3 for k in rows],
        "city": ["x"] * 400,
        "age": [-1 if k % 3 == 1 else k for k in rows],
    }
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    Ledger.create(tmp_path / "t.ledger", 3).close()
    path = tmp_path / "job.toml"
    path.write_text(JOB.replace("{results}", request.param))
    return path


def run(job: Path, run_id: str = "2026-11-21") -> dpdb.jobs.Outcomes:
    with replaced_noise(StubNoise()):
        return dpdb.jobs.run(job, run_id)


def spent(job: Path) -> float:
    with Ledger.open(job.parent / "t.ledger") as ledger:
        return ledger.summary().spent


@pytest.mark.heavy(family="long")
def test_a_run_is_planned_made_and_repeated(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = dpdb.jobs.plan(job, "2026-11-21")
    assert "4 slices of state; epsilon 1" in str(plan)
    assert "2 slices of state, 2 slices of sex, rules; epsilon 0.5" in str(plan)
    assert plan.epsilon == 1.5
    assert "where" in plan._repr_html_()
    where, columns = run(job)
    assert [one.key for one in where.diagnosis.named] == ["S1", "S0"]
    assert columns.diagnosis.worst == ("state", "S1")
    assert spent(job) == 1.5
    assert [one.diagnosis for one in run(job)] == [where.diagnosis, columns.diagnosis]
    assert spent(job) == 1.5
    assert dpdb.jobs.plan(job, "2026-11-21").epsilon == 0
    assert main(["run", str(job), "--run-id", "2026-11-21", "--format", "json", "--quiet"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in document["diagnoses"]] == ["where", "columns"]


@pytest.mark.heavy
def test_rows_are_kept_once_beside_the_results(job: Path) -> None:
    results = next(job.parent / name for name in ("results.duckdb", "results") if f'"{name}"' in job.read_text())
    run(job)
    run(job)
    run(job, "2026-11-22")
    rows = read_results(results).diagnoses
    assert [(row.run, row.diagnosis, row.place) for row in rows][:5] == [
        ("2026-11-21", "columns", 1), ("2026-11-21", "columns", 2), ("2026-11-21", "where", 1),
        ("2026-11-21", "where", 2), ("2026-11-22", "columns", 1),
    ]  # fmt: skip
    assert rows[0].where == "age < 1000"
    page = job.parent / "page.html"
    assert main(["report", str(results), "--out", str(page)]) == 0
    text = page.read_text()
    assert "state = S1" in text
    assert "<svg" in text
    assert "none&gt;" in text or "<none>" not in text


@pytest.mark.heavy
def test_a_run_that_is_killed_before_its_row_is_kept_is_finished(job: Path) -> None:
    def die(step: str) -> None:
        if step == "published":
            raise KeyboardInterrupt

    watchers.append(die)
    try:
        with pytest.raises(KeyboardInterrupt):
            run(job)
    finally:
        watchers.remove(die)
    assert spent(job) == 1
    run(job)
    assert spent(job) == 1.5


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("line", "other"),
    [
        ('by = "state"', 'by = "nowhere"'),
        ("top = 2", "top = 0"),
        ("top = 2", "colour = 1"),
        ("epsilon = 1\n", ""),
        ('keys = ["S0", "S1", "S2", "<none>"]', 'keys = ["S0", "S0"]'),
        ('keys = ["S0", "S1", "S2", "<none>"]', 'keys = [["S0", "S1"]]'),
        ('keys = [["S0", "S1"], ["F", "M"]]', 'keys = ["S0", "S1"]'),
        ('name = "columns"', 'name = "where"'),
        ('expected = "1%"', "expected = 2"),
        ("age < 1000", "age < {weeks}"),
    ],
)
def test_bad_jobs_spend_nothing(job: Path, line: str, other: str) -> None:
    job.write_text(job.read_text().replace(line, other))
    with pytest.raises(DpdbError, match=r"job\.toml"):
        run(job)
    assert spent(job) == 0
