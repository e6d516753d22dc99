"""`dpdb run`: releases in the results table once per run id, gates as exit codes, plans that cost nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpdb
import dpdb.doors.jobs.stored as results_duckdb
from dpdb.doors.cli import main
from dpdb.doors.jobs import RESULT_SCHEMA, Results, read_results
from dpdb.ledger import Ledger
from dpdb.release import Release
from dpdb.release.published.release_fields import RELEASE_SCHEMA

RELEASED = [("overall", 3), ("by-zip", 2), ("rows", 1)]


def run(job: Path, run_id: str = "monday", *more: str) -> int:
    return main(["run", str(job), "--run-id", run_id, *more])


def with_results(job: Path, name: str) -> Path:
    job.write_text(job.read_text().replace("results.duckdb", name))
    return job.parent / name


def spent(job: Path) -> float:
    with Ledger.open(job.parent / "t.ledger") as ledger:
        return ledger.summary().spent


@pytest.mark.heavy
@pytest.mark.parametrize("kept", ["results.duckdb", "results", "results.parquet"])
def test_a_run_appends_what_it_publishes_once_and_spends_once(
    kept: str, job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = with_results(job, kept)
    outputs = []
    for _ in range(2):
        assert run(job, "monday", "--format", "json") == 0
        outputs.append(json.loads(capsys.readouterr().out))
        assert spent(job) == 0.6
    assert outputs[0] == outputs[1]
    rows = read_results(path).rows
    published = [Release(**fields) for release in outputs[0]["releases"] for fields in release["releases"]]
    assert sorted((row.release for row in rows), key=lambda r: r.release_id) == sorted(
        published, key=lambda r: r.release_id
    )
    for name, number in RELEASED:
        assert [row.release_name for row in rows].count(name) == number
    assert {(row.job, row.run_id) for row in rows} == {("visits", "monday")}
    assert {(row.gate, row.gate_threshold, row.release.measure) for row in rows if row.gate} == {
        ("passed", 1e9, "repair")
    }
    assert {row.constraint_texts for row in rows} == {("zip -> city",)}
    last = next(row for row in rows if row.release_name == "rows")
    assert (last.ledger_parameter, last.ledger_budget, last.ledger_spent) == ("epsilon", 1.0, 0.6)
    assert run(job, "tuesday") == 4
    capsys.readouterr()


def test_a_job_of_counts_alone_has_no_constraints(job: Path) -> None:
    """At epsilon .9 the noise of two rows is beyond 30 with a chance below 1e-11."""
    head = job.read_text().split("[[release]]")[0].replace('constraints = ["zip -> city"]\n', "")
    job.write_text(f'{head}[[release]]\nname = "n"\nmeasure = "count"\nepsilon = 0.9\nwhere = "age < 3"\n')
    assert run(job) == 0
    [row] = read_results(job.parent / "results.duckdb").rows
    assert (row.release.measure, row.constraint_texts) == ("count", ())
    assert abs(row.release.value - 2) < 30
    job.write_text(f'{head}[[release]]\nname = "n"\nmeasure = "repair"\nepsilon = 0.9\n')
    assert run(job, "tuesday") == 2


@pytest.mark.heavy(family="long")
def test_other_programs_read_the_results(job: Path, folder: Path) -> None:
    assert run(job) == 0
    with duckdb.connect(str(folder / "results.duckdb"), read_only=True) as connection:
        [(releases, first)] = connection.sql("SELECT count(*), epoch(min(time)) FROM dpdb_results").fetchall()
        names = connection.sql("FROM dpdb_results").columns
    assert releases == 6
    assert abs(first - time.time()) < 3600
    assert names == RESULT_SCHEMA.names
    later = ["run_date", "where_template", "warn_threshold", "warned"]
    assert names[-len(RELEASE_SCHEMA) - len(later) :] == [*RELEASE_SCHEMA.names, *later]
    with_results(job, "folder")
    assert run(job) == 0
    assert pq.read_table(folder / "folder").num_rows == 6


@pytest.mark.heavy(family="spending")
def test_releases_that_do_not_fit_together_spend_nothing(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job.write_text(job.read_text().replace('"0.2"', '"0.9"'))  # with the 0.3 of the release before it more than 1
    assert run(job) == 4
    out, err = capsys.readouterr()
    assert "do not fit the budget together" in err
    assert "release 2 of 3 requests epsilon 0.9" in err
    assert err.count("\n") == 1
    assert out == ""
    assert spent(job) == 0
    assert len(read_results(job.parent / "results.duckdb")) == 0
    job.write_text(job.read_text().replace('"0.9"', '"0.2"'))
    assert run(job) == 0
    assert spent(job) == 0.6


@pytest.mark.heavy(family="spending")
def test_a_run_that_was_debited_and_got_no_further_fits_again(
    job: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an earlier try has spent is not asked for a second time, even if nothing else is left."""
    job.write_text(job.read_text().replace('"0.2"', '"0.6"'))  # all of the budget: 0.3, 0.6 and 0.1
    with monkeypatch.context() as patched:
        patched.setattr("dpdb.engine.sql.input_rows.count_rows", lambda *_, **__: 1 / 0)
        assert run(job) == 3
    assert spent(job) == 1
    assert "of this run 'overall', 'by-zip' are published and paid for" in capsys.readouterr().err
    assert run(job) == 0
    assert spent(job) == 1
    assert len(read_results(job.parent / "results.duckdb")) == 6


