"""What is said of checks that are not shown to pass: how many, why, and what takes or tests them."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest
from suite_runs import Nothing

import dpdb
from dpdb.doors.cli import main
from dpdb.errors import ParameterError
from dpdb.ledger import Ledger
from dpdb.privacy.noise import replaced_noise
from dpdb.suites import CheckResults, SuitePlan, deciding_words, not_shown_words, prepare_check, run_check


# Three close failures take all of epsilon .3, and what comes after them is not tested at the last level.
def suite(limit: int) -> str:
    bad = "".join(f"bad{k}: CHECK (k < 600) WHERE j <> {1000 + k}  fail above {limit + k}\n" for k in range(3))
    return f"{bad}clean: UNIQUE(k)  fail above 500\nrow_count  warn below 200\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.parquet"
    duckdb.sql("SELECT k, k % 2 AS half, k % 7 AS j FROM range(1000) s(k)").write_parquet(str(path))
    (tmp_path / "suite.txt").write_text(suite(250))
    return path


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize(("limit", "slices"), [(250, {}), (100, {"by": "half", "keys": [0, 1]})])
def test_what_is_advised_takes_all_for_passes_and_tests_them_to_the_end(
    table: Path, limit: int, slices: dict[str, object]
) -> None:
    """The advice is followed, without noise: also where its condition fails, because another check fails then."""
    checks, times = suite(limit), 2 if slices else 1
    rules = ["CHECK (k < 600)", *(line for line in checks.splitlines() if "row_count" not in line)]
    with dpdb.open(table, constraints=rules) as session, replaced_noise(Nothing()):

        def check(text: str, **options: object) -> tuple[SuitePlan, CheckResults]:
            prepared = prepare_check(session, text, epsilon=0.3, **slices, **options)  # type: ignore[arg-type]
            return prepared.plan, run_check(session, prepared)

        plan, results = check(checks)
        assert [one.verdict for one in results] == (["fail"] * 3 + ["not shown"] * 2) * times
        assert "not shown" in results._repr_html_()
        said = not_shown_words(results)
        assert said is not None
        found = re.fullmatch(
            rf"{2 * times} are not shown to be within their limits and do not count as passed. "
            rf"--within (\d+) takes {2 * times} of them for passes.",
            said,
        )
        assert found is not None
        rows = int(found[1])
        assert [one.verdict for one in results.asked_within(rows)] == (["fail"] * 3 + ["pass"] * 2) * times
        assert "not shown" in {one.verdict for one in results.asked_within(rows - 1)}
        assert deciding_words(plan, results) == (
            "Run a suite without the 3 rules that failed: it tests the others to the end, as long as none "
            "of them fails."
        )
        fewer = "\n".join(checks.splitlines()[3:])
        plan, others = check(fewer)
        assert {(one.verdict, one.level) for one in others} == {("pass", len(plan.levels))}
        assert deciding_words(plan, others) is None
        plan, others = check(f"close: CHECK (k < 600)  fail above {limit}\n{fewer}")
        assert {one.verdict for one in others} == {"fail", "pass"}
        assert {one.level for one in others if one.verdict == "pass"} == {len(plan.levels)}


@pytest.mark.heavy(family="long")
def test_the_command_says_how_many_why_and_what_tests_them(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(table.parent)
    Ledger.create("t.ledger", 2).close()
    asked = ["check", "t.parquet", "suite.txt", "--epsilon", "0.3", "--quiet"]
    with replaced_noise(Nothing()):
        assert main([*asked, "--ledger", "t.ledger"]) == 1
        said = capsys.readouterr().out
        assert "5 checks: 3 failed, 2 not shown. With 99%" in said
        assert "\n2 are not shown to be within their limits and do not count as passed. --within " in said
        assert "Cost: epsilon 0.3 of 0.3.\n" in said
        assert main([*asked, "--ledger", "t.ledger", "--keep", "nightly", "--runs", "1"]) == 1
        said = capsys.readouterr().out
        assert "\nClose 'nightly', and keep a suite without the 3 rules that failed: it tests the others" in said


@pytest.mark.heavy(family="spending")
def test_paid_verdicts_are_not_lost(
    table: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(content: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dpdb.doors.cli.answers.write_output", full)
    monkeypatch.chdir(table.parent)
    Ledger.create("t.ledger", 2).close()
    command = ["check", "t.parquet", "suite.txt", "--quiet"]
    assert main(command) == 3
    said = capsys.readouterr().err
    assert "paid for, and kept by no ledger: standard error has them" in said
    assert "\nCost: epsilon " in said
    assert main([*command, "--ledger", "t.ledger", "--run-id", "monday"]) == 3
    said = capsys.readouterr().err
    assert "paid for and kept: --run-id monday shows them again at no cost" in said
    monkeypatch.undo()
    monkeypatch.chdir(table.parent)
    assert main(["check", "t.parquet", "suite.txt", "--ledger", "t.ledger", "--run-id", "monday"]) == 1
    assert "each run pays" not in capsys.readouterr().err  # this one pays nothing


@pytest.mark.heavy(family="long")
def test_what_is_no_file_and_no_rule_is_called_so(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(table), "nightly"]) == ParameterError.exit_code
    assert "dpdb: 'nightly': no such file, and no text of rules: line 1, column 8: " in capsys.readouterr().err
    assert main(["check", str(table), "old: row_count WHERE kk > 3 fail below 1"]) == ParameterError.exit_code
    assert "dpdb: check 'old': where: there is no column 'kk'" in capsys.readouterr().err
    assert main(["check", str(table), "UNIQUE(k) fail over 3"]) == ParameterError.exit_code
    assert "expected limits at the end of the line, such as 'warn above 0, fail above 0.1%'" in capsys.readouterr().err


@pytest.mark.heavy(family="long")
def test_a_bar_is_wiped_away_before_other_lines(
    table: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpdb.doors.cli.session._has_bar", lambda options: True)
    monkeypatch.chdir(table.parent)
    Ledger.create("t.ledger", 2).close()
    command = ["check", "t.parquet", "suite.txt", "--ledger", "t.ledger", "--run-id", "monday"]

    def stopped(*given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("dpdb.suites.counted.CountedSuite.counts", stopped)
        assert main(command) == 130
    said = capsys.readouterr().err
    assert "dpdb: with --run-id monday the same command finishes this run, if it was debited\n" in said
    assert main(command) == 1
    for line in (said + capsys.readouterr().err).splitlines():
        assert "dpdb:" not in line or line.rpartition("\033[K")[2].startswith("dpdb:")
    assert not line.rpartition("\033[K")[2]
