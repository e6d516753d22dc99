"""What checks cost, in the ledger's own unit, and the bounds of passes: commands, jobs, JUnit, reports, receipts."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from killed import killed_at

from dpdb.doors.cli.main import main
from dpdb.jobs import read_results
from dpdb.ledger import Ledger

ROWS = 2_000
SUITE = (
    '"no debts": CHECK (qty >= 0)  fail above 0\nrow_count  fail below 1000\n"small": CHECK (qty < 9)  fail above 0\n'
)
UNITS = {"pure": "epsilon", "zcdp": "rho"}
MOST = {"pure": 1, "zcdp": 0.5}
JOB = """name = "j"
source = "t.parquet"
ledger = "t.ledger"
results = "results.duckdb"
receipt = "t.receipts"
receipt_key = "../keys/t.key"
[[check]]
suite = "s.txt"
epsilon = 1
"""


@pytest.fixture(params=["pure", "zcdp", "gdp"])
def notion(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A table of which one check fails by 900 rows, a suite and a job, with a ledger of the notion."""
    for folder in ("work", "keys"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / "work")
    pq.write_table(pa.table({"qty": [-1 if k < 900 else 1 for k in range(ROWS)]}), "t.parquet")
    Path("s.txt").write_text(SUITE)
    Path("j.toml").write_text(JOB)
    given = {} if request.param == "pure" else {"notion": request.param, "delta": 1e-6}
    Ledger.create("t.ledger", epsilon=40, **given).close()
    name: str = request.param
    return name


def charge() -> float:
    with Ledger.open("t.ledger") as ledger:
        return ledger.history()[-1].charge


@pytest.mark.heavy
def test_commands_say_what_checks_cost_in_the_ledgers_unit(notion: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["check", "t.parquet", "s.txt", "--ledger", "t.ledger", "--run-id", "one"]
    if notion == "gdp":
        assert main(asked) == 2
        assert "this one is gdp: nothing is known of them in mu" in capsys.readouterr().err
        with Ledger.open("t.ledger") as ledger:
            assert ledger.history() == []
        return
    of = UNITS[notion]
    assert main([*asked, "--dry-run"]) == 0
    assert f"{of} {MOST[notion]} is reserved" in capsys.readouterr().out
    assert main(asked) == 1
    said = capsys.readouterr()
    assert f"Cost: {of} {charge():g} of {MOST[notion]}" in said.out
    assert "at most " in said.out
    assert f"each run pays at least a quarter of {of}" in said.err
    assert ("--keep NAME" in said.err) == (notion == "pure")
    assert main([*asked, "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found[of] == pytest.approx(charge(), abs=1e-9)
    assert all(check["within"] is not None for check in found["checks"] if check["verdict"] == "pass")
    assert main(["budget", "suites", "t.ledger", "--format", "json"]) == 0
    [suite] = json.loads(capsys.readouterr().out)["suites"]
    assert (suite["parameter"], suite["reserved"]) == (of, MOST[notion])
    assert suite["spent"] == pytest.approx(charge(), abs=1e-9)
    assert main(["budget", "history", "t.ledger"]) == 0
    assert f"settled from {of} {MOST[notion]})" in capsys.readouterr().out


def test_a_suite_that_is_not_finished_is_listed_in_the_ledgers_unit(
    notion: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if notion == "gdp":
        return
    with killed_at("level recorded"):
        main(["check", "t.parquet", "s.txt", "--ledger", "t.ledger", "--run-id", "one"])
    capsys.readouterr()
    assert main(["budget", "suites", "t.ledger"]) == 0
    assert f": {UNITS[notion]} {MOST[notion]} reserved, " in capsys.readouterr().out


@pytest.mark.heavy
def test_jobs_results_reports_and_receipts_do_so_too(notion: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["receipts", "key", "../keys/t.key"]) == 0
    capsys.readouterr()
    if notion == "gdp":
        assert main(["run", "j.toml", "--run-id", "one"]) == 2
        assert "this one is gdp" in capsys.readouterr().err
        return
    of = UNITS[notion]
    assert main(["run", "j.toml", "--run-id", "one", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert f"check    s: 3 checks of s.txt; {of} {MOST[notion]}, of which what is not needed is given back" in said
    assert f"cost     {of} {MOST[notion]} together" in said
    assert main(["run", "j.toml", "--run-id", "one", "--dry-run", "--format", "json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan[of] == plan["checks"][0][of] == MOST[notion]
    assert (plan["epsilon"] is None) == (notion == "zcdp")
    assert main(["run", "j.toml", "--run-id", "one", "--junit", "j.xml"]) == 1
    assert f"Cost: {of} {charge():g} of {MOST[notion]}" in capsys.readouterr().out
    cases = ET.parse("j.xml").getroot().iter("testcase")
    told = {case.get("name"): " ".join(case.itertext()) + str(case.find("failure") is not None) for case in cases}
    assert "at most " in told["small fail above 0"]
    assert told["no debts fail above 0"].endswith("True")
    verdicts = read_results("results.duckdb").verdicts
    assert [getattr(row, of) for row in verdicts] == [pytest.approx(charge(), abs=1e-9)] * 3
    assert {row.epsilon is None for row in verdicts} == {notion == "zcdp"}
    assert {row.rho is None for row in verdicts} == {notion == "pure"}
    assert main(["report", "results.duckdb", "--out", "r.html"]) == 0
    assert f"{of.title()} {charge():g} of {MOST[notion]}." in Path("r.html").read_text()
    capsys.readouterr()
    assert main(["verify", "t.receipts", "--key", "../keys/t.key.pub", "--ledger", "t.ledger"]) == 0
    assert f"{of} " in capsys.readouterr().out


@pytest.mark.heavy
def test_a_job_may_reserve_rho(notion: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("j.toml").write_text(JOB.replace("epsilon = 1", "rho = 0.25").replace("receipt", "# receipt"))
    code = main(["run", "j.toml", "--run-id", "one"])
    said = capsys.readouterr()
    if notion == "zcdp":
        assert code == 1
        assert " of 0.25" in said.out
    else:
        assert code == 2
        assert ("rho= needs a ledger that counts in rho" if notion == "pure" else "this one is gdp") in said.err
    Path("j.toml").write_text(JOB.replace("epsilon = 1", "rho = 0.25\nepsilon = 1").replace("receipt", "# receipt"))
    assert main(["run", "j.toml", "--run-id", "two"]) == 2
    assert "give epsilon or rho, not both" in capsys.readouterr().err
