"""Odd arguments and files: exit code 2 and one printable line, nothing spent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpdb.doors.cli import main
from dpdb.ledger import Ledger

LONG = "x" * 5_000
DIGITS = "9" * 5_000
MEASURE = ["measure", "t.parquet", "--constraints", "a -> b", "--epsilon", "1"]
SQL = ["sql", "t.parquet", "--constraints", "a -> b", "--budget", "1"]
EXACT = ["exact", "t.parquet", "--constraints", "a -> b", "--non-private"]
JOB = """
name = "j"
source = "{0}"
constraints = ["a -> b"]
ledger = "{0}"
results = "{0}"
[[release]]
name = "r"
"""
COLUMNS = ["--schema", "a INTEGER"]
ODD = {
    "no command": [],
    "unknown command": ["mesure"],
    "unknown option": [*MEASURE, "--ledgr", "x"],
    "long source": ["measure", LONG, "--constraints", "a -> b", "--epsilon", "1"],
    "long folder": ["measure", "/".join(["x" * 200] * 30), "--constraints", "a -> b", "--epsilon", "1"],
    "long constraints": ["measure", "t.parquet", "--constraints", LONG, "--epsilon", "1"],
    "long ledger": [*MEASURE, "--ledger", LONG],
    "long run id": [*MEASURE, "--ledger", "t.ledger", "--run-id", LONG],
    "long out": [*MEASURE, "--out", LONG],
    "long temporary folder": [*MEASURE, "--temp-directory", LONG],
    "long owner log": [*MEASURE, "--owner-log", LONG],
    "long table": [*MEASURE, "--table", LONG],
    "long schema": [*MEASURE, "--schema", f"{LONG} INTEGER"],
    "long where": [*MEASURE, "--where", f"{LONG} = 1"],
    "long keys": [*MEASURE, "--by", "a", "--keys", LONG],
    "long unit": [*MEASURE, "--unit", LONG, "--max-rows", "1"],
    "long measure": [*MEASURE, "--measure", LONG],
    "long gate": [*MEASURE, "--fail-above", f"{LONG}=1"],
    "long gate number": [*MEASURE, "--fail-above", f"repair={DIGITS}"],
    "long job": ["run", LONG],
    "long results": ["report", LONG, "--out", "x.html"],
    "long report": ["report", "results.duckdb", "--out", f"{LONG}.html"],
    "long noise": ["noise", "rnoise", "t.parquet", "--constraints", "a -> b", "--alpha", "0.1", "--out", f"{LONG}.csv"],
    "long overlap": ["overlap", LONG, *COLUMNS],
    "long budget": ["budget", "show", LONG],
    "long new budget": ["budget", "create", LONG, "--epsilon", "1"],
    "long file": [*SQL, "--file", LONG],
    "long public": [*SQL, "--public", f"p={LONG}", "SELECT 1"],
    "long violations": [*EXACT, "--violations", f"{LONG}.csv"],
    "long edges": [*EXACT, "--materialize", LONG],
    "many digits": [*MEASURE, "--max-rows", DIGITS],
    "many digits of epsilon": ["measure", "t.parquet", "--constraints", "a -> b", "--epsilon", DIGITS],
    "many digits of rows": ["plan", "t.parquet", "--constraints", "a -> b", "--rows", DIGITS, "--error-rate", "0.1"],
    "many digits of a weight": ["overlap", "queries.sql", *COLUMNS, "--weights", DIGITS],
    "wide digits": ["measure", "t.parquet", "--constraints", "a -> b", "--epsilon", "\uff11"],
    "arabic digits": [*MEASURE, "--confidence", "\u0660.\u0669"],
    "arabic rows": [*MEASURE, "--rows-per-person", "\u0663"],
    "wide threads": [*MEASURE, "--threads", "\uff12"],
    "wide gate": [*MEASURE, "--fail-above", "repair=\uff11"],
    "wide budget": ["budget", "create", "new.ledger", "--epsilon", "\uff11"],
    "wide rho": ["count", "t.parquet", "--rho", "\uff11"],
    "no threads": [*MEASURE, "--threads", "0"],
    "fewer threads": [*MEASURE, "--threads", "-3"],
    "a million threads": [*MEASURE, "--threads", "1000000"],
    "two lines": [*MEASURE, "--table", "a\nb"],
    "escape": [*MEASURE, "--table", "\x1b[31m"],
    "deep parentheses": [*MEASURE, "--where", "(" * 20_000 + "a = 1" + ")" * 20_000],
    "deep not": [*MEASURE, "--where", "NOT " * 20_000 + "a = 1"],
    "deep constraint": ["measure", "t.parquet", "--constraints", "not(" * 5_000 + ")" * 5_000, "--epsilon", "1"],
    "deep toml": ["run", "deep.toml"],
    "deep toml tables": ["run", "tables.toml"],
    "toml with a null byte": ["run", "null.toml"],
    "toml that is long": ["run", "long.toml"],
    "toml that is a folder": ["run", "."],
    "binary toml": ["run", "t.parquet"],
    "overlap of a folder": ["overlap", ".", *COLUMNS],
    "deep overlap": ["overlap", "deep.sql", *COLUMNS],
    "source with a glob that is broken": ["count", "[", "--epsilon", "1"],
    "schema that is SQL": [*MEASURE, "--schema", "a INTEGER); DROP TABLE t; --"],
    "deep schema": [*MEASURE, "--schema", f"a {'STRUCT(a ' * 3_000}INTEGER{')' * 3_000}"],
    "empty source": ["count", "", "--epsilon", "1"],
    "empty ledger": [*MEASURE, "--ledger", ""],
    "empty out": [*MEASURE, "--out", ""],
    "empty keys": [*MEASURE, "--by", "a", "--keys", ""],
    "keys with a quote": [*MEASURE, "--by", "a", "--keys", '"x'],
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pq.write_table(pa.table({"a": [1, 1, 2], "b": [1, 2, 3]}), tmp_path / "t.parquet")
    Ledger.create(tmp_path / "t.ledger", 10).close()
    (tmp_path / "queries.sql").write_text("a = 1\n")
    (tmp_path / "deep.sql").write_text("(" * 20_000 + "a = 1" + ")" * 20_000)
    (tmp_path / "deep.toml").write_text(f"name = {'[' * 50_000}{']' * 50_000}")
    (tmp_path / "tables.toml").write_text(f"[{'.'.join(['a'] * 50_000)}]\nb = 1")
    (tmp_path / "null.toml").write_text(JOB.format("t\\u0000.parquet"))
    (tmp_path / "long.toml").write_text(JOB.format(LONG))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def code_of(arguments: list[str]) -> int:
    try:
        return main(arguments)
    except SystemExit as left:  # argparse
        return int(left.code or 0)


@pytest.mark.heavy
@pytest.mark.parametrize("case", ODD)
def test_odd_arguments_are_one_line_and_cost_nothing(
    case: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(folder.iterdir())
    assert code_of(ODD[case]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("dpdb: ")
    assert err.count("\n") == 1
    assert err.rstrip("\n").isprintable()
    assert sorted(folder.iterdir()) == before
    with Ledger.open("t.ledger") as ledger:
        assert ledger.summary().releases == 0


# source, option, constraints, epsilon, where, ledger, run id
@pytest.mark.heavy
@pytest.mark.parametrize("place", [1, 2, 4, 6, 8, 10, 12])
def test_bytes_that_are_no_text_are_refused(place: int) -> None:
    words = [b"measure", b"t.parquet", b"--constraints", b"a -> b", b"--epsilon", b"1", b"--where", b"a = 1"]
    words += [b"--by", b"a", b"--ledger", b"t.ledger", b"--run-id", b"monday"]
    words[place if place == 1 else place - 1 if place % 2 else place] += b"\xff\xfe"
    done = subprocess.run([os.fsencode(sys.executable), b"-m", b"dpdb", *words], capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"Traceback" not in done.stderr
