"""`theta = "keep"`: what a job's release chose once, its later runs use again, and are compared."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpdb.doors.cli import main
from dpdb.doors.jobs import RESULT_SCHEMA, read_results
from dpdb.ledger import Ledger
from dpdb.measures import Answer, Mechanism
from dpdb.measures.answer import DegreeCap
from dpdb.release import Release, measure_part
from dpdb.release.parts import Prepared

KEEPS = """name = "visits"
source = "t.parquet"
constraints = ["zip -> city"]
ledger = "t.ledger"
results = "results.duckdb"

[[release]]
name = "dirty"
measure = "problematic"
epsilon = 1.5
theta = "keep"
"""


@pytest.fixture
def keeps(tmp_path: Path) -> Path:
    """A table of 200 groups whose degrees make theta a matter of chance."""
    zips = [f"z{group}" for group in range(200) for _ in range(1 + group % 30)]
    cities = [f"c{row % 3}" for row in range(len(zips))]
    pq.write_table(pa.table({"zip": zips, "city": cities}), tmp_path / "t.parquet")
    Ledger.create(tmp_path / "t.ledger", 100).close()
    path = tmp_path / "job.toml"
    path.write_text(KEEPS)
    return path


def run(job: Path, run_id: str) -> int:
    return main(["run", str(job), "--run-id", run_id, "--quiet"])


def releases(job: Path) -> dict[str, Release]:
    """By run and slice."""
    rows = read_results(job.parent / "results.duckdb").rows
    return {f"{row.run_id} {row.release.where or ''}".strip(): row.release for row in rows}


def edit(job: Path, old: str, new: str) -> None:
    assert old in job.read_text()
    job.write_text(job.read_text().replace(old, new))


@pytest.mark.heavy(family="long")
def test_later_runs_keep_what_the_first_chose(keeps: Path) -> None:
    for day in ("mon", "tue", "wed", "thu", "fri"):
        assert run(keeps, day) == 0
    found = releases(keeps)
    assert len({release.theta for release in found.values()}) == 1
    assert found["mon"].theta_from is None
    assert {found[day].theta_from for day in ("tue", "fri")} == {"kept, as chosen in run mon"}
    # All of epsilon goes to the answer: the scale of one draw.
    assert found["fri"].noise_scale == pytest.approx((found["mon"].theta + 1) / 1.5)
    assert found["fri"].change(found["tue"]).quantity == "rows"


@pytest.mark.heavy(family="long")
def test_only_runs_of_this_release_are_read(keeps: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger may hold years of other answers."""
    kept_answers, read = Ledger.answers, []

    def answers(ledger: Ledger, *, run_id: str | None = None, release_id: str | None = None) -> object:
        read.append((run_id, release_id))
        return kept_answers(ledger, run_id=run_id, release_id=release_id)

    assert [run(keeps, day) for day in ("mon", "tue")] == [0, 0]
    edit(keeps, 'name = "dirty"', 'name = "other"')
    assert run(keeps, "wed") == 0
    edit(keeps, 'name = "other"', 'name = "dirty"')
    monkeypatch.setattr(Ledger, "answers", answers)
    monkeypatch.setattr(Ledger, "lines", lambda _: pytest.fail("reads every line"))
    assert run(keeps, "thu") == 0
    assert read == [("visits/tue/dirty", None)]


@pytest.mark.heavy(family="long")
def test_a_retry_asks_for_what_it_asked_for(keeps: Path) -> None:
    """Also the first run, which chose, after a later one has kept."""
    for day in ("mon", "tue", "mon", "tue"):
        assert run(keeps, day) == 0
    assert len(releases(keeps)) == 2
    with Ledger.open(keeps.parent / "t.ledger") as ledger:
        assert ledger.summary().spent == 3