@pytest.mark.heavy
@pytest.mark.parametrize("output", ["text", "json"])
def test_what_was_published_is_said_truthfully_if_others_spend_in_between(
    output: str, job: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def spend(step: str) -> None:
        if step == "appended":
            with dpdb.open(job.parent / "t.parquet", ledger=job.parent / "t.ledger") as other:
                other.dp_count(0.6)

    monkeypatch.setattr("dpdb.stopping.watchers", [spend])
    assert run(job, "monday", "--format", output) == 4
    out, err = capsys.readouterr()
    assert "release 'by-zip': budget refused" in err
    assert "of this run 'overall' is published and paid for" in err
    assert err.count("\n") == 1
    if output == "json":
        assert [release["name"] for release in json.loads(out)["releases"]] == ["overall"]
    else:
        assert out.startswith("== visits / monday / overall\n")
    assert {row.release_name for row in read_results(job.parent / "results.duckdb").rows} == {"overall"}


@pytest.mark.heavy(family="long")
def test_a_failed_gate_is_exit_code_1_every_time_and_says_how_sure(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # count of 4 rows at epsilon 0.1: below 0 with noise, and so at most 0, with probability about exp(-0.4) / 2; a gate
    # of 0 under epsilon 1000 fails but with probability exp(-4000), and its lower bound is above 0.
    job.write_text(
        job.read_text().replace("epsilon = 0.1", "epsilon = 1000").replace('where = "age < 3"', "gate.count = 0")
    )
    (job.parent / "t.ledger").unlink()
    Ledger.create(job.parent / "t.ledger", 10_000).close()
    for _ in range(2):
        assert run(job) == 1
        err = capsys.readouterr().err
        assert "gate failed: count = 4 > 0; even the lower bound 4 is above it" in err
        assert "gate passed: repair = " in err
    kept = [row for row in read_results(job.parent / "results.duckdb").rows if row.gate == "failed"]
    assert [(row.release.measure, row.gate_threshold) for row in kept] == [("count", 0.0)]


@pytest.mark.heavy(family="long")
def test_a_changed_source_is_refused_until_the_owner_opens_an_epoch(
    job: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(job) == 0
    pq.write_table(pa.concat_tables([pq.read_table(folder / "t.parquet")] * 2), folder / "t.parquet")
    capsys.readouterr()
    assert run(job, "tuesday") == 2
    assert "the source has changed since the ledger's last release" in capsys.readouterr().err
    assert spent(job) == 0.6


@pytest.mark.heavy(family="spending")
def test_check_prints_plan_and_cost_and_spends_nothing(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(job.parent.iterdir())
    assert run(job, "monday", "--dry-run") == 0
    out = capsys.readouterr().out
    assert (
        "release  overall: minimal_inconsistency (ladder), problematic (ladder), repair (fewest_deletions); epsilon 0.3"
        in out
    )
    assert "  by     zip: 1, 2" in out
    assert "  where  age < 3" in out
    assert "  gate   fails if repair is above 1,000,000,000" in out
    assert "cost     epsilon 0.6 together (0.6 without parallel composition)" in out
    assert "ledger   epsilon 1 of 1 left for releases of the whole table; enough" in out
    assert spent(job) == 0
    assert sorted(path for path in job.parent.iterdir() if "ledger-" not in path.name) == before
    assert run(job) == 0
    capsys.readouterr()
    assert run(job, "monday", "--dry-run", "--format", "json") == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["epsilon"] == plan["sequential_epsilon"] == 0
    assert [release["answered"] for release in plan["releases"]] == [True] * 3
    assert run(job, "tuesday", "--dry-run") == 0
    assert (
        "of 1 left for releases of the whole table; NOT enough: budget refused by the ledger" in capsys.readouterr().out
    )


@pytest.mark.heavy(family="long")
def test_check_reads_no_row(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (job.parent / "t.csv").write_text('zip,city,age\n"never closed')
    job.write_text(job.read_text().replace("t.parquet", "t.csv").replace("age < 3", "age = '3'"))
    assert run(job, "monday", "--dry-run") == 0
    assert "epsilon 0.6 together" in capsys.readouterr().out
    assert run(job) == 2
    assert "a quote is missing" in capsys.readouterr().err
    assert spent(job) == 0


def test_results_that_are_a_view_are_refused_before_anything_is_spent(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with duckdb.connect(str(job.parent / "results.duckdb")) as connection:
        connection.execute("CREATE VIEW DPDB_results AS SELECT 1 AS a")
    assert run(job) == 2
    assert "'dpdb_results' is a view, which takes no rows" in capsys.readouterr().err
    assert spent(job) == 0


def test_check_counts_disjoint_slices_once(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = job.read_text().split("[[release]]")
    slices = [
        f'[[release]]\nname = "{w}"\nepsilon = 0.3\nmeasure = "repair"\nwhere = "age {w} 3"\n' for w in ("<", ">=")
    ]
    job.write_text(text[0] + "".join(slices))
    assert run(job, "monday", "--dry-run") == 0
    assert "cost     epsilon 0.3 together (0.6 without parallel composition)" in capsys.readouterr().out


@pytest.mark.heavy(family="privacy")
def test_csv_types_and_another_notion_of_privacy(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (job.parent / "t.csv").write_text("zip,city,age\n1,alice,1\n1,bob,n/a\n2,carol,3\n")
    text = job.read_text().replace("t.parquet", "t.csv").replace("t.ledger", "z.ledger")
    job.write_text(text.replace("results =", 'schema = {age = "INTEGER"}\nresults ='))
    Ledger.create(job.parent / "z.ledger", notion="zcdp", epsilon=3, delta=1e-6).close()
    assert run(job, "monday", "--dry-run") == 0
    out = capsys.readouterr().out
    assert "rho 0.038572 together (0.038572 without parallel composition)" in out
    assert "ledger   rho " in out
    # Half the sum of the squares of 0.2, 0.1 and what the parts of 0.3 get: 10%, 36%, 36% and 18%.
    assert "; enough for rho 0.038572\n" in out
    assert run(job) == 0
    rows = read_results(job.parent / "results.duckdb").rows
    assert {row.ledger_parameter for row in rows} == {"rho"}
    assert 0 < rows[-1].ledger_spent < rows[-1].ledger_budget


def test_a_release_is_paid_in_rho_where_the_ledger_counts_in_it(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = job.read_text().split("[[release]]")[0]
    both = '[[release]]\nname = "n"\nmeasure = "count"\nepsilon = 1\nrho = 0.1\n'
    job.write_text(head + both)
    assert run(job, "monday", "--dry-run") == 2
    assert "'rho': give epsilon or rho, not both" in capsys.readouterr().err
    job.write_text(head + both.replace("epsilon = 1\n", "").replace("0.1", "'0.1'"))
    assert run(job) == 2
    assert "rho" in capsys.readouterr().err  # the ledger counts in epsilon
    job.write_text(job.read_text().replace("t.ledger", "z.ledger"))
    Ledger.create(job.parent / "z.ledger", notion="zcdp", epsilon=3, delta=1e-6).close()
    assert run(job, "monday", "--dry-run") == 0
    assert "release  n: count (laplace); rho 0.1\n" in capsys.readouterr().out
    assert [run(job), run(job)] == [0, 0]
    [row] = read_results(job.parent / "results.duckdb").rows
    assert (row.release.rho, row.release.epsilon, row.ledger_spent) == (0.1, None, 0.1)


@pytest.mark.heavy(family="long")
def test_without_a_run_id_the_day_is_named(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    days = {f"{datetime.now(UTC):%Y-%m-%d}"}
    assert main(["run", str(job)]) == 0
    days.add(f"{datetime.now(UTC):%Y-%m-%d}")
    err = capsys.readouterr().err
    assert any(f"run id {day} (today, UTC)" in err for day in days)
    assert {row.run_id for row in read_results(job.parent / "results.duckdb").rows} <= days


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("kept", ["results.duckdb", "results"])
def test_a_retry_keeps_the_one_time_of_its_run(kept: str, job: Path) -> None:
    path = with_results(job, kept)
    assert run(job) == 0
    first = read_results(path)
    assert len({row.time for row in first.rows}) == 1  # the time between two releases would be that of private work
    if path.is_dir():
        for file in path.iterdir():
            file.unlink()
    else:
        path.unlink()
    time.sleep(0.01)
    assert run(job) == 0
    again = read_results(path)
    assert [(row.time, row.release) for row in again.rows] == [(row.time, row.release) for row in first.rows]


# -- results tables -------------------------------------------------------------------------------------------


@pytest.mark.heavy(family="privacy")
def test_results_that_another_program_keeps_open(
    job: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(results_duckdb, "_LOCK_SECONDS", 0.3)
    path = job.parent / "results.duckdb"
    with duckdb.connect(str(path)):
        assert run(job) == 2
    assert "keeps the results open" in capsys.readouterr().err
    program = "import duckdb, sys; kept = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        assert run(job) == 2
        other.communicate()
    assert "keeps the results open" in capsys.readouterr().err
    assert spent(job) == 0
    assert run(job) == 0


@pytest.mark.heavy(family="long")
def test_a_table_of_something_else_is_refused(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with duckdb.connect(str(job.parent / "results.duckdb")) as connection:
        connection.execute("CREATE TABLE dpdb_results AS SELECT 1 AS job")
    assert run(job) == 2
    assert "is not a results table of dpdb" in capsys.readouterr().err
    assert spent(job) == 0
    job.write_text(job.read_text().replace("[[release]]", 'results_table = "it\'s \\"mine\\""\n[[release]]', 1))
    assert run(job) == 0
    assert len(read_results(job.parent / "results.duckdb", 'it\'s "mine"')) == 6


@pytest.mark.heavy(family="long")
def test_a_table_of_an_older_version_gains_the_new_columns(job: Path) -> None:
    assert run(job) == 0
    path = job.parent / "results.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("ALTER TABLE dpdb_results DROP COLUMN quantity")
        connection.execute("ALTER TABLE dpdb_results DROP COLUMN constraint_texts")
        connection.execute("ALTER TABLE dpdb_results ADD COLUMN remark VARCHAR")
    (job.parent / "t.ledger").unlink()
    Ledger.create(job.parent / "t.ledger", 1).close()
    assert run(job, "tuesday") == 0
    with duckdb.connect(str(path)) as connection:
        found = connection.sql("SELECT run_id, count(quantity), count(*) FROM dpdb_results GROUP BY ALL ORDER BY ALL")
        assert found.fetchall() == [("monday", 0, 6), ("tuesday", 6, 6)]


@pytest.mark.parametrize("name", ["nothing.duckdb", "empty", "other.parquet", "text.txt", "other.duckdb"])
def test_what_is_no_results_table_says_so(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / name
    if name == "empty":
        path.mkdir()
    elif name == "other.parquet":
        pq.write_table(pa.table({"time": ["x"], "a": [1]}), path)
    elif name == "text.txt":
        path.write_text("x")
    elif name == "other.duckdb":
        with duckdb.connect(str(path)) as connection:
            connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    assert main(["report", str(path), "--out", str(tmp_path / "r.html")]) == 2
    assert capsys.readouterr().err.startswith(f"dpdb: {path}: ")
    assert not (tmp_path / "r.html").exists()


@pytest.mark.heavy(family="long")
def test_results_show_as_a_table_in_a_notebook(job: Path) -> None:
    assert run(job) == 0
    results = read_results(job.parent / "results.duckdb")
    html = results._repr_html_()
    assert html.count("<tr>") == 7
    assert "<th" in html
    assert Results(())._repr_html_().count("<tr>") == 1


COLUMNS = "job VARCHAR, run_id VARCHAR, release VARCHAR, release_id VARCHAR"
UNUSABLE = {
    "view": ("CREATE VIEW dpdb_results AS SELECT 1 AS job, 2 AS run_id, 3 AS release, 4 AS release_id", "is a view"),
    "other table": ("CREATE TABLE dpdb_results (a INTEGER)", "not a results table"),
    "type": (f"CREATE TABLE dpdb_results ({COLUMNS}, value VARCHAR)", "column 'value' as VARCHAR"),
    "key type": (f"CREATE TABLE dpdb_results ({COLUMNS.replace('VARCHAR', 'INTEGER')})", "column 'job' as INTEGER"),
    "time": (f"CREATE TABLE dpdb_results ({COLUMNS}, time TIMESTAMP)", "'time' as TIMESTAMP"),
    "not null": (f"CREATE TABLE dpdb_results ({COLUMNS}, upper DOUBLE NOT NULL)", "NOT NULL on upper"),
    "not null of another": (f"CREATE TABLE dpdb_results ({COLUMNS}, who VARCHAR NOT NULL)", "NOT NULL on who"),
    "primary key": (f"CREATE TABLE dpdb_results ({COLUMNS}, PRIMARY KEY (job, run_id))", "PRIMARY KEY on job, run_id"),
    "unique": (f"CREATE TABLE dpdb_results ({COLUMNS}, value DOUBLE UNIQUE)", "UNIQUE on value"),
    "check": (f"CREATE TABLE dpdb_results ({COLUMNS}, value DOUBLE CHECK (value > 10))", "CHECK on value"),
    "foreign key": (
        "CREATE TABLE p (k VARCHAR PRIMARY KEY); "
        f"CREATE TABLE dpdb_results ({COLUMNS}, FOREIGN KEY (job) REFERENCES p)",
        "FOREIGN KEY on job",
    ),
    "generated": (f"CREATE TABLE dpdb_results ({COLUMNS}, value DOUBLE AS (1.0))", "computes the column 'value'"),
    "generated of another": (f"CREATE TABLE dpdb_results ({COLUMNS}, x INTEGER AS (job::INTEGER))", "the column 'x'"),
    "failing default": (f"CREATE TABLE dpdb_results ({COLUMNS}, x INTEGER DEFAULT (error('no')))", "the column 'x'"),
    "unique index": (f"CREATE TABLE dpdb_results ({COLUMNS}); CREATE UNIQUE INDEX i ON dpdb_results (job)", "index"),
    "failing index": (
        f"CREATE TABLE dpdb_results ({COLUMNS}); CREATE INDEX i ON dpdb_results ((release_id::INTEGER))",
        "index 'i'",
    ),
}  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("case", UNUSABLE)
def test_a_results_table_that_may_refuse_rows_is_refused_before_the_first_debit(
    case: str, job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    statement, says = UNUSABLE[case]
    with duckdb.connect(str(job.parent / "results.duckdb")) as made:
        made.execute(statement)
    assert run(job) == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1
    assert spent(job) == 0


@pytest.mark.heavy
@pytest.mark.parametrize(
    "columns",
    [
        f"{COLUMNS}, PRIMARY KEY (job, run_id, release, release_id)",
        f"{COLUMNS}, UNIQUE (release_id), note VARCHAR, seen TIMESTAMP DEFAULT now()",
        COLUMNS.upper().replace("VARCHAR", "VARCHAR NOT NULL"),
    ],
)
def test_a_results_table_of_the_owners_own_making_is_kept(columns: str, job: Path) -> None:
    with duckdb.connect(str(job.parent / "results.duckdb")) as made:
        made.execute(f"CREATE TABLE dpdb_results ({columns})")
    assert run(job) == 0
    assert run(job) == 0
    assert len(read_results(job.parent / "results.duckdb")) == 6


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("at_most", ["0.25", "0.35"], ids=["the first release", "those behind it"])
def test_check_says_what_an_allowance_will_say(job: Path, at_most: str, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = job.parent / "t.ledger"
    assert main(["budget", "allow", str(ledger), "--at-most", at_most, "--per", "30d"]) == 0
    before = ledger.read_bytes()
    capsys.readouterr()
    assert run(job, "monday", "--dry-run") == 0
    words = capsys.readouterr().out.split("; NOT enough: ")[1].strip()
    assert f"the allowance of {at_most} within any 30 days" in words
    assert run(job, "monday", "--dry-run", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["ledger"]["refusal"].partition("; ")[0] == words.partition("; ")[0]
    assert ledger.read_bytes() == before
    assert run(job, "monday") == 4
    assert words.partition("; ")[0] in capsys.readouterr().err
    assert main(["budget", "allow", str(ledger), "--at-most", "0.6", "--per", "30d"]) == 0
    assert run(job, "monday", "--dry-run") == 0
    assert "left for releases of the whole table; enough\n" in capsys.readouterr().out


@pytest.mark.heavy(family="spending")
def test_a_run_id_of_another_request_is_refused_before_the_releases_ahead_of_it_are_paid(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(job, "monday") == 0
    ledger, text = job.parent / "t.ledger", job.read_text()
    changed = text.replace("age < 3", "age < 4")
    more = changed.replace("[[release]]", '[[release]]\nname = "new"\nmeasure = "count"\nepsilon = 0.1\n[[release]]', 1)
    other = text.replace('name = "visits"', 'name = "visits"\nwho = "ann"')
    for written, says in ((more, "'visits/monday/rows' was used for another request"), (other, "under another name")):
        job.write_text(written)
        before = ledger.read_bytes()
        capsys.readouterr()
        for words in (["--dry-run"], []):
            assert run(job, "monday", *words) == 2
            assert says in capsys.readouterr().err
            assert ledger.read_bytes() == before
    assert spent(job) == 0.6


@pytest.mark.heavy(family="long")
def test_check_refuses_a_retired_ledger_as_the_run_does(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(job, "monday") == 0
    assert main(["budget", "retire", str(job.parent / "t.ledger")]) == 0
    capsys.readouterr()
    said = []
    for words in (["--dry-run"], []):
        assert run(job, "tuesday", *words) == 2
        said.append(capsys.readouterr().err.partition("the ledger was retired")[2])
    assert said[0] == said[1] != ""
    for words in (["--dry-run"], []):
        assert run(job, "monday", *words) == 0  # answered already
