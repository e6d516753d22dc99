"""Checks in job files: suites that run after the releases, once per run id, with verdicts in a table of their own.

No verdict here is due to noise: epsilon is 1,000, so the largest scale, that of the first level, is 8.2 rows;
counts are 300 rows or more on the passing side of their limits, beyond margins that alone hold with 99%: exp(-36) each.
Counts on the failing side are 100 rows above a limit where the last level's scale is .004.
"""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as Xml

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from killed import killed_at

import dpdb
from dpdb.doors.cli import main
from dpdb.doors.jobs import Outcome, read_results
from dpdb.doors.jobs.outcome import Alert, exit_code_of, status_of
from dpdb.ledger import Ledger
from dpdb.sources import open_source
from dpdb.suites import CheckResult, CheckResults

SUITE = """zips: zip -> city  warn above 0, fail above 50 rows
ages: age >= 0  fail above 300 rows
many: row_count WHERE day >= {date}  fail below 100
"""
JOB = """name = "visits"
source = "t.parquet"
constraints = ["zip -> city"]
ledger = "t.ledger"
results = "results.duckdb"

[[release]]
name = "rows"
measure = "count"
epsilon = 0.5

[[check]]
suite = "nightly.dcs.txt"
epsilon = 1000
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    rows = 600
    table = {
        "zip": [str(k % 2) for k in range(rows)],
        "city": ["a" if k % 2 or k < 300 else "b" for k in range(rows)],  # of zip 0: 150 rows of each city
        "age": list(range(rows)),
        "day": pa.array(["2026-11-20"] * rows).cast(pa.date32()),
    }
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    (tmp_path / "nightly.dcs.txt").write_text(SUITE)
    (tmp_path / "job.toml").write_text(JOB)
    Ledger.create(tmp_path / "t.ledger", 10_000).close()
    return tmp_path / "job.toml"


def run(job: Path, run_id: str = "2026-11-20", *more: str) -> int:
    return main(["run", str(job), "--run-id", run_id, "--quiet", *more])


def spent(job: Path) -> float:
    with Ledger.open(job.parent / "t.ledger") as ledger:
        return ledger.summary().sequential


@pytest.mark.heavy
@pytest.mark.parametrize("kept", ["results.duckdb", "results"])
def test_a_run_appends_its_verdicts_once_and_spends_once(
    kept: str, job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job.write_text(JOB.replace("results.duckdb", kept))
    outputs, costs = [], []
    for _ in range(2):
        assert run(job, "2026-11-20", "--format", "json") == 1
        out, err = capsys.readouterr()
        outputs.append(json.loads(out))
        costs.append(spent(job))
        assert "nightly: check failed: zips: " in err
        assert "nightly: check warns: zips: " in err
        assert "ages" not in err
    assert outputs[0] == outputs[1]
    assert costs[0] == costs[1] < 1000.5  # what was not needed was given back
    [suite] = outputs[0]["checks"]
    assert (suite["name"], suite["run_id"]) == ("nightly", "visits/2026-11-20/nightly")
    assert [check["verdict"] for check in suite["checks"]] == ["fail", "fail", "pass", "pass"]
    results = read_results(job.parent / kept)
    assert len(results.rows) == 1
    rows = results.verdicts
    assert [(row.place, row.check.name, row.check.severity, row.check.verdict) for row in rows] == [
        (1, "zips", "warn", "fail"), (2, "zips", "fail", "fail"),
        (3, "ages", "fail", "pass"), (4, "many", "fail", "pass"),
    ]  # fmt: skip
    assert [row.check.to_dict() for row in rows] == suite["checks"]
    assert {(row.job, row.run_id, row.suite, f"{row.day}") for row in rows} == {
        ("visits", "2026-11-20", "nightly", "2026-11-20")
    }
    assert {row.time for row in rows} == {row.time for row in results.rows}


@pytest.mark.heavy(family="long")
def test_other_programs_read_the_verdicts_and_a_folder_of_releases_has_none_of_them(job: Path) -> None:
    assert run(job) == 1
    with duckdb.connect(str(job.parent / "results.duckdb"), read_only=True) as connection:
        found = connection.sql('SELECT name, verdict, "limit" FROM dpdb_results_checks ORDER BY place').fetchall()
    assert found[1:3] == [("zips", "fail", 50.0), ("ages", "pass", 300.0)]
    job.write_text(JOB.replace("results.duckdb", "folder"))
    assert run(job) == 1
    assert pq.read_table(job.parent / "folder").num_rows == 1
    assert pq.read_table(job.parent / "folder" / "_checks").num_rows == 4


@pytest.mark.heavy(family="long")
def test_a_job_may_have_checks_alone_and_keep_its_suite(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (job.parent / "nightly.dcs.txt").write_text("zips: zip -> city  fail above 50 rows\nages: age >= 0\n")
    head, rules = JOB.split("[[release]]", maxsplit=1)[0], 'constraints = ["zip -> city"]\n'
    head = head.replace(rules, "").replace("results.duckdb", "out")
    job.write_text(f'{head}[[check]]\nname = "kept"\nsuite = "nightly.dcs.txt"\nepsilon = 1000\nkeep = "nightly"\n')
    assert run(job, "mon", "--dry-run") == 0
    assert "check    kept: 2 checks of nightly.dcs.txt; epsilon 1000, kept as 'nightly'" in capsys.readouterr().out
    assert run(job, "mon") == 1
    assert run(job, "tue") == 1
    out, err = capsys.readouterr()
    assert "== visits / tue / kept" in out
    assert "not re-armed" in err
    assert spent(job) == 1000
    assert run(job, "wed", "--dry-run", "--format", "json") == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["epsilon"], plan["checks"][0]["due"], plan["releases"]) == (0, False, [])
    rows = read_results(job.parent / "out").verdicts
    assert [(row.run_id, row.check.name, row.check.since is None) for row in rows] == [
        ("mon", "zips", True), ("mon", "ages", True), ("tue", "zips", False), ("tue", "ages", True),
    ]  # fmt: skip
    shown = read_results(job.parent / "out")._repr_html_()
    assert shown.count("<table") == 1
    for cell in ("zips", "fail above 50", "not re-armed", "tue"):
        assert cell in shown
    assert dpdb.jobs.run(job, "mon").passed is False
    assert len(read_results(job.parent / "out").verdicts) == 4


def test_a_kept_check_fails_on_the_day_of_its_run(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A backfill: text, JSON, the rows of verdicts and the board name the run's day, and no clock."""
    (job.parent / "nightly.dcs.txt").write_text("zips: zip -> city  warn above 10, fail above 50\n")
    head, rules = JOB.split("[[release]]", maxsplit=1)[0], 'constraints = ["zip -> city"]\n'
    head = head.replace(rules, "").replace("results.duckdb", "out")
    job.write_text(f'{head}[[check]]\nname = "kept"\nsuite = "nightly.dcs.txt"\nepsilon = 1000\nkeep = "nightly"\n')
    assert run(job, "2020-01-03") == 1
    assert run(job, "later", "--date", "2020-01-04") == 1
    assert run(job, "2020-01-05", "--format", "json") == 1
    out, _ = capsys.readouterr()
    assert out.count("failed on 2020-01-03, not re-armed") == 2
    assert out.count('"since": "2020-01-03"') == 2
    rows = read_results(job.parent / "out").verdicts
    assert [row.check.since for row in rows] == [None, None, *["2020-01-03"] * 4]


