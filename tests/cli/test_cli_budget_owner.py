"""`dpdb budget answers` and `audit`: what was paid for is shown again, what was paid too little for is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from text_reader import parse_where

from dpdb.doors.cli import main
from dpdb.ledger import Ledger, SourceMark

OLD = Path(__file__).parents[1] / "ledger" / "ledgers"
SCHEMA = "zip VARCHAR, city VARCHAR, age BIGINT"


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


def old_ledger(name: str, folder: Path) -> Path:
    for suffix in ("", "-head"):
        shutil.copy(OLD / f"{name}.ledger{suffix}", folder / f"{name}.ledger{suffix}")
        (folder / f"{name}.ledger{suffix}").chmod(0o600)
    return folder / f"{name}.ledger"


def test_answers_are_printed_again_as_they_were(visits: Path, ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    count = ("count", visits, "--ledger", ledger, "--epsilon", "0.5", "--by", "zip", "--keys", "1,2", "--run-id", "x")
    text = run(capsys, *count)
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


# -- audit --------------------------------------------------------------------------------------------------------


def audited(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(capsys, "budget", "audit", *arguments, "--format", "json"))
    return found


@pytest.mark.parametrize("name", ["format-2", "format-2-unit", "format-2-zcdp"])
def test_what_was_charged_rightly_is_the_same_now(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = audited(capsys, old_ledger(name, tmp_path), "--schema", SCHEMA)
    assert found["lines"]
    assert not any(line["unknown"] or line["refused"] for line in found["lines"])
    changed = [(line["rows"], line["rows_now"]) for line in found["lines"] if line["changed"]]
    # What lies between whole numbers is charged as it is compared now, and not as the whole numbers around it.
    [(was, now)] = changed
    assert was.replace("age >= 1 ", "age >= 1.5 ").replace("age < 1 ", "age < 1.5 ") == now != was
    assert found["spent_now"] == found["spent"] > 0


def test_what_was_released_for_nothing_is_named_and_counted_as_every_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = old_ledger("format-2-leaks", tmp_path)
    found = audited(capsys, path, "--schema", SCHEMA)
    assert {line["run_id"]: line["rows_now"] for line in found["lines"] if line["changed"]} == dict.fromkeys(
        ("false", "not true", "neither"), "every row"
    )
    assert all(line["refused"] for line in found["lines"] if line["changed"])
    assert (found["budget"], found["spent"], found["spent_now"]) == (3.0, 0.5, 3.5)
    text = run(capsys, "budget", "audit", path, "--schema", SCHEMA)
    assert "2 (run id false): epsilon 1 for no row; now refused (" in text
    assert "releases   4, 3 of them charged otherwise by this version" in text
    assert "now        epsilon 3.5 spent (3 more)" in text
    assert "budget     epsilon 3 is exceeded" in text
    with Ledger.open(path) as ledger:
        assert ledger.summary().spent == 0.5  # it changed nothing


def test_an_audit_reads_the_schema_of_the_source_and_no_row(
    ledger: Path, visits: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(capsys, "count", visits, "--ledger", ledger, "--epsilon", "0.5", "--where", "age BETWEEN 2 AND 9")
    run(capsys, "count", visits, "--ledger", ledger, "--by", "zip", "--keys", "1,2", "--where", "age < 3")
    broken = visits.with_name("broken.parquet")
    whole = bytearray(visits.read_bytes())
    whole[4:40] = bytes(36)  # where the first column's values lie
    broken.write_bytes(whole)
    for source in ([visits], [broken], ["--schema", SCHEMA]):
        found = audited(capsys, ledger, *source)
        assert [line["changed"] for line in found["lines"]] == [False, False]
        assert found["spent"] == found["spent_now"]


def test_an_audit_of_another_table_is_refused(ledger: Path, visits: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "count", visits, "--ledger", ledger, "--epsilon", "0.5")
    assert "other columns or types" in refused(capsys, "budget", "audit", ledger, "--schema", "zip VARCHAR")
    assert "needs a source" in refused(capsys, "budget", "audit", ledger)


def test_a_request_that_no_session_made_is_counted_as_recorded(
    ledger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = SourceMark(json.dumps([["a", "BIGINT"]]), "content")
    with Ledger.open(ledger) as opened:
        for request in ("{}", "[]", '{"epsilon": "x"}', '{"rho": "0.1"}'):
            opened.reserve(parse_where("a = 1"), 10**8, source=source, request=request)
        request = '{"epsilon": "0.1", "where": "a < 5 AND b = 1"}'  # a column that is gone
        opened.reserve(parse_where("a < 5"), 10**8, source=source, request=request)
    found = audited(capsys, ledger, "--schema", "a BIGINT")
    assert [line["unknown"] for line in found["lines"]] == [True] * 4 + [False]
    assert "b" in found["lines"][4]["refused"]
    assert (found["spent"], found["spent_now"]) == (0.5, 0.5)
    assert "unknown    4 releases" in run(capsys, "budget", "audit", ledger, "--schema", "a BIGINT")


def test_an_audit_counts_epochs_one_by_one(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the epoch of a line that is charged otherwise is computed anew; epochs add up."""
    source = SourceMark(json.dumps([["a", "BIGINT"]]), "content")
    with Ledger.open(ledger) as opened:
        for where in ("a = 1", "a = 2"):
            request = json.dumps({"epsilon": "0.5", "where": "a >= 1"})
            opened.reserve(parse_where(where), 5 * 10**8, source=source, request=request)
        opened.open_epoch()
        request = json.dumps({"epsilon": "0.25", "where": "a = 3"})
        opened.reserve(parse_where("a = 3"), 25 * 10**7, source=source, request=request)
    found = audited(capsys, ledger, "--schema", "a BIGINT")
    assert [line["changed"] for line in found["lines"]] == [True, True, False]
    assert [line["rows_now"] for line in found["lines"]] == ["a >= 1", "a >= 1", "a = 3"]
    assert (found["spent"], found["spent_now"]) == (0.75, 1.25)
