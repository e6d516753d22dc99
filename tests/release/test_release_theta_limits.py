"""`theta_limits` and its words at every door, from one release in which a few rows hide most conflicts.

No noise is drawn, so that what is released is fixed; whether it says so is a matter of released numbers alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stub_noise import StubNoise

import dpdb
from dpdb.doors.cli import main
from dpdb.doors.jobs import read_results
from dpdb.privacy.noise import replaced_noise
from dpdb.release.published.comparisons import GateResult
from dpdb.release.published.release import Releases
from dpdb.release.published.release_fields import limits_words

RULE = "zip -> city"
WARNING = (
    "theta = {} may be cutting conflicts off: the true number may be larger; ask with a larger theta or more epsilon"
)
MISSING = "many conflicts of few rows may be missing: more epsilon may show them"
JOB = """name = "visits"
source = "visits.parquet"
constraints = ["zip -> city"]
ledger = "visits.ledger"
results = "{}"

[[release]]
name = "pairs"
measure = "minimal_inconsistency"
epsilon = 1
gate = {{ minimal_inconsistency = 500 }}
gate_by = "value"
"""


def hubs() -> pa.Table:
    """One row in conflict with 299 others, and 40 clean groups."""
    return pa.table(
        {
            "zip": ["hub"] * 300 + [f"z{row // 3}" for row in range(120)],
            "city": ["a"] * 299 + ["b"] + ["c"] * 120,
            "state": ["CA"] * 300 + ["NY"] * 120,
        }
    )


@pytest.fixture(autouse=True)
def no_noise() -> Iterator[None]:
    with replaced_noise(StubNoise()):
        yield


@pytest.fixture
def visits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pq.write_table(hubs(), tmp_path / "visits.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "visits.parquet"


def output(*arguments: str) -> str:
    out = StringIO()
    with redirect_stdout(out):
        assert main(list(arguments)) == 0
    return out.getvalue()


def test_a_release_announces_that_theta_may_limit() -> None:
    with dpdb.open(hubs(), constraints=RULE) as session:
        pairs, rows, repair = session.dp_inconsistency("all", 3)
        given = session.dp_inconsistency("problematic", 1, theta=2)
        sure = session.dp_inconsistency("problematic", 1, mechanism="two_sided")
        whole = session.dp_inconsistency("minimal_inconsistency", 1, mechanism="bound")
        count = session.dp_count(0.5)
        rate = session.dp_inconsistency("problematic", 1, rate=True)
    assert (pairs.theta_limits, rows.theta_limits, rate.theta_limits) == (True, True, True)
    assert pairs.value < 299
    assert (sure.theta_limits, whole.theta_limits) == (False, False)
    assert (given.theta_limits, repair.theta_limits, count.theta_limits) == (None, None, None)
    assert WARNING.format(pairs.theta) in str(pairs)
    assert MISSING in pairs._repr_html_().partition("<details>")[0]
    assert Releases([pairs, rows])._repr_html_().count(MISSING) == 2
    assert "cannot be told: no bound of conflicts per row is released with it" in str(given)
    for silent in (repair, given, sure, whole, count):
        assert "may be cutting" not in str(silent)
        assert "may be missing" not in silent._repr_html_()
    assert "cannot be told" not in f"{pairs}{sure}{whole}{repair}{count}"


@pytest.mark.heavy(family="long")
def test_slices_and_constraints_say_it_each_for_itself() -> None:
    with dpdb.open(hubs(), constraints=[RULE, "not(t1.zip = t2.zip & t1.state != t2.state)"]) as session:
        here, there = session.dp_inconsistency("minimal_inconsistency", 1, by="state", keys=["CA", "NY"])
        rules = session.dp_inconsistency("minimal_inconsistency", 2, each_constraint=True)
    assert here.theta_limits is True
    assert there.theta_limits is not True  # groups of 3: nothing is cut off by much
    assert [one.theta_limits for one in rules] == [True, True]  # a large clean group looks the same
    assert [line for line in str(rules).splitlines() if line.startswith("  warning for ")] == [
        f"  warning for {one.constraint_text}: {WARNING.format(one.theta)}" for one in rules
    ]


@pytest.mark.heavy(family="long")
def test_the_command_line_says_it(visits: Path) -> None:
    asked = ("measure", str(visits), "--constraints", RULE, "--measure", "minimal_inconsistency", "--epsilon", "1")
    first, words = output(*asked), output(*asked, "--verbose")
    document = json.loads(output(*asked, "--format", "json"))
    [release] = document["releases"]
    assert release["theta_limits"] is True
    assert list(release)[-4:] == ["theta_limits", "constraint_text", "population", "most_deletions"]
    assert f"\n  warning   {WARNING.format(release['theta'])}\n" in words
    assert "\n* Many conflicts of few rows may be missing: more epsilon may show them.\n" in first


@pytest.mark.heavy(family="long")
def test_sql_says_it(visits: Path) -> None:
    call = "SELECT r.theta_limits FROM dp_inconsistency('visits', measure := '{}', epsilon := 1) AS r"
    pairs, repair = (call.format(measure) for measure in ("minimal_inconsistency", "repair"))
    asked = ("sql", str(visits), "--constraints", RULE, "--budget", "5", "--format", "json")
    document = json.loads(output(*asked, f"{pairs} UNION ALL {repair}"))
    assert document["results"][0]["rows"] == [{"theta_limits": True}, {"theta_limits": None}]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE visits AS FROM 'visits.parquet'")
        with dpdb.register(connection, constraints=RULE, budget=10) as functions:
            assert functions.execute(pairs).to_pydict() == {"theta_limits": [True]}


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("results", ["results.duckdb", "results"])
def test_jobs_and_reports_say_it(results: str, visits: Path) -> None:
    """Results tables of an older version gain the column at the end."""
    Path("visits.toml").write_text(JOB.format(results))
    output("budget", "create", "visits.ledger", "--epsilon", "5")
    output("run", "visits.toml", "--run-id", "mon")
    if results == "results":
        [file] = Path(results).glob("*.parquet")
        assert pq.read_table(file)["theta_limits"].to_pylist() == [True]
        pq.write_table(pq.read_table(file).drop_columns(["theta_limits"]), file)
    else:
        with duckdb.connect(results) as connection:
            connection.execute("ALTER TABLE dpdb_results DROP COLUMN theta_limits")
    output("run", "visits.toml", "--run-id", "tue")
    before, now = (row.release for row in read_results(results).rows)
    assert (before.theta_limits, now.theta_limits) == (None, True)
    output("report", results, "--out", "page.html")
    page = Path("page.html").read_text()
    assert page.count(MISSING) == 2  # beside the latest value, and of its dot; none of the older one
    if results == "results.duckdb":
        with duckdb.connect(results, read_only=True) as connection:
            assert "theta_limits" in connection.sql("FROM dpdb_results").columns


def test_a_gate_that_passed_says_it_and_one_that_failed_does_not() -> None:
    with dpdb.open(hubs(), constraints=RULE) as session:
        release = session.dp_inconsistency("minimal_inconsistency", 1)
    assert str(GateResult(release, 500)).endswith(f"; {MISSING}")
    assert "missing" not in str(GateResult(release, 0))
    assert "missing" not in str(GateResult(replace(release, theta_limits=None), 500))


def test_a_kept_theta_is_not_helped_by_epsilon() -> None:
    with dpdb.open(hubs(), constraints=RULE) as session:
        release = session.dp_inconsistency("minimal_inconsistency", 1)
    kept = replace(release, theta_from="kept, as chosen in run mon")
    assert limits_words(kept).endswith("ask with a larger theta or let it be chosen anew")