@pytest.mark.heavy(family="spending")
def test_a_run_that_was_killed_after_its_debit_keeps_too(keeps: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its request has the theta; meanwhile another run of the job may have come to another one."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr(Prepared, "release", fail)
        assert run(keeps, "mon") == 3  # debited, without an answer
    assert run(keeps, "tue") == 0
    assert run(keeps, "mon") == 0
    found = releases(keeps)
    assert found["mon"].theta_from is found["tue"].theta_from is None


@pytest.mark.heavy(family="long")
def test_a_kept_theta_says_for_ever_that_it_may_limit_if_the_run_that_chose_it_said_so(
    keeps: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in a retry, whose request does not have it. What did not limit then may limit now: nothing is said."""
    edit(keeps, 'theta = "keep"', 'theta = "keep"\nby = "zip"\nkeys = ["z29", "z1"]')
    said = {"zip = 'z29'": True, "zip = 'z1'": False}

    def chosen(answer: Answer, mechanism: Mechanism, cap: DegreeCap | None, max_degree: int | None) -> Answer:
        return replace(answer, theta_limits=next(announced) if cap else None)

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patched:
        announced = iter(said.values())
        patched.setattr(measure_part, "with_theta_limits", chosen)
        assert run(keeps, "mon") == 0
    assert run(keeps, "tue") == 0
    with monkeypatch.context() as patched:
        patched.setattr(Prepared, "release", fail)
        assert run(keeps, "wed") == 3  # debited, without an answer
    assert run(keeps, "wed") == 0
    found = releases(keeps)
    assert {where: found[f"mon {where}"].theta_limits for where in said} == said
    for day in ("tue", "wed"):
        assert {where: found[f"{day} {where}"].theta_limits for where in said} == {**said, "zip = 'z1'": None}


@pytest.mark.heavy(family="long")
def test_noise_may_change_and_what_is_asked_may_not(keeps: Path) -> None:
    assert run(keeps, "mon") == 0
    edit(keeps, "epsilon = 1.5", 'epsilon = "0.7"\nconfidence = 0.8')
    assert run(keeps, "tue") == 0
    found = releases(keeps)
    assert found["tue"].theta == found["mon"].theta
    for number, (old, new) in enumerate(
        [
            ('theta = "keep"', 'theta = "keep"\nwhere = "zip <> \'z1\'"'),
            ('"problematic"', '"minimal_inconsistency"'),
            ('["zip -> city"]', '["zip -> city", "city -> zip"]'),
            ('name = "dirty"', 'name = "other"'),
        ]
    ):
        edit(keeps, old, new)
        assert run(keeps, f"new {number}") == 0
    assert all(release.theta_from is None for day, release in releases(keeps).items() if day.startswith("new"))


@pytest.mark.heavy(family="long")
def test_every_slice_keeps_its_own(keeps: Path) -> None:
    edit(keeps, 'theta = "keep"', 'theta = "keep"\nby = "zip"\nkeys = ["z29", "z1"]')
    for day in ("mon", "tue"):
        assert run(keeps, day) == 0
    found = releases(keeps)
    assert len(found) == 4
    for where in {release.where for release in found.values()}:
        assert found[f"mon {where}"].theta == found[f"tue {where}"].theta
    with Ledger.open(keeps.parent / "t.ledger") as ledger:
        asked = json.loads(ledger.lines()[-1].request)
    assert sorted(asked["theta"]) == sorted(one.theta for day, one in found.items() if day.startswith("tue"))


@pytest.mark.heavy(family="long")
def test_the_plan_names_the_same_request(keeps: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(keeps, "mon") == 0
    assert main(["run", str(keeps), "--run-id", "tue", "--dry-run"]) == 0
    assert "nothing was spent" in capsys.readouterr().out


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"problematic"', '"repair"', "it has no theta"),
        ('"problematic"', '"all"', "each measure has its own"),
        ('"problematic"', '"count"', "do not apply to measure 'count'"),
        ('"keep"', '"kept"', "expected a whole number or 'keep', got 'kept'"),
        ('"keep"', "0", "theta must be a whole number from 1"),
    ],
)
def test_what_has_no_theta_is_refused(
    old: str, new: str, why: str, keeps: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(keeps, old, new)
    assert run(keeps, "mon") == 2
    said = capsys.readouterr().err
    assert why in said
    assert said.count("\n") == 1


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("kept", ["results.duckdb", "results"])
def test_results_of_an_older_version_get_the_new_columns_at_the_end(kept: str, keeps: Path) -> None:
    """Their rows are read, without what they did not keep; the page compares what can be compared."""
    edit(keeps, "results.duckdb", kept)
    path, new = (
        keeps.parent / kept,
        (
            "raw",
            "estimate_lower",
            "estimate_upper",
            "estimate_reason",
            "unit",
            "theta_from",
            "handicaps",
            "draw_share",
            "theta_limits",
            "constraint_text",
            "population",
            "most_deletions",
            "run_date",
            "where_template",
            "warn_threshold",
            "warned",
        ),
    )
    assert run(keeps, "mon") == 0
    if kept == "results":
        [file] = path.glob("*.parquet")
        pq.write_table(pq.read_table(file).drop_columns(list(new)), file)
    else:
        with duckdb.connect(str(path)) as connection:
            for name in new:
                connection.execute(f"ALTER TABLE dpdb_results DROP COLUMN {name}")
    assert run(keeps, "tue") == 0
    old, later = (row.release for row in read_results(path).rows)
    assert (old.raw, old.unit, old.theta) == (None, None, later.theta)
    assert later.estimate_lower <= later.value <= later.estimate_upper
    if kept == "results.duckdb":
        with duckdb.connect(str(path), read_only=True) as connection:
            assert connection.sql("FROM dpdb_results").columns == RESULT_SCHEMA.names
    assert RESULT_SCHEMA.names[-len(new) :] == list(new)
