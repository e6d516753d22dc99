"""What would decide the checks that are undecided: how many, why, and an epsilon that does."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from suite_runs import Nothing

import dpdb
from dpdb.doors.cli import main
from dpdb.errors import ParameterError
from dpdb.ledger import Ledger
from dpdb.privacy import NANO
from dpdb.privacy.noise import replaced_noise
from dpdb.suites import deciding_epsilon, deciding_words, prepare_check, run_check


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


@pytest.mark.parametrize(("limit", "slices"), [(250, {}), (100, {"by": "half", "keys": [0, 1]})])
def test_the_epsilon_that_is_named_decides_all(table: Path, limit: int, slices: dict[str, object]) -> None:
    """Without noise, every failure costs at most what its published bound says."""
    checks = suite(limit)
    rules = [line for line in checks.splitlines() if "row_count" not in line]
    with dpdb.open(table, constraints=rules) as session, replaced_noise(Nothing()):
        prepared = prepare_check(session, checks, epsilon=0.3, **slices)  # type: ignore[arg-type]
        results = run_check(session, prepared)
        of_one = ["fail"] * 3 + ["undecided"] * 2
        assert [check.verdict for check in results] == of_one * (2 if slices else 1)
        assert "undecided" in results._repr_html_()
        named = deciding_epsilon(prepared.plan, results)
        assert named is not None
        assert named > 0.3 * NANO
        larger = prepare_check(session, checks, epsilon=named / NANO, **slices)  # type: ignore[arg-type]
        decided = run_check(session, larger)
        assert decided.count("undecided") == 0
        times = 2 if slices else 1
        assert repr(decided).startswith(
            f"<dpdb.CheckResults: {5 * times} checks: {2 * times} passed, {3 * times} failed; epsilon "
        )
        assert deciding_words(prepared.plan, results) == (
            f"--epsilon {named / NANO:g} decides them, if no other check fails; or run a suite without the {3 * times} "
            "rules that failed."
        )


@pytest.mark.heavy(family="long")
def test_the_command_says_how_many_why_and_what_decides(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(table.parent)
    Ledger.create("t.ledger", 2).close()
    asked = ["check", "t.parquet", "suite.txt", "--epsilon", "0.3", "--quiet"]
    with replaced_noise(Nothing()):
        assert main([*asked, "--ledger", "t.ledger"]) == 1
        said = capsys.readouterr().out
        assert "5 checks: 3 failed, 2 undecided. With 99%" in said
        why = "which may fail or pass: the 3 failures found before left too little epsilon to test them to the end."
        assert f"2 undecided, {why} --epsilon " in said
        assert "Cost: epsilon 0.3 of 0.3.\n" in said
        assert main([*asked, "--ledger", "t.ledger", "--keep", "nightly", "--runs", "1"]) == 1
        said = capsys.readouterr().out
        assert " Close 'nightly', and keep a suite without the 3 rules that failed, or this one with --epsilon " in said


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
