"""`dpdb budget answers`: what was paid for is shown again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from text_reader import parse_where

from dpdb.doors.cli import main
from dpdb.ledger import Ledger, SourceMark


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What a command prints; it must succeed."""
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line of a command that is refused."""
    assert main([str(argument) for argument in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


def test_answers_are_printed_again_as_they_were(visits: Path, ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    count = ("count", visits, "--ledger", ledger, "--epsilon", "0.5", "--by", "zip", "--keys", "1,2", "--run-id", "x")
    text = run(capsys, *count, "--verbose")
    first = json.loads(run(capsys, *count, "--format", "json"))["releases"]
    run(capsys, "count", visits, "--ledger", ledger, "--epsilon", "0.25")
    shown = run(capsys, "budget", "show", ledger)
    again = run(capsys, "budget", "answers", ledger, "--run-id", "x")
    assert again.startswith("1  20")
    assert ", run id x\n" in again
    assert again.split("\n", 1)[1] == text
    [answer] = json.loads(run(capsys, "budget", "answers", ledger, "--run-id", "x", "--format", "json"))["answers"]
    assert (answer["number"], answer["run_id"], answer["releases"]) == (1, "x", first)
    one = first[1]["release_id"]
    [answer] = json.loads(run(capsys, "budget", "answers", ledger, "--release", one, "--format", "json"))["answers"]
    assert answer["releases"] == [first[1]]
    assert run(capsys, "budget", "answers", ledger).count("Guarantee: ") == 2
    assert run(capsys, "budget", "show", ledger) == shown


def test_an_answer_that_is_not_there_is_one_line(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "budget", "answers", ledger) == "no answers yet\n"
    line = refused(capsys, "budget", "answers", ledger, "--release", "ab", "--run-id", "x")
    assert "no recorded answer of release 'ab' and run id 'x'; see `dpdb budget history`" in line
    with Ledger.open(ledger) as opened:
        source = SourceMark("table", "content")
        opened.record(opened.reserve(parse_where(""), 1, source=source, request="{}", run_id="x"), '"no session"')
    assert "was not recorded by a session" in refused(capsys, "budget", "answers", ledger)


def test_the_rules_of_a_session_stand_in_the_history(
    visits: Path, ledger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "measure", visits, "--constraints", "zip -> city", "--ledger", ledger, "--epsilon", "0.5")
    run(capsys, "count", visits, "--ledger", ledger, "--epsilon", "0.5")
    found = json.loads(run(capsys, "budget", "history", ledger, "--format", "json"))["releases"]
    assert [line["rule_set"] for line in found] == [found[0]["request"]["constraints_sha256"], None]
    assert [(line["analyst"], line["label"]) for line in found] == [(None, None)] * 2
