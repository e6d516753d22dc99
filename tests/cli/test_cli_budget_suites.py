"""`dpdb budget suites`, `rearm` and `close`, and suites in history and answers: never a secret."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpdb.doors.cli import main
from dpdb.ledger import Ledger, SourceMark
from dpdb.predicates import Region

TENTH = 10**8
SECRET = "rho is 12345678901234567890"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with a kept suite of two runs, whose check zip failed, and a run that has ended."""
    path = tmp_path / "t.ledger"
    with Ledger.create(path, 2) as ledger:
        for run_id, name in (("one", None), ("monday", "nightly"), ("tuesday", "nightly")):
            run = ledger.checks.open_suite(
                Region(), 5 * TENTH, source=SourceMark("table", "content"), request='{"check": "s"}', spec='{"m": 2}',
                make_secret=lambda: SECRET, run_id=run_id, name=name,
            )  # fmt: skip
            fails = ["zip"] if run_id == "tuesday" else []
            ledger.checks.record_level(run, 1, '{"quiet": 2}', spent=(1 + len(fails)) * TENTH, failed=fails)
            ledger.checks.end_suite(run, json.dumps({"checks": [run_id]}))
            run.close()
    return path


def said(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> str:
    assert main([*map(str, arguments)]) == code
    found = capsys.readouterr()
    assert SECRET not in found.out + found.err
    return found.out if code == 0 else found.err


def test_a_kept_suite_is_listed_re_armed_and_closed(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = said(capsys, "budget", "suites", path)
    assert "nightly  open since" in shown
    assert "2 runs: epsilon 0.5 reserved, 0.2 spent, 0.3 left\n    zip failed (recorded on" in shown
    assert "one" not in shown
    found = json.loads(said(capsys, "budget", "suites", path, "--format", "json"))["suites"]
    assert [(one["name"], one["run_id"], one["reserved"], one["spent"], one["left"]) for one in found] == [
        (None, "one", 0.5, 0.1, 0.0), ("nightly", None, 0.5, 0.2, 0.3)
    ]  # fmt: skip
    assert "'age' of kept suite 'nightly' has not failed" in said(
        capsys, "budget", "rearm", path, "nightly", "age", code=2
    )
    assert "requested epsilon 5" in said(capsys, "budget", "rearm", path, "nightly", "zip", "--epsilon", "5", code=4)
    shown = said(capsys, "budget", "rearm", path, "nightly", "zip", "--epsilon", "0.5", "--who", "ann")
    assert "epsilon 1 reserved, 0.2 spent, 0.8 left\n    zip re-armed on" in shown
    history = said(capsys, "budget", "history", path)
    assert "epsilon 0.1  suite of checks of every row, run id one (answered, settled from epsilon 0.5)" in history
    assert "epsilon 0.5  kept suite nightly of every row (open, all of it held)" in history
    assert "epsilon 0.5  zip re-armed in kept suite nightly of every row (answered)" in history
    assert "epsilon 0.3 by 3 releases" in said(capsys, "budget", "close", path, "nightly").replace("spent      ", "")
    assert "closed on" in said(capsys, "budget", "suites", path)
    assert not any(SECRET.encode() in each.read_bytes() for each in path.parent.iterdir())


def test_answers_show_what_a_suite_has_published(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert '{"checks": ["one"]}' in said(capsys, "budget", "answers", path)
    [answer] = json.loads(said(capsys, "budget", "answers", path, "--format", "json"))["answers"]
    assert answer["suite"] == {"checks": ["one"]}
    history = json.loads(said(capsys, "budget", "history", path, "--format", "json"))["releases"]
    assert [one["suite"] for one in history] == ["suite of checks", "kept suite nightly"]
    said(capsys, "budget", "history", path, "--format", "csv")


def test_a_check_with_two_limits_is_re_armed_by_its_name(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Ledger.open(path) as ledger:
        run = ledger.checks.open_suite(
            Region(), 5 * TENTH, source=SourceMark("table", "content"), request='{"check": "s"}', spec='{"m": 2}',
            make_secret=lambda: SECRET, run_id="wednesday", name="nightly",
        )  # fmt: skip
        ledger.checks.record_level(run, 1, "{}", spent=3 * TENTH, failed=["age (fail)", "age (warn)", "one (warn)"])
        ledger.checks.end_suite(run, "{}")
        run.close()
    assert "suite      nightly: epsilon 0.5 of it reserved, 0.3 spent, 0.2 left" in said(capsys, "budget", "show", path)
    found = json.loads(said(capsys, "budget", "show", path, "--format", "json"))
    assert found["suites"] == [{"name": "nightly", "reserved": 0.5, "spent": 0.3, "left": 0.2}]
    refused = said(capsys, "budget", "rearm", path, "nightly", "age", "--epsilon", "0.5", code=2)
    assert "has failed with two limits, name the one that is paid for: age (warn), age (fail)" in refused
    shown = said(capsys, "budget", "rearm", path, "nightly", "age")
    assert shown.count("re-armed on") == 2
    assert shown.count("not re-armed") == 2
    assert "one (warn) re-armed" in said(capsys, "budget", "rearm", path, "nightly", "one", "--epsilon", "0.5")
    assert "one (fail)" not in said(capsys, "budget", "suites", path)
    assert "'age' of kept suite" in said(capsys, "budget", "rearm", path, "nightly", "age", code=2)


def test_an_option_that_other_commands_have_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["check", "t.parquet", "s.txt", "--constraints", "c.txt"])
    assert "there is no --constraints here: its rules are those of SUITE" in capsys.readouterr().err