@pytest.mark.heavy
@pytest.mark.parametrize("source", ["t.parquet", "t.csv"])
@pytest.mark.parametrize("releases", [True, False])
def test_a_job_opens_its_source_once(
    source: str, releases: bool, job: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it asks for: releases, and several suites with rules of their own."""
    folder = job.parent
    duckdb.sql(f"COPY (FROM '{folder}/t.parquet') TO '{folder}/t.csv'")
    (folder / "keys.dcs.txt").write_text("UNIQUE(age)\nzip, age -> city fail above 3\n")
    head, _, rest = JOB.partition("[[release]]")
    release, check = rest.split("[[check]]")
    parts = [
        head.replace("t.parquet", source),
        'schema = {age = "INTEGER", day = "DATE"}\n' if ".csv" in source else "",
    ]
    parts += [f"[[release]]{release}"] if releases else []
    for name in ("nightly", "nightly again", "keys"):
        parts.append(f'[[check]]\nname = "{name}"{check}'.replace("nightly.dcs", f"{name.split()[0]}.dcs"))
    job.write_text("".join(parts))
    opened: list[object] = []

    def counted(*given: object, **more: object) -> object:
        opened.append(given)
        return open_source(*given, **more)

    monkeypatch.setattr("dpdb.engine.table.open_source", counted)
    assert main(["run", str(job), "--run-id", "2026-11-20", "--dry-run"]) == 0
    assert len(opened) == 1
    assert run(job) == 1
    assert len(opened) == 2
    found = {row.suite: (row.check.name, row.check.verdict) for row in read_results(folder / "results.duckdb").verdicts}
    assert {*found} == {"nightly", "nightly again", "keys"}
    assert found["keys"] == ("zip, age -> city", "pass")
    capsys.readouterr()


@pytest.mark.heavy(family="spending")
def test_a_plan_with_checks_spends_nothing_and_says_what_is_due(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(job.parent.iterdir())
    assert run(job, "2026-11-20", "--dry-run") == 0
    out = capsys.readouterr().out
    assert (
        "check    nightly: 4 checks of nightly.dcs.txt; epsilon 1000, of which what is not needed is given back" in out
    )
    assert "cost     epsilon 1000.5 together" in out
    assert sorted(path for path in job.parent.iterdir() if "ledger-" not in path.name) == before
    assert run(job) == 1
    capsys.readouterr()
    assert run(job, "2026-11-20", "--dry-run") == 0
    assert "answered by this run id already, costs nothing" in capsys.readouterr().out


@pytest.mark.heavy(family="long")
def test_releases_and_checks_must_fit_together(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job.write_text(JOB.replace("epsilon = 1000", "epsilon = 9999.75"))
    assert run(job) == 4
    assert "do not fit the budget together" in capsys.readouterr().err
    assert spent(job) == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('suite = "nightly.dcs.txt"\n', ""), "the key 'suite' is missing: a file of rules with limits"),
        (("nightly.dcs.txt", "nowhere.txt"), "key 'suite': no such file: "),
        (("epsilon = 1000", ""), "the key 'epsilon' is missing"),
        (("epsilon = 1000", 'epsilon = 1000\ncertain = "both"'), "key 'certain': 'both' is none of fail, pass"),
        (("epsilon = 1000", "epsilon = 1000\nruns = 5"), "[[check]] 'nightly': runs is for a suite that is kept"),
        (("epsilon = 1000", "epsilon = 1000\nsuit = 5"), "unknown key 'suit'; did you mean 'suite'?"),
        (("epsilon = 1000", 'epsilon = 1000\nname = "rows"'), "a [[release]] and a [[check]] have the name 'rows'"),
        (("epsilon = 1000", 'epsilon = 1000\nwhere = "no = 1"'), "[[check]] 'nightly': "),
    ],
)
def test_a_check_that_cannot_be_run_is_refused_in_one_line_and_spends_nothing(
    change: tuple[str, str], said: str, job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job.write_text(JOB.replace(*change))
    assert run(job) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert spent(job) == 0


@pytest.mark.heavy(family="long")
def test_a_date_in_a_suite_is_that_of_the_run(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(job, "first") == 2
    err = capsys.readouterr().err
    assert "[[check]] 'nightly': " in err
    assert "a date given for {date}" in err
    assert spent(job) == 0
    job.write_text(JOB + 'where = "day = {date}"\n')
    assert run(job, "first") == 2
    assert "where has {date}, and the run id 'first' names none" in capsys.readouterr().err
    job.write_text(JOB)
    assert run(job, "first", "--date", "2026-11-21") == 1  # no row is of that day or later
    rows = read_results(job.parent / "results.duckdb").verdicts
    assert [row.check.verdict for row in rows] == ["fail", "fail", "pass", "fail"]
    assert {f"{row.day}" for row in rows} == {"2026-11-21"}


def test_check_is_dry_run_now(job: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit) as ended:
        run(job, "2026-11-20", "--check")
    assert ended.value.code == 2
    said = "dpdb: --check is --dry-run now; nothing was spent; see `dpdb run --help`\n"
    assert capsys.readouterr().err == said
    monkeypatch.setenv("DPDB_CHECK", "1")  # a scheduler that has set it must not spend from now on
    with pytest.raises(SystemExit):
        run(job)
    assert capsys.readouterr().err == said
    assert spent(job) == 0
    for shell in ("bash", "zsh", "fish"):
        assert main(["completion", shell]) == 0
        lines = [line for line in capsys.readouterr().out.splitlines() if "dpdb run" in line and "dry-run" in line]
        assert lines
        assert not any(f" {word}" in line for line in lines for word in ("--check", "-l check"))


@pytest.mark.heavy
@pytest.mark.parametrize("step", ["secret written", "level recorded", "end written", "ended", "published"])
def test_a_run_that_ended_at_any_step_is_finished_under_its_run_id(step: str, job: Path) -> None:
    with killed_at(step, 1 if step == "published" else 0):
        run(job)
    assert run(job) == 1
    assert len(read_results(job.parent / "results.duckdb").verdicts) == 4
    assert spent(job) < 1000.5
    assert run(job) == 1
    assert len(read_results(job.parent / "results.duckdb").verdicts) == 4


def checked(*verdicts: tuple[str, str]) -> Outcome:
    from datetime import UTC, datetime

    checks = [
        CheckResult(f"c{k}", "a -> b", verdict, severity, 0, "above", "rows", "violations", 12, 40, 3)  # type: ignore[arg-type]
        for k, (verdict, severity) in enumerate(verdicts)
    ]
    results = CheckResults(checks, confidence=0.99, epsilon_reserved=1, epsilon=0.5, run_id="r", guarantee="g")
    return Outcome("nightly", datetime(2026, 11, 20, tzinfo=UTC), checks=results)


@pytest.mark.parametrize(
    ("verdicts", "code", "status"),
    [
        ([("pass", "fail"), ("pass", "warn")], 0, "ok"),
        ([("pass", "fail"), ("fail", "warn")], 0, "warn"),
        ([("undecided", "fail"), ("fail", "warn")], 5, "warn"),
        ([("undecided", "fail"), ("fail", "fail")], 1, "fail"),
        ([("pass", "fail"), ("undecided", "warn")], 0, "warn"),
    ],
)
def test_exit_code_and_status_of_verdicts(verdicts: list[tuple[str, str]], code: int, status: str) -> None:
    outcome = checked(*verdicts)
    assert (exit_code_of([outcome]), status_of([outcome])) == (code, status)
    assert exit_code_of([outcome, checked(("fail", "fail"))]) == 1


def test_junit_has_a_case_for_each_check(tmp_path: Path) -> None:
    from dpdb.doors.cli.job_output import write_junit

    outcome = checked(("pass", "fail"), ("fail", "fail"), ("fail", "warn"), ("undecided", "fail"))
    write_junit(tmp_path / "j.xml", "visits", "mon", [outcome], None)
    root = Xml.parse(tmp_path / "j.xml").getroot()
    assert {name: root.get(name) for name in ("tests", "failures", "skipped", "errors")} == {
        "tests": "5", "failures": "1", "skipped": "1", "errors": "0",
    }  # fmt: skip
    cases = root.findall(".//testcase[@classname='dpdb.visits.nightly']")
    assert [case.get("name") for case in cases] == [
        "c0 fail above 0", "c1 fail above 0", "c2 warn above 0", "c3 fail above 0",
    ]  # fmt: skip
    assert [case[0].tag for case in cases] == ["system-out", "failure", "system-out", "skipped"]
    assert cases[1][0].get("message") == "check failed: c1: 12 to 40 rows (fail above 0)"
    assert cases[3][0].get("message") == "check undecided: c3: 12 to 40 rows (fail above 0)"


def test_an_alert_names_what_failed_with_its_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[dict[str, object]] = []
    monkeypatch.setattr(
        "dpdb.doors.jobs.outcome._call",
        lambda request: told.append(json.loads(request.data)),  # what would be sent
    )
    outcome = checked(("pass", "fail"), ("fail", "fail"), ("undecided", "warn"))
    assert Alert("https://example.org").send("visits", "mon", [outcome]) is None
    assert told[0]["status"] == "fail"
    assert [check["verdict"] for check in told[0]["checks"]] == ["pass", "fail", "undecided"]  # type: ignore[attr-defined]
    assert Alert("https://example.org", format="slack").send("visits", "mon", [outcome]) is None
    assert told[1]["text"] == (
        "dpdb: job visits, run mon: fail\nnightly: check failed: c1: 12 to 40 rows (fail above 0)\n"
        "nightly: check undecided: c2: 12 to 40 rows (warn above 0)"
    )
