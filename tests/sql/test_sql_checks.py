"""`dp_check` over a ledger: kept suites are free and stay as they were opened; run ids are one asker's."""

from __future__ import annotations

from pathlib import Path

import pytest
from counting_noise import CountingNoise
from private_rows import NIGHTLY, RULE
from suite_door import door_with_suite

import dpdb
from dpdb.doors.cli import main
from dpdb.errors import EngineError, LedgerError, ParameterError
from dpdb.ledger import Ledger
from dpdb.privacy.noise import replaced_noise

ASKED = "SELECT name, verdict, lower, upper, run_id FROM dp_check('nightly', run_id := 'monday')"


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "visits.ledger"
    Ledger.create(path, 3).close()
    return path


@pytest.mark.heavy(family="privacy")
def test_a_run_id_is_answered_again_and_is_one_askers(folder: Path, ledger: Path) -> None:
    answers = []
    for _ in range(2):
        with door_with_suite(folder, {}, ledger=ledger, who="ana") as door:
            answers.append(door.run(ASKED).table)
    assert answers[0].equals(answers[1])
    with Ledger.open(ledger) as opened:
        [run] = opened.history()
    assert (run.run_id, run.analyst) == ("monday", "ana")
    with door_with_suite(folder, {}, ledger=ledger, who="bob") as door:
        with pytest.raises(LedgerError) as caught:
            door.run(ASKED)
        assert str(caught.value) == (
            "run id 'monday' was used under another name (--who, who=); run ids are one asker's"
        )


@pytest.mark.heavy(family="long")
def test_a_kept_suite_is_free_and_stays_as_it_was_opened(folder: Path, ledger: Path) -> None:
    with dpdb.open(folder / "visits.parquet", constraints=RULE, ledger=ledger) as owner:
        owner.check(NIGHTLY, 2, keep="nightly")
    with door_with_suite(folder, {}, ledger=ledger, who="ana") as door:
        [cost, *_] = door.run("EXPLAIN FROM dp_check('nightly')").table.to_pylist()
        assert cost["explain_value"] == "nothing by kept suite 'nightly'"
        before = door.session.spent()
        found = door.run("SELECT c.suite, c.epsilon_reserved FROM dp_check('nightly') c, dp_count('visits', 0.5)")
        assert found.table.to_pylist() == [{"suite": "nightly", "epsilon_reserved": 2.0}] * 3
        assert (before, door.session.spent()) == (2, 2.5)
        with pytest.raises(ParameterError, match="kept with epsilon 2, and its runs cost nothing: leave epsilon out"):
            door.run("FROM dp_check('nightly', 0.1)")


DATED = "early: CHECK (DATE '2000-01-01' + age < {date})\nages: CHECK (age > 0)"
CASES = [
    ("", "suite 'nightly' is about a date: say which, as in date => '2026-11-21'"),
    (", date => '2026-13-01'", "date: '2026-13-01' is no date"),
    (", date => '2026-11-01', by => 'state'", "by= and keys= go together"),
    (", date => '2026-11-01', by => 'state', keys => 'CA'", r"cannot be group_keys: write a list such as"),
    (", date => '2026-11-01', where => 'none > 3'", "there is no column 'none'"),
    (", date => 20261101", "cannot be date: write text in single quotes"),
    (
        ", day => '2026-11-01'",
        r"names no parameter.*there are: suite, epsilon.*group_keys, date, within, rho, sizes, now\)",
    ),
]


