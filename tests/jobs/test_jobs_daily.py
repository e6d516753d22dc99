"""A job that runs every day: a date in its `where`, an epoch where rows are reloaded, an answered run replayed."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from case_share import of_all
from hypothesis import given, settings, strategies as st

import dpdb
from dpdb.doors.cli import main
from dpdb.doors.jobs.placeholders import fill, is_filled_from, placeholders
from dpdb.errors import LedgerError, ParameterError
from dpdb.ledger import Ledger

DAILY = """name = "daily"
source = "visits.parquet"
constraints = ["zip -> city"]
ledger = "visits.ledger"
results = "results.duckdb"
[[release]]
name = "dirt"
measure = "repair"
epsilon = 0.5
where = "day = {date}"
"""
FIRST = date(2026, 1, 1)


def written(folder: Path, days: int, kind: pa.DataType | None = None) -> None:
    day = [FIRST + timedelta(days=number) for number in range(days) for _ in range(2)]
    column = pa.array(day) if kind is None else pa.array([f"{one}" for one in day], kind)
    rows = {"zip": ["1"] * len(day), "city": ["a", "b"] * days, "day": column}
    pq.write_table(pa.table(rows), folder / "visits.parquet")


@pytest.fixture
def daily(tmp_path: Path) -> Path:
    written(tmp_path, 1)
    Ledger.create(tmp_path / "visits.ledger", 0.5, append_only=True).close()
    (tmp_path / "daily.toml").write_text(DAILY)
    return tmp_path / "daily.toml"


def run(job: Path, run_id: str, *more: str) -> int:
    return main(["run", str(job), "--run-id", run_id, "--quiet", *more])


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err


@pytest.mark.heavy(family="long")
def test_days_of_an_append_only_table_cost_one_epsilon_for_ever(
    daily: Path, capsys: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    """Budget .5, every day .5: ten days fit, and no day is warned of, because tomorrow's rows have all of it."""
    for number in range(10):
        written(daily.parent, number + 1)
        assert main(["run", str(daily), "--run-id", f"{FIRST + timedelta(days=number)}"]) == 0
        assert "little" not in said(capsys)
    assert not recwarn.list
    ledger = str(daily.parent / "visits.ledger")
    assert main(["budget", "show", ledger]) == 0
    shown = capsys.readouterr().out
    assert "spent      epsilon 0.5 by 10 releases (5 without parallel composition)" in shown
    assert (
        "remaining  epsilon 0 for a release of the whole table\n"
        "           epsilon 0.5 for rows whose day no release has covered\n" in shown
    )
    assert main(["budget", "show", ledger, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["unseen_rows"] == {"column": "day", "remaining": 0.5}
    assert run(daily, "2026-01-10-again") == 4  # that day is spent
    results = dpdb.jobs.read_results(daily.parent / "results.duckdb")
    assert {row.release.where for row in results.rows} == {
        f"day = '{FIRST + timedelta(days=number)}'" for number in range(10)
    }


def test_what_other_rows_have_left_is_what_a_release_of_them_may_cost(tmp_path: Path) -> None:
    """The figure is neither above nor, for slices of one column, below what the ledger takes."""
    written(tmp_path, 3)
    with Ledger.create(tmp_path / "visits.ledger", 1, append_only=True) as ledger:
        assert ledger.unseen_rows() is None
        with dpdb.open(tmp_path / "visits.parquet", ledger=tmp_path / "visits.ledger") as s:
            s.dp_count(epsilon=0.25)
            assert ledger.unseen_rows() is None  # every row has collected the same
            for day in ("2026-01-01", "2026-01-02"):
                s.dp_count(where=f"day = '{day}'", epsilon=0.5)
            found = ledger.unseen_rows()
            assert found is not None
            assert (found.column, found.remaining) == ("day", 0.75)
            with pytest.raises(dpdb.errors.BudgetExceededError):
                s.dp_count(where="day = '2026-01-03'", epsilon=0.750000001)
            s.dp_count(where="day = '2026-01-03'", epsilon=0.75)


def test_where_all_values_are_covered_nothing_is_promised(tmp_path: Path) -> None:
    written(tmp_path, 1)
    with Ledger.create(tmp_path / "visits.ledger", 1) as ledger:
        with dpdb.open(tmp_path / "visits.parquet", ledger=tmp_path / "visits.ledger") as s:
            for where in ("day <= '2026-01-01'", "day > '2026-01-01'", "day IS NULL"):
                s.dp_count(where=where, epsilon=0.5)
        assert ledger.unseen_rows() is None


@pytest.mark.heavy
@pytest.mark.parametrize("kind", [None, pa.string(), pa.timestamp("us")])
def test_a_date_is_a_literal_of_the_columns_type(kind: pa.DataType | None, daily: Path) -> None:
    if kind is not None and pa.types.is_timestamp(kind):
        pq.write_table(
            pa.table({"zip": ["1"], "city": ["a"], "day": [datetime(2026, 1, 1)]}), daily.parent / "visits.parquet"
        )
    else:
        written(daily.parent, 2, kind)
    assert run(daily, "scheduled__2026-01-01T06:00:00+01:00") == 0
    (row,) = dpdb.jobs.read_results(daily.parent / "results.duckdb").rows
    assert row.release.where == "day = '2026-01-01'"


@pytest.mark.heavy(family="long")
def test_a_run_id_in_where_is_text_and_nothing_else(daily: Path, capsys: pytest.CaptureFixture[str]) -> None:
    daily.write_text(DAILY.replace("day = {date}", "city = {run_id}"))
    assert run(daily, "x' OR true --") == 0
    (row,) = dpdb.jobs.read_results(daily.parent / "results.duckdb").rows
    assert row.release.where == "city = 'x'' OR true --'"
    with Ledger.open(daily.parent / "visits.ledger") as ledger:
        assert [entry.rows for entry in ledger.history()] == ["city = 'x'' OR true --'"]


@pytest.mark.parametrize(
    ("where", "run_id", "words"),
    [
        ("day = {date}", "first", "the run id 'first' names none"),
        ("day = '{date}'", "2026-01-01", "{date} stands within quotes"),
        ("day = {day}", "2026-01-01", "no placeholder {day} (known: date, run_id)"),
    ],
)
def test_what_cannot_be_filled_in_is_refused(
    where: str, run_id: str, words: str, daily: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    daily.write_text(DAILY.replace("day = {date}", where))
    for more in ((), ("--dry-run",)):
        assert run(daily, run_id, *more) == 2
        assert words in said(capsys)
    with Ledger.open(daily.parent / "visits.ledger") as ledger:
        assert ledger.summary().releases == 0


@pytest.mark.heavy(family="privacy")
def test_a_stated_date_counts_and_a_retry_with_another_one_is_refused(
    daily: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(daily, "monday", "--date", "2026-01-01") == 0
    assert run(daily, "monday", "--date", "2026-01-01") == 0
    assert run(daily, "monday", "--date", "2026-01-02") == 2
    assert "was used for another request" in said(capsys)
    assert dpdb.jobs.plan(daily, "tuesday", date=datetime(2026, 1, 2, tzinfo=UTC)).epsilon == 0.5


@pytest.mark.heavy(family="long")
def test_a_kept_theta_is_kept_from_date_to_date(daily: Path) -> None:
    kept = DAILY.replace('measure = "repair"', 'measure = "problematic"\ntheta = "keep"')
    daily.write_text(kept)
    written(daily.parent, 3)
    (first,) = dpdb.jobs.run(daily, "2026-01-01")
    (second,) = dpdb.jobs.run(daily, "2026-01-02")
    assert second.releases[0].theta == first.releases[0].theta
    assert second.releases[0].theta_from is not None
    daily.write_text(kept.replace("{date}", "{date} AND zip = '1'"))
    (other,) = dpdb.jobs.run(daily, "2026-01-03")
    assert other.releases[0].theta_from is None  # another slice, which chooses its own


@pytest.mark.heavy(family="long")
@settings(max_examples=of_all(300), deadline=None)
@given(st.text(max_size=20), st.sampled_from(["a = {run_id}", "{run_id} = a AND b = '}' OR c IN ({run_id}, 'x')"]))
def test_whatever_a_run_is_called_stays_one_literal(name: str, template: str) -> None:
    assert placeholders(template) == {"run_id"}
    filled = fill(template, {"run_id": name})
    assert is_filled_from(template, filled)
    literals = [f"SELECT {piece}" for piece in (fill("{run_id}", {"run_id": name}),)]
    if "\0" not in name:
        assert duckdb.sql(literals[0]).fetchall() == [(name,)]


# -- reloaded tables ------------------------------------------------------------------------------------------


def reloaded(folder: Path, consent: str = "") -> Path:
    (folder / "visits.ledger").unlink(missing_ok=True)
    Ledger.create(folder / "visits.ledger", 1).close()
    path = folder / "reloaded.toml"
    path.write_text(consent + DAILY.replace("0.5", "0.25").replace('where = "day = {date}"', ""))
    return path


def epoch(job: Path) -> tuple[int, float]:
    with Ledger.open(job.parent / "visits.ledger") as ledger:
        return ledger.summary().epoch, ledger.summary().spent


@pytest.mark.heavy(family="long")
def test_a_job_with_consent_opens_an_epoch_for_changed_rows_and_only_for_them(
    daily: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = reloaded(daily.parent, "new_epochs = true\n")
    assert run(job, "monday", "--new-epoch") == 0
    assert epoch(job) == (1, 0.25)
    assert run(job, "tuesday", "--new-epoch") == 0  # the same rows
    assert epoch(job) == (1, 0.5)
    written(daily.parent, 2)
    assert run(job, "wednesday") == 2
    why = said(capsys)
    assert "its owner opens a new epoch" in why
    assert "budget together" not in why
    assert run(job, "wednesday", "--new-epoch", "--dry-run") == 0
    assert "; enough" in capsys.readouterr().out
    assert epoch(job) == (1, 0.5)
    for _ in range(2):
        assert run(job, "wednesday", "--new-epoch") == 0
        assert epoch(job) == (2, 0.75)


def test_an_epoch_needs_the_owners_word_in_the_job(daily: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = reloaded(daily.parent)
    assert run(job, "monday", "--new-epoch") == 2
    assert "needs the owner's word in the job: new_epochs = true" in said(capsys)
    with pytest.raises(ParameterError, match="owner's word"):
        dpdb.jobs.plan(job, "monday", new_epoch=True)


@pytest.mark.heavy(family="long")
def test_a_run_that_does_not_fit_opens_no_epoch(daily: Path) -> None:
    job = reloaded(daily.parent, "new_epochs = true\n")
    for name in "abcd":
        assert run(job, name, "--new-epoch") == 0
    written(daily.parent, 2)
    assert run(job, "e", "--new-epoch") == 4
    assert epoch(job) == (1, 1.0)


@pytest.mark.heavy(family="long")
def test_an_answered_run_is_replayed_after_a_reload(daily: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = reloaded(daily.parent, "new_epochs = true\n")
    asked = ["measure", str(daily.parent / "visits.parquet"), "--constraints", "zip -> city", "--epsilon", "0.25",
             "--ledger", str(daily.parent / "visits.ledger"), "--format", "json", "--run-id"]  # fmt: skip
    assert main([*asked, "one"]) == 0
    assert run(job, "monday", "--format", "json") == 0
    first = capsys.readouterr().out
    written(daily.parent, 3)
    assert main([*asked, "one"]) == 0
    assert run(job, "monday", "--format", "json", "--new-epoch") == 0
    assert capsys.readouterr().out == first
    assert epoch(job) == (1, 0.5)
    assert main([*asked, "two"]) == 2
    assert "its owner opens a new epoch" in said(capsys)
    main(["budget", "epoch", str(daily.parent / "visits.ledger")])
    with dpdb.open(
        daily.parent / "visits.parquet", constraints="zip -> city", ledger=daily.parent / "visits.ledger"
    ) as s:
        answer = s.dp_count(epsilon=0.1, run_id="three")
    written(daily.parent, 4)
    with dpdb.open(
        daily.parent / "visits.parquet", constraints="zip -> city", ledger=daily.parent / "visits.ledger"
    ) as s:
        assert s.dp_count(epsilon=0.1, run_id="three") == answer
        with pytest.raises(LedgerError, match="opens a new epoch"):
            s.dp_count(epsilon=0.1)


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("kept", ["results.duckdb", "results"])
def test_results_say_what_was_warned_of_and_which_slice_it_is_from_day_to_day(kept: str, daily: Path) -> None:
    """At epsilon 10,000 the noise is 0 but with a chance below 1e-6: one row of two must go on each day."""
    (daily.parent / "visits.ledger").unlink()
    Ledger.create(daily.parent / "visits.ledger", 100_000, append_only=True).close()
    warned = DAILY.replace("0.5", "10000").replace("results.duckdb", kept)
    daily.write_text(f'{warned}by = "zip"\nkeys = ["1", "2"]\n[release.warn]\nrepair = 0.25\n')
    assert run(daily, "2026-01-01") == 0
    assert run(daily, "2026-01-02") == 0
    rows = dpdb.jobs.read_results(daily.parent / kept).rows
    found = {(row.run_id, row.where): (row.warn_threshold, row.warned, row.gate, row.verdict) for row in rows}
    assert found == {
        ("2026-01-01", "(day = {date}) AND zip = '1'"): (0.25, True, None, "warned"),
        ("2026-01-01", "(day = {date}) AND zip = '2'"): (0.25, False, None, ""),
        ("2026-01-02", "(day = {date}) AND zip = '1'"): (0.25, False, None, ""),
        ("2026-01-02", "(day = {date}) AND zip = '2'"): (0.25, False, None, ""),
    }
