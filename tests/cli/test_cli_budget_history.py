"""`dpdb budget history`, `raise`, `allow`, `retire`: who, label, rules and answer; nothing in them does harm."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import dpdb
from dpdb.doors.cli import main
from dpdb.errors import LittleBudgetWarning
from dpdb.ledger import Ledger

KILLED = """
import os, signal, sys
from dpdb import stopping as steps
from dpdb.doors.cli import main
def reached(step):
    if step == "drawn":
        os.kill(os.getpid(), signal.SIGKILL)
steps.watchers.append(reached)
main(sys.argv[1:])
"""


def run(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> tuple[str, str]:
    assert main([str(argument) for argument in arguments]) == code
    return capsys.readouterr()


def test_the_history_tells_who_asked_under_which_rules_why_and_what_was_published(
    visits: Path, ledger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("measure", visits, "--constraints", "zip -> city", "--measure", "repair", "--ledger", ledger)
    out, _ = run(capsys, *asked, "--epsilon", "0.5", "--who", "ana", "--label", "weekly", "--format", "json")
    [release] = json.loads(out)["releases"]
    run(capsys, "budget", "raise", ledger, "--to", "5", "--who", "olga")
    text, _ = run(capsys, "budget", "history", ledger)
    first, answer, act = text.splitlines()
    assert f"repair of every row, by ana, label weekly, rules {release['constraints_sha256'][:12]} (answered)" in first
    assert answer.startswith("    repair = ")
    assert act.endswith("budget raised from epsilon 3 to 5, by olga")
    told = json.loads(run(capsys, "budget", "history", ledger, "--format", "json")[0])
    [line] = told["releases"]
    assert (line["analyst"], line["label"]) == ("ana", "weekly")
    [published] = line["answer"]
    assert published == {name: release[name] for name in published}
    assert {"release_id", "measure", "where", "value", "lower", "upper"} <= published.keys()
    assert [(one["kind"], one["after"], one["budget"]) for one in told["acts"]] == [("raise", 1, 5.0)]


def test_cells_of_the_csv_are_never_formulas_and_lines_never_steer_a_terminal(
    visits: Path, ledger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    count = ("count", visits, "--ledger", ledger, "--epsilon", "0.1")
    names = {
        ("=1+1", "@SUM(A1)"): ("'=1+1", "'@SUM(A1)"),
        ("-2", "+3*1"): ("-2", "'+3*1"),
        ("<b>", 'a",b'): ("<b>", 'a",b'),
        ("\uff1d1+1", "\uff20SUM(A1)"): ("'\uff1d1+1", "'\uff20SUM(A1)"),
    }
    for who, label in names:
        run(capsys, *count, "--who", who, "--label", label, "--where", "zip = '\x1b[31m'")
    rows = list(csv.DictReader(io.StringIO(run(capsys, "budget", "history", ledger, "--format", "csv")[0])))
    assert [(row["who"], row["label"]) for row in rows] == list(names.values())
    assert [row["kind"] for row in rows] == ["release"] * 4
    assert all(row["answer"].startswith("count") for row in rows)
    text, _ = run(capsys, "budget", "history", ledger)
    assert all(line.isprintable() for line in text.splitlines())
    assert len(text.splitlines()) == 8


@pytest.mark.parametrize("option", ["--who", "--label"])
def test_a_name_that_is_none_is_refused_before_anything_is_spent(
    option: str, visits: Path, ledger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, err = run(capsys, "count", visits, "--ledger", ledger, "--epsilon", "1", option, "a\nb", code=2)
    assert "has 1 to 200 printable characters" in err
    with Ledger.open(ledger) as opened:
        assert opened.summary().releases == 0


def test_a_run_id_is_of_one_name(visits: Path, ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    count = ("count", visits, "--ledger", ledger, "--epsilon", "0.1", "--run-id", "x")
    run(capsys, *count, "--who", "ana")
    _, err = run(capsys, *count, "--who", "bob", code=2)
    assert "run id 'x' was used under another name" in err
    assert "\ncount " in run(capsys, *count, "--who", "ana", "--label", "another")[0]


@pytest.mark.heavy(family="spending")
def test_a_release_killed_between_debit_and_answer_stands_in_the_history(
    visits: Path, ledger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [sys.executable, "-c", KILLED, "count", str(visits), "--ledger", str(ledger), "--epsilon", "0.5"]
    ended = subprocess.run([*command, "--who", "ana"], capture_output=True, check=False, env=dict(os.environ))
    assert ended.returncode == -signal.SIGKILL
    text, _ = run(capsys, "budget", "history", ledger)
    [line] = text.splitlines()
    assert line.endswith("epsilon 0.5  count of every row, by ana (not answered, still spent)")


def test_little_left_is_said_on_standard_error_after_the_answer(
    visits: Path, ledger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    count = ("count", visits, "--ledger", ledger)
    assert run(capsys, *count, "--epsilon", "2.7")[1] == ""
    out, err = run(capsys, *count, "--epsilon", "0.1")
    assert "\ncount " in out
    assert err == f"dpdb: {ledger}: little is left: epsilon 0.2 of 3 of the budget\n"
    assert run(capsys, *count, "--epsilon", "0.01", "--quiet")[1] == ""
    run(capsys, "budget", "allow", ledger, "--at-most", "2.9", "--per", "30d")
    _, err = run(capsys, *count, "--epsilon", "0.01")
    assert "0.18 of 3 of the budget and 0.08 of 2.9 of what is allowed within any 30 days" in err


def test_little_left_of_an_allowance_alone_is_said(
    visits: Path, ledger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "budget", "allow", ledger, "--at-most", "1", "--per", "30d")
    _, err = run(capsys, "count", visits, "--ledger", ledger, "--epsilon", "0.95")
    assert err == f"dpdb: {ledger}: little is left: epsilon 0.05 of 1 of what is allowed within any 30 days\n"


@pytest.mark.filterwarnings("error")
def test_where_warnings_are_errors_an_answer_is_not_lost(visits: Path, ledger: Path) -> None:
    with dpdb.open(visits, ledger=ledger) as session:
        assert session.dp_count(2.9, label="most", who="ana").epsilon == 2.9


def test_python_warns_once_a_session(visits: Path, ledger: Path) -> None:
    with dpdb.open(visits, ledger=ledger) as session:
        with pytest.warns(LittleBudgetWarning, match=r"little is left: epsilon 0.1 of 3 of the budget"):
            session.dp_count(2.9)
        session.dp_count(0.01)
        assert session.remaining() == 0.09


def test_an_allowance_and_its_end(ledger: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, _ = run(capsys, "budget", "allow", ledger, "--at-most", "0.5", "--per", "month")
    assert "allowance  epsilon 0.5 within a calendar month (UTC): 0 spent, 0.5 left; old releases never expire" in text
    assert "allowance" not in run(capsys, "budget", "allow", ledger, "--per", "month", "--end")[0]
    assert "give --at-most E, or --end" in run(capsys, "budget", "allow", ledger, "--per", "month", code=2)[1]
    made = tmp_path / "new.ledger"
    for wrong in (("--per", "30d"), ("--per", "x", "--at-most", "1"), ("--per", "30d", "--at-most", "0")):
        run(capsys, "budget", "create", made, "--epsilon", "3", *wrong, code=2)
        assert not made.exists()
    assert (
        "within any 30 days"
        in run(capsys, "budget", "create", made, "--epsilon", "3", "--per", "30d", "--at-most", "1")[0]
    )


def test_a_raise_that_lowers_and_a_retired_ledger(
    visits: Path, ledger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "can only be raised" in run(capsys, "budget", "raise", ledger, "--to", "2", code=2)[1]
    text, _ = run(capsys, "budget", "retire", ledger, "--who", "olga", "--label", "closed")
    assert "by olga (closed): nothing more is released" in text
    _, err = run(capsys, "count", visits, "--ledger", ledger, "--epsilon", "0.1", code=2)
    assert "was retired on" in err
    assert "budget answers" in err