@pytest.mark.heavy(family="long")
def test_slices_and_dates_are_as_for_releases(folder: Path, ledger: Path) -> None:
    noise = CountingNoise()
    with replaced_noise(noise), door_with_suite(folder, {}, ledger=ledger, suite=DATED) as door:
        for more, says in CASES:
            for before in ("", "EXPLAIN "):
                with pytest.raises(dpdb.DpdbError, match=says):
                    door.run(f"{before}FROM dp_check('nightly'{more})")
        asked = "date => '2026-11-21', \"where\" => 'age > 1', by => 'state', keys => ['CA', 'NY']"
        [cost, *_] = door.run(f"EXPLAIN FROM dp_check('nightly', 0.5, {asked})").table.to_pylist()
        assert cost["explain_value"] == "at most epsilon 0.5 by suite 'nightly'"
        assert (door.session.spent(), noise.draws) == (0, 0)
        found = door.run(f"SELECT key, name FROM dp_check('nightly', 0.5, {asked})").table.to_pylist()
        assert [(row["key"], row["name"]) for row in found] == [
            ("CA", "early"), ("CA", "ages"), ("NY", "early"), ("NY", "ages"),
        ]  # fmt: skip
        assert door.session.spent() == 0.125
        days = " UNION ALL ".join(f"FROM dp_check('nightly', 0.04, date => '2026-11-{day:02}')" for day in range(1, 9))
        assert door.run(days).table.num_rows == 16  # more dates than sessions are kept
        assert door.session.spent() == pytest.approx(0.125 + 8 * 0.01)


@pytest.mark.heavy(family="long")
def test_a_kept_suite_has_its_own_rows(folder: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "growing.ledger"
    Ledger.create(ledger, 3, append_only=True).close()
    with dpdb.open(folder / "visits.parquet", constraints=RULE, ledger=ledger) as owner:
        owner.check(NIGHTLY, 2, keep="nightly", where="age > 30")
    with door_with_suite(folder, {}, ledger=ledger) as door:
        assert door.run("FROM dp_check('nightly', \"where\" => 'age > 30')").table.num_rows == 3
        with pytest.raises(
            ParameterError, match="kept with where age > 30, and its runs cost nothing: leave where out"
        ):
            door.run("FROM dp_check('nightly', \"where\" => 'age > 31')")
        with pytest.raises(ParameterError, match="kept without by, and its runs cost nothing: leave by out"):
            door.run("FROM dp_check('nightly', by => 'state', keys => ['CA'])")
        assert door.session.spent() == 2


@pytest.mark.heavy(family="long")
def test_a_run_that_failed_is_finished_by_the_next_statement(
    folder: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object) -> None:
        raise ValueError("canary_heron")

    asked = "SELECT verdict FROM dp_check('nightly', 2)"
    with replaced_noise(CountingNoise()), door_with_suite(folder, {}, ledger=ledger) as door:
        with monkeypatch.context() as patch:
            patch.setattr("dpdb.suites.counted.CountedSuite.counts", broken)
            with pytest.raises(EngineError, match=r"debited.*; run_id := 'check-.*' finishes this run") as caught:
                door.run(asked)
        assert "canary" not in str(caught.value)
        assert door.session.spent() == 2  # of 3: a second run would not fit
        assert door.run(asked).table.num_rows == 3
        assert door.session.spent() == 0.5


@pytest.mark.heavy(family="long")
def test_a_statement_that_fails_over_its_verdicts_keeps_them(folder: Path) -> None:
    with replaced_noise(CountingNoise()), door_with_suite(folder, {}) as door:
        with pytest.raises(EngineError, match="Could not convert"):
            door.run("SELECT verdict::INT FROM dp_check('nightly')")
        [kept] = door.kept_checks
        assert (door.session.spent(), door.kept) == (0.25, ())
        assert door.run("SELECT DISTINCT run_id FROM dp_check('nightly')").table.to_pylist() == [
            {"run_id": kept.run_id}
        ]
        assert (door.session.spent(), door.kept_checks) == (0.25, ())


@pytest.mark.heavy(family="long")
def test_the_command_line_registers_suites(folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    suite = tmp_path / "nightly.txt"
    suite.write_text(NIGHTLY)
    command = ["sql", str(folder / "visits.parquet"), "--constraints", RULE, "--budget", "1", "--suite"]
    statement = "SELECT count(*) AS checks FROM dp_check('nightly')"
    assert main([*command, f"nightly={suite}", "--format", "csv", statement]) == 0
    assert capfd.readouterr().out == "checks\n3\n"
    assert main([*command, f"nightly={tmp_path / 'none.txt'}", statement]) == 2
    assert main([*command, "nightly", statement]) == 2
    assert "--suite 'nightly': expected NAME=FILE" in capfd.readouterr().err
