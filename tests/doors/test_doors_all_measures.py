"""Bits, verdicts and rows that share a key, through jobs, results tables, report pages, words and `explain`."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from five_measures import CERTAIN, KEY, ROWS, RULE, near, truth

import dpdb
from dpdb.doors.cli import main
from dpdb.doors.jobs import read_results
from dpdb.ledger import Ledger

ALONE = "verdicts is by itself 95% sure; that all are true at once is less sure."

JOB = """name = "{name}"
source = "rows.parquet"
constraints = ["{rule}"]
ledger = "rows.ledger"
results = "{results}"
"""
RELEASE = """
[[release]]
name = "{measure}"
measure = "{measure}"
epsilon = {epsilon}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    Ledger.create(tmp_path / "rows.ledger", 2_000).close()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def job_of(rule: str, measures: tuple[str, ...], results: str) -> str:
    text = JOB.format(name="rows", rule=rule, results=results)
    return text + "".join(RELEASE.format(measure=measure, epsilon=CERTAIN) for measure in measures)


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize(
    ("rule", "measures"), [(RULE, ("maximal_consistency", "drastic")), (KEY, ("maximal_consistency", "problematic"))]
)
def test_a_job_records_them_and_the_report_shows_them(rule: str, measures: tuple[str, ...], folder: Path) -> None:
    (folder / "job.toml").write_text(job_of(rule, measures, "results.duckdb"))
    assert main(["run", "job.toml", "--run-id", "monday"]) == 0
    released = {row.release.measure: row.release for row in read_results(folder / "results.duckdb").rows}
    assert {*released} == {*measures}
    assert all(near(one.value, measure, rule) for measure, one in released.items())
    for measure, one in released.items():  # bounds are 95% sure, and half a row or bit wider as sure as `near` is
        assert one.lower - 0.5 <= truth(measure, rule) <= (one.upper or 0) + 0.5

    assert main(["report", "results.duckdb", "--out", "page.html"]) == 0
    page = (folder / "page.html").read_text()
    if "drastic" in released:
        assert "<td>not consistent</td>" in page
        assert "<strong>1</strong> verdict, not consistent (95% sure)" in page
    else:
        assert f"<strong>{truth('problematic', rule):.0f}</strong> rows, at least" in page
    assert f"{released['maximal_consistency'].value:,.10g}</strong> bits, at least" in page


@pytest.mark.parametrize(
    ("measure", "gate", "code"), [("maximal_consistency", 2, 1), ("maximal_consistency", 4, 0), ("drastic", 0, 1)]
)
def test_a_gate_compares_them(measure: str, gate: int, code: int, folder: Path) -> None:
    """Bits are 2.58, and the table is not consistent."""
    text = job_of(RULE, (measure,), "results.parquet") + f"[release.gate]\n{measure} = {gate}\n"
    (folder / "job.toml").write_text(text)
    assert main(["run", "job.toml", "--run-id", "monday"]) == code
    [row] = read_results(folder / "results.parquet").rows
    assert row.gate == ("failed" if code else "passed")


def test_several_verdicts_are_said_to_be_each_by_itself(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["measure", "rows.parquet", "--ledger", "rows.ledger", "--constraints", RULE, "--measure", "drastic"]
    given += ["--epsilon", str(CERTAIN)]
    by_zip = ["--by", "zip", "--keys", "1,3,4"]
    assert main([*given, *by_zip]) == 0
    table = capsys.readouterr().out
    assert f"Each of the 3 {ALONE}" in table
    assert table.count("not shown; at most ") == 2
    assert main([*given, *by_zip, "--verbose"]) == 0
    assert f"Each of the 3 {ALONE}" in capsys.readouterr().out
    assert main([*given, *by_zip, "--format", "json"]) == 0
    for release in json.loads(capsys.readouterr().out)["releases"]:
        assert release["estimand"].endswith("; of several slices or rules each is a verdict by itself")
    assert main(given) == 0
    assert "by itself" not in capsys.readouterr().out


def test_a_report_of_verdicts_by_slice_says_so_and_no_other(folder: Path) -> None:
    sliced = 'by = "zip"\nkeys = ["1", "3"]\n'
    for measure, said in (("drastic", True), ("maximal_consistency", False)):
        (folder / "job.toml").write_text(job_of(RULE, (measure,), f"{measure}.parquet") + sliced)
        assert main(["run", "job.toml", "--run-id", f"{measure} monday"]) == 0
        assert main(["report", f"{measure}.parquet", "--out", "page.html"]) == 0
        assert (f"each of the 2 {ALONE}" in (folder / "page.html").read_text()) is said


def test_a_breakdown_has_the_verdict_of_each_rule() -> None:
    with dpdb.open(ROWS, constraints=[RULE, "UNIQUE(zip, city, card)"], budget=500) as session:
        said = str(session.dp_inconsistency("drastic", CERTAIN, each_constraint=True))
    assert f"  {RULE}: not consistent" in said
    assert "  UNIQUE(zip, city, card): not shown; at most " in said
    assert f"Each of the 2 {ALONE}" in said


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("measure", "rule", "noise", "reads"),
    [
        ("maximal_consistency", RULE, "(1) x 0.5 bits", "the decisions to clean have a closed form"),
        ("maximal_consistency", KEY, "(1) x 0.5 bits", "the decisions to clean have a closed form"),
        ("drastic", RULE, "(1) x 0.5 rows", "the fewest rows to delete have a closed form"),
        ("problematic", KEY, "(2) x 0.5 rows", "the rows that share a key are counted"),
        ("minimal_inconsistency", RULE, "(theta) x ", "blocks: conflicts lie in groups"),
    ],
)
def test_explain_tells_noise_with_its_unit_and_what_is_counted(
    measure: str, rule: str, noise: str, reads: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["explain", "rows.parquet", "--constraints", rule, "--measure", measure, "--epsilon", "2"]
    assert main([*given, "--format", "json"]) == 0
    [told] = json.loads(capsys.readouterr().out)["releases"]
    assert told["noise"].startswith(f"discrete Laplace, scale about {noise}")
    assert reads in told["edges"]
    if noise.startswith("(theta)"):
        assert told["noise"].endswith(" pairs of rows")
    else:
        assert told["time"] == "grows with rows"
