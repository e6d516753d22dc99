"""The command: gates, formats, files, what it says and when, and options of one side."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest
from stub_noise import StubNoise

from dpdb.doors.cli import main
from dpdb.privacy.noise import replaced_noise


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("both.duckdb") as database:
        database.execute("CREATE TABLE l AS SELECT i AS id, 'a' AS a FROM range(100) t(i)")
        database.execute(
            "CREATE TABLE r AS SELECT i AS id, CASE WHEN i < 90 THEN 'a' END AS a FROM range(40, 100) t(i)"
        )
    return tmp_path


def run(*options: str) -> int:
    with replaced_noise(StubNoise()):
        sides = ["both.duckdb", "both.duckdb", "--left-table", "l", "--right-table", "r", "--key", "id"]
        return main(["compare", *sides, "--epsilon", "5", *options])


@pytest.mark.heavy
@pytest.mark.parametrize(("gate", "code", "words"), [
    ("missing_right=39", 1, "missing_right = 40 > 39"), ("missing_right=40", 5, "not shown"),
    ("missing_right=50", 0, ""), ("differ=9", 1, "differ = 10 > 9"), ("missing_left=5", 0, ""),
    ("repair=1", 2, "released"),
])  # fmt: skip
def test_gates(gate: str, code: int, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--fail-above", gate) == code
    assert words in capsys.readouterr().err


def test_two_tables_of_one_file_as_json_in_a_new_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--format", "json", "--out", "found.json", "--each-column", "--quiet") == 0
    found = json.loads(Path("found.json").read_text())["releases"]
    named = [(one["measure"], one["constraint"], one["value"]) for one in found]
    assert named == [("missing_left", None, 0), ("missing_right", None, 40), ("differ", None, 10), ("differ", "a", 10)]
    assert capsys.readouterr() == ("", "")
    assert run("--out", "found.json") == 2
    assert "found.json" in capsys.readouterr().err


def test_it_says_in_words_what_each_number_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--verbose", "--each-column") == 0
    out, err = capsys.readouterr()
    assert "the right table lacks about 40 keys of the left one" in out
    assert "differ in a = 10" in out
    assert "a table without a ledger" in err


@pytest.mark.heavy
@pytest.mark.parametrize(("options", "words"), [
    (["--columns", "b"], "left table: there is no column 'b'"), (["--key", ""], "key must name at least one column"),
    (["--epsilon", "0"], "epsilon"), (["--unit", "id"], "go together"), (["--where", "a = 'x'"], "no column of the"),
    (["--run-id", "x"], "run_id needs a ledger of either table"), (["--confidence", "2"], "confidence"),
    (["--right-table", "none"], "none"),
])  # fmt: skip
def test_what_is_wrong_is_said_and_spends_nothing(
    options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*options) == 2
    out, err = capsys.readouterr()
    assert (out, words in err) == ("", True), err
