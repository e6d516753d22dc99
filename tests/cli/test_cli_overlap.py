"""`dpdb overlap`: reads lines, prints bounds in words or as one JSON document, refuses bad input in one line."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from dpdb.doors.cli import main

QUERIES = """-- three slices and one over both states
SELECT count(*) FROM visits WHERE state = 'CA' AND age >= 65;
state = 'NY'

state = 'CA' AND age < 65
age > 70
"""
SCHEMA = ["--schema", "state VARCHAR, age INTEGER, city VARCHAR"]


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    path = tmp_path / "queries.sql"
    path.write_text(QUERIES)
    return path


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:
    assert main(["overlap", *arguments, *SCHEMA, "--format", "json"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    return json.loads(shown.out)


def test_words(queries: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["overlap", str(queries), *SCHEMA]) == 0
    shown = capsys.readouterr().out
    assert "queries          4\n" in shown
    assert "maximum overlap  2 (exact)" in shown
    assert "utility gain     50.0% (1 - 2 / 4)" in shown
    assert "50.0% Laplace, 29.3% Gaussian" in shown
    assert "replaced row" in shown
    assert "covered by       queries " in shown


def test_json_with_weights_from_text_and_from_a_file(
    queries: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = as_json(capsys, str(queries), "--weights", "5,1,2,3")
    assert (report["lower"], report["upper"], report["total"], report["optimal"]) == (8, 8, 11, True)
    assert report["witness_queries"] == [1, 4]
    assert "age" in report["witness"]
    weights = tmp_path / "weights.txt"
    weights.write_text("5\n1\n2, 3\n")
    again = as_json(capsys, str(queries), "--weights", str(weights))
    assert {**again, "seconds": 0} == {**report, "seconds": 0}


@pytest.mark.heavy
@pytest.mark.parametrize("method", ["auto", "clique", "clique_overlap", "dsatur", "hypergraph"])
def test_every_method(method: str, queries: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = as_json(capsys, str(queries), "--method", method)
    assert report["method"] == method
    assert report["lower"] <= 2 <= report["upper"]


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(QUERIES))
    assert as_json(capsys, "-")["queries"] == 4


def test_what_is_not_understood_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "queries.sql"
    path.write_text("lower(city) = 'x'\ncity = 'y'\n")
    assert main(["overlap", str(path), *SCHEMA]) == 0
    assert "note             query 1: " in capsys.readouterr().out


def test_long_lists_are_cut_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "queries.sql"
    path.write_text("lower(city) = 'x'\n" * 30)
    assert main(["overlap", str(path), *SCHEMA]) == 0
    shown = capsys.readouterr().out
    assert "and 18 more" in shown
    assert "10 more; --format json has all" in shown


BAD = {
    "no file": (["nowhere.sql"], "No such file"),
    "folder": (["."], "directory"),
    "not text": (["bytes.sql"], "not UTF-8"),
    "unreadable line": (["broken.sql"], "line 2"),
    "too few weights": (["good.sql", "--weights", "1"], "one weight per query"),
    "no weight": (["good.sql", "--weights", ""], "one weight per query"),
    "weight of a fraction": (["good.sql", "--weights", "0.5,1"], "'0.5'"),
    "negative weight": (["good.sql", "--weights=-1,1"], "'-1'"),
    "weights file": (["good.sql", "--weights", "weights.txt"], "'weights.txt'"),
    "method": (["good.sql", "--method", "magic"], "hypergraph"),
    "schema": (["good.sql", "--schema", "age"], "column names with types"),
    "type": (["good.sql", "--schema", "age STRANGE"], "not a SQL type"),
    "column": (["good.sql", "--schema", "a INTEGER"], "line 2: where: there is no column 'b'"),
}


@pytest.mark.heavy
@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_code_2(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "good.sql").write_text("a = 1\nb = 2\n")
    (tmp_path / "broken.sql").write_text("a = 1\na =\n")
    (tmp_path / "bytes.sql").write_bytes(b"a = '\xff'\n")
    monkeypatch.chdir(tmp_path)
    arguments, says = BAD[case]
    schema = [] if "--schema" in arguments else ["--schema", "a VARCHAR, b VARCHAR"]
    assert main(["overlap", *arguments, *schema]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert says in shown.err


def test_a_schema_is_required(queries: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["overlap", str(queries)])
    assert stopped.value.code == 2
    assert "--schema" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("seconds", ["0", "-1", "soon", "nan"])
def test_a_deadline_is_positive(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["overlap", "-", f"--deadline={seconds}", *SCHEMA])
    assert stopped.value.code == 2
    assert "--deadline" in capsys.readouterr().err
