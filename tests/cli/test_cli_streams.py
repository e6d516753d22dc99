"""Nothing that was paid for is lost where standard streams are full, closed or ASCII: it is kept first, then shown."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpdb.doors.cli import main
from dpdb.doors.jobs import read_results
from dpdb.ledger import Ledger

JOB = """\
name = "visits"
source = "t.parquet"
constraints = ["zip -> city"]
ledger = "t.ledger"
results = "results.duckdb"
[[release]]
name = "one"
measure = "repair"
epsilon = 0.1
gate = { repair = 1000000 }
[[release]]
name = "two"
measure = "count"
epsilon = 0.1
"""
MEASURE = ["measure", "t.parquet", "--constraints", "zip -> city", "--measure", "repair", "--epsilon", "0.1"]
COUNT = ["count", "t.parquet", "--epsilon", "0.1", "--where", "city = 'Zürich'"]
SQL = ["sql", "t.parquet", "--constraints", "zip -> city", "SELECT value, \"where\" FROM dp_count('t', epsilon := 0.1, "
       "where_clause := 'city = ''Zürich''')"]  # fmt: skip
RUN = ["run", "job.toml", "--run-id", "monday"]
SPENDING = {
    "measure": [*MEASURE, "--ledger", "t.ledger"],
    "measure json": [*MEASURE, "--ledger", "t.ledger", "--format", "json"],
    "measure by constraint": [*MEASURE, "--ledger", "t.ledger", "--each-constraint"],
    "count": [*COUNT, "--ledger", "t.ledger"],
    "run": RUN,
    "run json": [*RUN, "--format", "json"],
    **{f"sql {name}": [*SQL, "--ledger", "t.ledger", "--format", name] for name in ("table", "csv", "json", "parquet")},
}
NOTICE = "dpdb: no --ledger: nothing adds up what this command and others spend on this table\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = {"zip": ["1", "1", "2"] * 20, "city": ["Zürich", "Bern", "Genève"] * 20}
    pq.write_table(pa.table(rows), tmp_path / "t.parquet")
    Ledger.create(tmp_path / "t.ledger", 10).close()
    (tmp_path / "job.toml").write_text(JOB)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@contextmanager
def full(stream: str = "stdout") -> Iterator[None]:
    """A standard stream that takes nothing."""
    with (
        suppress(OSError),  # closing it tries once more
        open("/dev/full", "w", encoding="utf-8") as nowhere,  # noqa: PTH123
        pytest.MonkeyPatch.context() as patched,
    ):
        patched.setattr(f"sys.{stream}", nowhere)
        yield


def kept() -> list[dict[str, Any]]:
    """The answers in the ledger."""
    with Ledger.open("t.ledger") as ledger:
        assert all(entry.answered for entry in ledger.history())
        return [release for found in ledger.answers() for release in json.loads(found.answer)]


@pytest.mark.heavy
@pytest.mark.parametrize("command", SPENDING)
def test_an_answer_that_cannot_be_printed_is_in_the_ledger_and_named(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with full():
        assert main([*SPENDING[command], "--quiet"]) == 3
    lines = [line for line in capsys.readouterr().err.splitlines() if "gate" not in line]
    assert len(lines) == 1
    assert "No space left on device" in lines[0]
    assert "dpdb budget answers t.ledger --release ID" in lines[0].replace(os.getcwd() + "/", "")  # noqa: PTH109
    releases = kept()
    named = set(re.findall(r"[0-9a-f]{32}", lines[0]))
    assert named == {release["release_id"] for release in releases[: len(named)]}
    if command == "run":  # shown as they come: the first that cannot be shown is named, all are made
        assert len(read_results("results.duckdb")) == 2
        assert "results.duckdb has all of this run" in lines[0]
    else:
        assert len(named) == len(releases)


@pytest.mark.heavy
@pytest.mark.parametrize("command", [MEASURE, [*MEASURE, "--format", "json"], COUNT, [*SQL, "--budget", "1"]])
def test_without_a_ledger_it_goes_to_standard_error(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with full():
        assert main(command) == 3
    err = capsys.readouterr().err
    assert NOTICE in err
    last = err.splitlines()[-1]
    assert "kept by no ledger: standard error has" in last
    [release_id] = re.findall(r"[0-9a-f]{32}", last)
    assert "value" in err or "count where" in err
    if "json" in command:
        assert f'"release_id": "{release_id}"' in err


def test_what_cost_nothing_is_one_line_too(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (
        ["budget", "history", "t.ledger"],
        ["explain", "t.parquet", "--constraints", "zip -> city"],
        ["exact", "t.parquet", "--constraints", "zip -> city", "--non-private"],
        ["run", "job.toml", "--dry-run"],
    ):
        with full():
            assert main(command) == 3
        assert capsys.readouterr().err == "dpdb: standard output: No space left on device\n"


def test_a_gate_is_said_though_the_answer_cannot_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    command = [*MEASURE, "--ledger", "t.ledger", "--epsilon", "5", "--fail-above", "repair=1"]
    with full():
        assert main(command) == 3
    assert "gate failed: repair" in capsys.readouterr().err


def test_a_standard_error_that_takes_nothing_stops_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with full("stderr"):
        assert main([*MEASURE, "--rate"]) == 0
    assert "\nrepair " in capsys.readouterr().out


# -- new files ------------------------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.parametrize("command", [MEASURE, COUNT, SQL])
def test_out_is_opened_before_anything_is_spent(
    command: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "taken").write_text("mine")
    for out, says in (("taken", "not overwritten"), ("no/where", "No such file"), ("x" * 300, "too long"), ("", "")):
        assert main([*command, "--ledger", "t.ledger", "--out", out]) == 2
        err = capsys.readouterr().err
        assert says in err
        assert err.count("\n") == 1
    assert kept() == []
    assert (folder / "taken").read_text() == "mine"


@pytest.mark.heavy
@pytest.mark.parametrize("command", [[*MEASURE, "--format", "json"], COUNT, SQL])
def test_out_gets_the_answer(command: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--ledger", "t.ledger", "--out", "answer"]) == 0
    assert capsys.readouterr().out == ""
    assert (folder / "answer").read_text().strip()
    assert list(folder.glob(".*")) == []


def test_an_out_that_is_taken_meanwhile_loses_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "dpdb.doors.cli.texts.releases_text", lambda *_: (folder / "answer").write_text("another's") and "x"
    )
    assert main([*COUNT, "--ledger", "t.ledger", "--out", "answer"]) == 3
    assert "exists already" in capsys.readouterr().err
    assert (folder / "answer").read_text() == "another's"
    assert len(kept()) == 1


# -- streams of a process ---------------------------------------------------------------------------------------


def shell(command: list[str], redirection: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-m", "dpdb", *command],
        capture_output=True,
        check=False,
        env=os.environ | environment,
    )


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.heavy
@pytest.mark.parametrize("command", [COUNT, [*SQL, "--budget", "1"]])
def test_what_an_encoding_does_not_have_is_escaped(command: list[str], folder: Path) -> None:
    job = folder / "where.toml"  # in a file, since arguments are decoded by the locale, too
    job.write_text(JOB.replace('measure = "count"', 'measure = "count"\nwhere = "city = \'Zürich\'"'), encoding="utf-8")
    done = shell(["run", "where.toml", "--run-id", "ascii"], "", **ASCII)
    assert done.returncode == 0, done.stderr
    assert b"count where city = 'Z\\xfcrich'  " in done.stdout
    done = shell(command, "", **ASCII)
    assert done.returncode in (0, 2)  # the locale may not even decode the arguments
    assert done.stderr.count(b"\n") <= 2


@pytest.mark.heavy(family="spending")
def test_nothing_is_spent_if_nobody_can_read_the_answer(folder: Path) -> None:
    done = shell([*COUNT, "--ledger", "t.ledger"], ">&-")
    assert done.returncode == 2
    assert done.stderr == (b"dpdb: nobody reads standard output; nothing was spent: give --out FILE, or > /dev/null\n")
    assert kept() == []
    assert shell([*COUNT, "--ledger", "t.ledger", "--out", "answer"], ">&-").returncode == 0
    assert len(kept()) == 1


@pytest.mark.heavy(family="long")
def test_a_job_needs_no_standard_output(folder: Path) -> None:
    done = shell(RUN, ">&- 2>&- <&-")
    assert done.returncode == 0
    assert len(read_results(folder / "results.duckdb")) == 2
    assert len(kept()) == 2


def test_a_closed_standard_input_is_one_line() -> None:
    for command in (
        ["sql", "t.parquet", "--constraints", "zip -> city", "--budget", "1"],
        ["overlap", "-", "--schema", "a INT"],
    ):
        done = shell(command, "<&-")
        assert done.returncode == 2
        assert (
            done.stderr == b"dpdb: standard input is closed: give a statement or --file\n" or b"closed" in done.stderr
        )
        assert done.stderr.count(b"\n") == 1


@pytest.mark.heavy(family="spending")
def test_a_reader_that_has_gone_before_the_debit_is_noticed() -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as gone:
        process = subprocess.run(
            [sys.executable, "-m", "dpdb", *COUNT, "--ledger", "t.ledger"],
            stdout=gone,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert process.returncode == 2
    assert kept() == []


def test_a_reader_that_goes_after_the_debit_loses_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read, write = os.pipe()
    with os.fdopen(write, "w", encoding="utf-8") as pipe:
        monkeypatch.setattr("sys.stdout", pipe)
        monkeypatch.setattr("dpdb.doors.cli.texts.releases_text", lambda *_: os.close(read) or "answer")
        assert main([*COUNT, "--ledger", "t.ledger"]) == 3
    assert "Broken pipe" in capsys.readouterr().err
    assert len(kept()) == 1


@pytest.mark.heavy(family="long")
def test_a_reader_that_has_read_enough_is_no_error() -> None:
    """`dpdb explain ... | head -1`."""
    command = [sys.executable, "-m", "dpdb", "explain", "t.parquet", "--constraints", "zip -> city"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.wait() == 0
        assert process.stderr.read() == b""


@pytest.mark.parametrize(("options", "terminal", "said"), [({}, True, 1), ({"quiet": True}, True, 0), ({}, False, 0)])
def test_compiling_is_said_on_a_terminal(
    options: dict[str, bool], terminal: bool, said: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from argparse import Namespace

    from dpdb.compiled import object_file as progress
    from dpdb.doors.cli.main import _say_when_compiling_takes_long

    monkeypatch.setattr(progress, "_tellers", [])
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal, raising=False)
    _say_when_compiling_takes_long(Namespace(**options))
    assert len(progress._tellers) == said
