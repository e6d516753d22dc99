"""`dpdb.jobs.plan` and `dpdb.jobs.run`: what the command line does, in Python and in notebooks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import dpdb
from dpdb.doors.cli import main
from dpdb.jobs import Outcomes
from dpdb.ledger import Ledger
from dpdb.release import Gate, check_gates

HOSTILE = "<script>alert(1)"


@pytest.mark.heavy(family="spending")
def test_a_plan_prints_as_the_command_does_and_spends_nothing(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planned = dpdb.jobs.plan(job, "monday")
    assert main(["run", str(job), "--run-id", "monday", "--dry-run"]) == 0
    assert capsys.readouterr().out == f"{planned}\n"
    with Ledger.open(job.parent / "t.ledger") as ledger:
        assert ledger.summary().spent == 0
    html = planned._repr_html_()
    assert html.count("<tr>") == 1 + 3
    assert "by zip: 1, 2" in html
    assert "fails if repair is above 1,000,000,000" in html
    assert "nothing was spent" in html


@pytest.mark.heavy(family="long")
def test_a_run_publishes_once_and_shows_its_gates(job: Path) -> None:
    first = dpdb.jobs.run(job, "monday")
    again = dpdb.jobs.run(dpdb.jobs.load_job(job), "monday")
    assert first == again
    assert first.passed
    assert len(dpdb.jobs.read_results(job.parent / "results.duckdb")) == 3 + 2 + 1
    html = first._repr_html_()
    assert html.count("<tr>") == 1 + 3 + 2 + 1
    assert "gate passed" in html


@pytest.mark.heavy(family="long")
def test_a_gate_that_fails_is_said_and_a_warning_fails_nothing(job: Path) -> None:
    (outcome, *_) = dpdb.jobs.run(job, "monday")
    release = replace(outcome.releases[-1], value=5.0, lower=4.5, upper=5.5)
    for gate, passed, words in (
        (Gate("repair", 4), False, "gate failed: repair = 5 &gt; 4"),
        (Gate("repair", 4, warns=True), True, "warning: repair = 5 &gt; 4"),
        (Gate("repair", 6), True, "gate passed"),
        (Gate("repair", 5.25), False, "gate not shown to be within: repair = 5 &lt;= 5.25; the threshold lies inside"),
    ):
        shown = Outcomes([replace(outcome, releases=(release,), gates=check_gates([release], [gate]))])
        assert shown.passed is passed
        assert words in shown._repr_html_()


@pytest.mark.heavy(family="long")
def test_what_a_job_asks_is_escaped(job: Path) -> None:
    job.write_text(job.read_text().replace('where = "age < 3"', f"""where = "city = '{HOSTILE}'" """))
    for html in (dpdb.jobs.plan(job, HOSTILE)._repr_html_(), dpdb.jobs.run(job, "x")._repr_html_()):
        assert "<script" not in html
        assert "&lt;script&gt;" in html


@pytest.mark.heavy(family="long")
def test_errors_are_those_of_the_command(job: Path) -> None:
    job.write_text(job.read_text().replace("epsilon = 0.3", "epsilon = 30"))
    with pytest.raises(dpdb.BudgetExceededError, match="do not fit the budget together"):
        dpdb.jobs.run(job, "monday")
    with pytest.raises(dpdb.DpdbError, match="no-such"):
        dpdb.jobs.plan(job.parent / "no-such.toml")
