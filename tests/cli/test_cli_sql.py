"""`dpdb sql`: statements from everywhere, results in every format, exit codes, and the prompt."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import dpdb
from dpdb.doors.cli import main
from dpdb.doors.cli.prompt import completer, run_prompt
from dpdb.doors.cli.result_formats import as_arrow, as_csv, as_json, as_parquet, as_text
from dpdb.doors.sql import FrontEnd
from dpdb.ledger import Ledger

RULE = "zip_code -> city"
COUNT = "SELECT measure, value FROM dp_count('hospital', epsilon := 0.5)"


@pytest.fixture
def command(hospital: Path) -> list[str]:
    return ["sql", str(hospital), "--constraints", RULE]


@pytest.mark.heavy(family="long")
def test_results_come_as_table_csv_and_json(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--budget", "1", COUNT]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0].split() == ["measure", "value"]
    assert out.splitlines()[-1] == "(1 row)"
    assert err == (
        "dpdb: no --ledger: nothing adds up what this command and others spend on this table\n"
        "privacy budget: 0.5 spent, 0.5 remaining\n"
    )
    assert main([*command, "--budget", "1", "--format", "csv", "--quiet", COUNT]) == 0
    out, err = capsys.readouterr()
    header, row = csv.reader(io.StringIO(out))
    assert (header, row[0], err) == (["measure", "value"], "count", "")
    assert main([*command, "--budget", "1", "--format", "json", f"{COUNT}; SELECT 1 AS one"]) == 0
    first, second = json.loads(capsys.readouterr().out)["results"]
    assert first["rows"][0].keys() == {"measure", "value"}
    assert second == {"columns": ["one"], "rows": [{"one": 1}]}


@pytest.mark.heavy
@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_results_come_as_files(form: str, command: list[str], tmp_path: Path) -> None:
    path = tmp_path / f"result.{form}"
    assert main([*command, "--budget", "1", "--format", form, "--out", str(path), COUNT]) == 0
    table = pq.read_table(path) if form == "parquet" else pa.ipc.open_stream(path.read_bytes()).read_all()
    assert table.column_names == ["measure", "value"]
    assert table.column("measure").to_pylist() == ["count"]


@pytest.mark.heavy(family="long")
def test_a_plan_is_printed_as_it_is(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("table", "csv", "json"):
        assert main([*command, "--budget", "1", "--format", form, f"EXPLAIN {COUNT}"]) == 0
        out, err = capsys.readouterr()
        assert "epsilon 0.5 by 1 release" in out
        assert "0 spent" in err
        if form == "table":
            assert out.startswith("privacy_cost\nepsilon 0.5 by 1 release\nphysical_plan\n\u256d")


@pytest.mark.heavy(family="long")
def test_a_result_that_cannot_be_shown_leaves_its_releases(
    command: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    asked = (
        "SELECT DATE '20000-01-01' AS far, value FROM dp_count('hospital', epsilon := 1)"  # Python's last year is 9999
    )
    assert main([*command, "--budget", "1", "--format", "csv", "--out", str(tmp_path / "x.csv"), asked]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "these releases were made and are paid for" in err
    assert "could not be written as csv" in err
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_refused_before_anything_is_spent(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, ledger = tmp_path / "result.csv", tmp_path / "h.ledger"
    path.write_text("mine")
    Ledger.create(ledger, 1).close()
    assert main([*command, "--ledger", str(ledger), "--format", "csv", "--out", str(path), COUNT]) == 2
    assert "not overwritten" in capsys.readouterr().err
    assert path.read_text() == "mine"
    with Ledger.open(ledger) as opened:
        assert opened.summary().releases == 0


@pytest.mark.heavy(family="long")
def test_a_refused_statement_leaves_no_file(command: list[str], tmp_path: Path) -> None:
    path = tmp_path / "result.csv"
    over = COUNT.replace("0.5", "5")
    assert main([*command, "--budget", "1", "--format", "csv", "--out", str(path), over]) == 4
    assert not path.exists()


@pytest.mark.heavy(family="long")
def test_statements_come_from_files_and_standard_input(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "script.sql"
    script.write_text("-- two\nSELECT 1 AS one;\n/* ; */ SELECT 'a;b' AS two;\n-- end\n")
    for source in (["--file", str(script)], ["-"], []):
        monkeypatch.setattr("sys.stdin", io.StringIO(script.read_text()))
        assert main([*command, "--budget", "1", "--format", "json", *source]) == 0
        assert [r["rows"] for r in json.loads(capsys.readouterr().out)["results"]] == [[{"one": 1}], [{"two": "a;b"}]]


@pytest.mark.heavy(family="long")
def test_all_statements_are_checked_before_the_first_runs(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script.sql"
    script.write_text(f"{COUNT};\n\n  SELECT * FROM hospital;")
    assert main([*command, "--budget", "1", "--file", str(script)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.startswith("dpdb: line 3, column 17: 'hospital' is private")) == ("", True)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (["SELECT 1"], 2, "give --budget E or --ledger FILE"),
        (["--budget", "1", "SELECT * FROM hospital"], 2, "'hospital' is private"),
        (["--budget", "1", "--public", "hospital={csv}", "SELECT 1"], 2, "private table's name"),
        (["--budget", "1", "--public", "{csv}", "SELECT 1"], 2, "NAME=FILE"),
        (["--budget", "1", "--public", "a={csv}", "--public", "a={csv}", "SELECT 1"], 2, "the name is taken"),
        (["--budget", "1", "--public", "a=nothing.csv", "SELECT 1"], 2, "no such file"),
        (["--budget", "1", "--format", "csv", "SELECT 1; SELECT 2"], 2, "holds one result"),
        (["--budget", "1", "--file", "nothing.sql"], 2, "No such file"),
        (["--budget", "1", "--file", "nothing.sql", "SELECT 1"], 2, "not both"),
        (["--budget", "1", "--out", "nowhere/x.csv", "SELECT 1"], 2, "cannot be written"),
        (["--budget", "1", "-- nothing"], 2, "no statement"),
        (["--budget", "x", "SELECT 1"], 2, "budget must be a"),
        (["--budget", "0.1", COUNT], 4, "budget refused"),
        (["--budget", "1", "SELECT measure::INT FROM dp_count('hospital', epsilon := 1)"], 3, "made and are paid for"),
    ],
)
def test_exit_codes(
    options: list[str], code: int, says: str, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "public.csv"
    path.write_text("a\n1\n")
    assert main([*command, *(option.format(csv=path) if "{csv}" in option else option for option in options)]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
    assert "Traceback" not in err


@pytest.mark.heavy(family="long")
def test_tables_have_the_owners_names(hospital: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "states.csv"
    path.write_text("state,people\nAL,5\nAK,1\n")
    command = ["sql", str(hospital), "--constraints", RULE, "--table", "visits", "--budget", "1", "--format", "csv"]
    command += ["--public", f"states={path}"]
    asked = "SELECT s.people, dp_count('visits', 1, where := 'state = ''AL''').measure AS m FROM states s ORDER BY 1"
    assert main([*command, asked]) == 0
    assert capsys.readouterr().out == "people,m\n1,count\n5,count\n"
    assert main(["sql", str(hospital.parent / "*.parquet"), "--constraints", RULE, "--budget", "1", "SELECT 1"]) == 2
    assert "give --table NAME" in capsys.readouterr().err


# -- formats --------------------------------------------------------------------------------------------------

ODD = pa.table(
    [
        pa.array([1.5, None, float("nan")]),
        pa.array(["a\x1b[31m", None, "c\nd"]),
        pa.array([{"x": 1}, None, {"x": None}], pa.struct([("x", pa.int64())])),
        pa.array([(1, 2, 3), None, None], pa.month_day_nano_interval()),
        pa.array([b"\x00\xff", None, b""]),
        pa.array([10, None, 3], pa.decimal128(38, 0)),
    ],
    names=["n", "t", "t", "i", "b", "d"],
)


def test_odd_values_survive_every_format() -> None:
    text = as_text(ODD, 200)
    assert "\x1b" not in text
    assert "NULL" in text
    assert "-- row 3" in as_text(ODD, 20)
    header, first, second, _ = csv.reader(io.StringIO(as_csv(ODD)))
    assert (header, first[4:], second) == (["n", "t", "t_1", "i", "b", "d"], ["00ff", "10"], [""] * 6)
    (result,) = json.loads(as_json([ODD]))["results"]
    assert (result["rows"][0]["t_1"], result["rows"][2]["n"]) == ({"x": 1}, None)
    for table in (pq.read_table(pa.BufferReader(as_parquet(ODD))), pa.ipc.open_stream(as_arrow(ODD)).read_all()):
        assert table.num_rows == 3
        assert table.column_names == header


@pytest.mark.heavy(family="long")
def test_no_cell_of_csv_is_a_formula(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "-", "+1-555-0100"]  # noqa: RUF001
    numbers = ["-3.5", "+4", "-.5e-3", "7"]
    pq.write_table(pa.table({"=a": texts + numbers, "n": [-3.5] * 14}), tmp_path / "p.parquet")
    public = ["--public", f"p={tmp_path / 'p.parquet'}", "--format", "csv", "--quiet"]
    assert main([*command, "--budget", "1", *public, "SELECT *, -1 AS d, -1.5::DECIMAL(3, 1) AS e FROM p"]) == 0
    header, *rows = csv.reader(io.StringIO(capsys.readouterr().out, newline=""))
    assert header == ["'=a", "n", "d", "e"]
    assert [row[0] for row in rows] == [f"'{text}" for text in texts] + numbers
    assert {tuple(row[1:]) for row in rows} == {("-3.5", "-1", "-1.5")}


def test_long_values_are_broken_at_the_width_of_the_terminal() -> None:
    shown = as_text(pa.table({"name": ["words " * 40], "x": ["y" * 90], "z": ["a\nb"]}), 60).splitlines()
    assert [line[:4] for line in shown[1:5]] == ["name", "    ", "    ", "    "]
    assert max(len(line) for line in shown if "y" not in line) <= 60
    assert " ".join(line[6:] for line in shown[1:]).startswith(" ".join(["words"] * 40))
    assert f"x     {'y' * 90}" in shown  # what has no blank is copied whole
    assert shown[-3:] == ["z     a", "      b", "(1 row)"]


# -- the prompt -----------------------------------------------------------------------------------------------


@pytest.fixture
def front_end(hospital: Path) -> Iterator[FrontEnd]:
    with dpdb.open(hospital, constraints=RULE, budget=1) as session, FrontEnd(session, "hospital") as opened:
        yield opened


def typed(*lines: str | type[BaseException]) -> object:
    """Return what reads these lines, and then the end of input."""
    pending = iter(lines)

    def read(prompt: str) -> str:
        line = next(pending, EOFError)
        if isinstance(line, str):
            print(f"{prompt}{line}")
            return line
        raise line

    return read


@pytest.mark.heavy(family="long")
def test_the_prompt_answers_until_it_is_left(
    front_end: FrontEnd, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    lines = (
        ".help", "help", ".tables", ".schema", ".rules", "DESCRIBE hospital;", ".shema", "SELET 1;", "SELECT measure",
        "FROM dp_count('hospital', 0.25); SELECT 2 AS two;", ".budget", "SELECT * FROM hospital;",
        "SELECT measure::INT FROM dp_count('hospital', 0.25);", "SELECT", KeyboardInterrupt,
        "FROM dp_count('hospital', 9);", ".nothing", "SELECT 3 AS three;", ".quit", "SELECT 4 AS four;",
    )  # fmt: skip
    assert run_prompt(front_end, typed(*lines)) == 0  # type: ignore[arg-type]
    shown = capsys.readouterr().out
    for text in (
        "dpdb: releases of 'hospital'. privacy budget: 0 spent, 1 remaining",
        "SELECT * FROM dp_inconsistency('hospital', measure := 'repair', epsilon := 0.5);",
        "hospital  (private: releases only)",
        "   -> FROM dp_count",
        "measure\n-------\ncount\n(1 row)\nprivacy budget: 0.25 spent, 0.75 remaining\n",
        "two\n---\n  2\n",
        "dpdb: line 1, column 15: 'hospital' is private",
        "these releases were made and are paid for:\n",
        "privacy budget: 0.5 spent, 0.5 remaining",
        "cancelled; what was debited stays spent",
        "dpdb: budget refused: requested epsilon 9",
        "unknown command .nothing",
        "unknown command .shema; did you mean '.schema'?",
        "SELET' is not run; did you mean SELECT?",
        "zip_code           BIGINT",
        RULE,
        "three",
    ):
        assert text in shown
    assert "four" not in shown
    assert run_prompt(front_end, typed()) == 0  # type: ignore[arg-type]
    history = tmp_path / "dpdb" / "history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["open to others", "a link", "a pipe", "a folder"])
def test_the_history_is_a_file_of_its_user_alone(
    kind: str, front_end: FrontEnd, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    history, other = tmp_path / "dpdb" / "history", tmp_path / "other"
    history.parent.mkdir()
    other.write_text("mine\n")
    make = {"open to others": lambda: history.write_text(""), "a link": lambda: history.symlink_to(other),
            "a pipe": lambda: os.mkfifo(history), "a folder": history.mkdir}  # fmt: skip
    make[kind]()
    if kind == "open to others":
        history.chmod(0o666)

    def seen(prompt: str) -> str:
        del prompt
        if kind == "open to others":
            assert stat.S_IMODE(history.stat().st_mode) == 0o600
        raise EOFError

    assert run_prompt(front_end, seen) == 0  # type: ignore[arg-type]
    assert other.read_text() == "mine\n"


def test_a_history_that_others_could_exchange_is_not_kept(
    front_end: FrontEnd, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link put in its place after it was looked at would be written through."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "dpdb").mkdir()
    (tmp_path / "dpdb").chmod(0o777)
    assert run_prompt(front_end, typed()) == 0  # type: ignore[arg-type]
    assert not (tmp_path / "dpdb" / "history").exists()


def test_a_relative_place_of_state_does_not_count(
    front_end: FrontEnd, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert run_prompt(front_end, typed()) == 0  # type: ignore[arg-type]
    assert not (tmp_path / "state").exists()
    assert (tmp_path / "home" / ".local" / "state" / "dpdb" / "history").exists()


def test_names_are_completed(front_end: FrontEnd) -> None:
    complete = completer(front_end)
    found = {text: [word for at in range(9) if (word := complete(text, at))] for text in ("dp_c", "ZIP", ".sch", "")}
    assert found == {"dp_c": ["dp_check", "dp_count"], "ZIP": ["zip_code"], ".sch": [".schema"], "": []}


@pytest.mark.heavy(family="long")
def test_an_interrupted_statement_does_not_end_the_prompt(
    front_end: FrontEnd, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("dpdb.release.measure_part.MeasurePart.answers", interrupted)
    run_prompt(front_end, typed("FROM dp_inconsistency('hospital', epsilon := 0.5);", ".budget"))  # type: ignore[arg-type]
    shown = capsys.readouterr().out
    assert "cancelled; what was debited stays spent" in shown
    assert "0.5 spent, 0.5 remaining" in shown


@pytest.mark.heavy(family="long")
def test_a_terminal_gets_a_prompt_with_history(hospital: Path, tmp_path: Path) -> None:
    pty = pytest.importorskip("pty", reason="no pseudo-terminals on this system")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "dpdb", "sql", str(hospital), "--constraints", RULE, "--budget", "1"],
        stdin=theirs, stdout=theirs, stderr=theirs,
        env=os.environ | {"XDG_STATE_HOME": str(tmp_path), "TERM": "dumb"},
    )  # fmt: skip
    os.close(theirs)
    os.write(ours, b"SELECT 40 +\n2 AS answer;\n.quit\n")
    shown = b""
    while True:
        try:
            read = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not read:
            break
        shown += read
    os.close(ours)
    assert process.wait(60) == 0
    assert b"    42" in shown
    assert "SELECT 40 + 2 AS answer;\n" in (tmp_path / "dpdb" / "history").read_text()


def test_counts_need_no_constraints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At epsilon 50 the noise is 0 but for a chance of 1e-21."""
    (tmp_path / "t.csv").write_text("id\n1\n2\n")
    asked = ["sql", str(tmp_path / "t.csv"), "--budget", "99", "--format", "csv"]
    assert main([*asked, "SELECT value FROM dp_count('t', epsilon := 50)"]) == 0
    assert capsys.readouterr().out.split() == ["value", "2.0"]
    assert main([*asked, "SELECT value FROM dp_inconsistency('t', epsilon := 50)"]) == 2
    assert "has no constraints to measure; give --constraints" in capsys.readouterr().err
