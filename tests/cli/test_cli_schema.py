"""`dpdb schema` proposes types for the owner to confirm; numbers in options are written in ASCII."""

from __future__ import annotations

import argparse
import json
import tomllib
from pathlib import Path

import duckdb
import pytest

from dpdb.doors.cli import main
from dpdb.doors.cli.main import build_parser
from dpdb.doors.cli.options import csv_schema

COLUMNS = {
    "small": ("INTEGER", ["1", "-7", "0", "+3", "n/a", ""]),
    "large": ("BIGINT", ["5000000000", "1", "2", "3", "4", "5"]),
    "huge": ("HUGEINT", ["9223372036854775808", "1", "2", "3", "4", "5"]),
    "real": ("DOUBLE", ["1.5", "2e3", ".5", "7", "NULL", "-"]),
    "truth": ("BOOLEAN", ["true", "FALSE", "True", "", "", "?"]),
    "day": ("DATE", ["2020-01-31", "1999-12-31", "", "", "", ""]),
    "moment": ("TIMESTAMP", ["2020-01-31 10:00:00", "2020-01-31T10:00", "", "", "", ""]),
    "zoned": ("TIMESTAMPTZ", ["2020-01-31 10:00:00+01", "2020-01-31T10:00:00Z", "", "", "", ""]),
    "hour": ("TIME", ["10:00", "23:59:59", "", "", "", ""]),
    "code": ("VARCHAR", ["007", "7", "12", "13", "14", "15"]),
    "no day": ("VARCHAR", ["2020-02-31", "2020-01-01", "2020-01-01", "2020-01-01", "2020-01-01", "2020-01-01"]),
    "word": ("VARCHAR", ["Na", "a", "b", "c", "d", "e"]),
    "nothing": ("VARCHAR", [""] * 6),
    "order": ("INTEGER", ["1", "2", "3", "4", "5", "6"]),
    'a "b"': ("INTEGER", ["1", "2", "3", "4", "5", "6"]),
}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    rows = zip(*(cells for _, cells in COLUMNS.values()), strict=True)
    head = ",".join('"' + name.replace('"', '""') + '"' for name in COLUMNS)
    path.write_text("\n".join([head, *map(",".join, rows)]) + "\n")
    return path


@pytest.mark.heavy(family="long")
def test_types_are_proposed_and_may_be_pasted(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["schema", str(table), "--format", "json"]) == 0
    proposed = json.loads(capsys.readouterr().out)
    assert {column["name"]: column["type"] for column in proposed["columns"]} == {n: t for n, (t, _) in COLUMNS.items()}
    assert {column["name"]: column["missing"] for column in proposed["columns"] if column["missing"]} == {
        "small": 1, "real": 2, "truth": 1,
    }  # fmt: skip
    notes = {column["name"]: column["note"] for column in proposed["columns"] if column["note"]}
    assert set(notes) == {"code", "no day", "nothing", "word"}
    assert (
        notes["word"] == "1 of 6 cells are words such as NA: as text they are values, not NULL, unless it is "
        "declared as VARCHAR NULLS 'NA', or * (nulls ...) names them"
    )
    assert notes["no day"] == "all but 1 of 6 cells are DATE; declared so, 1 are NULL"
    declared = {name: kind for name, (kind, _) in COLUMNS.items() if kind != "VARCHAR"}
    assert tomllib.loads(proposed["toml"])["schema"] == declared
    (tmp_path / "dpdb.toml").write_text(proposed["toml"])
    monkeypatch.chdir(tmp_path)
    count = ["count", str(table), "--epsilon", "1", "--where", "small < 3"]
    assert main(count) == 0  # refused where `small` is text
    assert "dpdb.toml sets schema" in capsys.readouterr().err
    (tmp_path / "dpdb.toml").write_text("[schema]\nsmall = 1")
    assert main(count) == 2
    assert "[schema]: column 'small': expected a SQL type as text, got 1" in capsys.readouterr().err
    (tmp_path / "dpdb.toml").unlink()
    pasted = csv_schema(argparse.Namespace(schema=proposed["schema"]))
    assert pasted is not None
    assert set(pasted) == set(declared)
    count = ["count", str(table), "--epsilon", "1", "--schema", proposed["schema"], "--quiet"]
    assert main([*count, "--where", 'small < 5 AND "order" > 1 AND "a ""b""" = 1 AND day > \'2000-01-01\'']) == 0


@pytest.mark.heavy(family="privacy")
def test_the_text_says_that_it_is_not_private(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", str(table)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("NOT PRIVATE")
    assert "\n--schema 'small INTEGER, large BIGINT, " in out
    assert '\n[schema]\nsmall = "INTEGER"\n' in out
    assert "word" not in out.split("--schema")[1]


@pytest.mark.heavy(family="long")
def test_lines_that_are_bad_are_told_to_the_owner(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,b\n1,2\n3\n4,5,6\n\xe9,1\n\xc3\xa9,2\n\xc3\xa9,3\n")
    assert main(["schema", str(tmp_path / "t.csv")]) == 0
    out = capsys.readouterr().out
    assert "column 'a': 1 cell is no text in its encoding, so NULL" in out
    assert "t.csv: of 6 rows, 1 line with too few cells (those that are missing are NULL), 1 line with more" in out
    assert "; the first is line 3\n" in out


def test_a_source_with_types_needs_none(hospital: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with duckdb.connect(str(tmp_path / "w.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT '1' AS a")
    for source in (hospital, tmp_path / "w.duckdb"):
        assert main(["schema", str(source)]) == 0
        assert "nothing to declare" in capsys.readouterr().out
    assert main(["schema", str(tmp_path / "missing.csv")]) == 2


# -- numbers in options -------------------------------------------------------------------------------------------

# Digits of another script, an underscore, a blank, too many digits: all of which Python's int or float take.
ODD = ["\uff11", "1_0", " 1", "nan", "inf", "1" * 5_000, "1e999", ""]
COMMANDS = {
    "--row-bound": ["measure", "x.csv", "--constraints", "a -> b", "--epsilon", "1"],
    "--max-degree": ["measure", "x.csv", "--constraints", "a -> b", "--epsilon", "1"],
    "--max-rows": ["measure", "x.csv", "--constraints", "a -> b", "--epsilon", "1", "--unit", "a"],
    "--rows-per-person": ["count", "x.csv"],
    "--confidence": ["count", "x.csv"],
    "--threads": ["count", "x.csv"],
    "--time-limit": ["exact", "x.csv", "--constraints", "a -> b"],
    "--alpha": ["noise", "rnoise", "x.csv", "--constraints", "a -> b", "--out", "y.csv"],
    "--seed": ["noise", "rnoise", "x.csv", "--constraints", "a -> b", "--out", "y.csv"],
    "--delta": ["budget", "create", "x.ledger", "--epsilon", "1"],
    "--at-delta": ["budget", "show", "x.ledger"],
    "--rows": ["plan", "x.csv", "--constraints", "a -> b", "--error-rate", "0.1"],
    "--deadline": ["overlap", "x.sql", "--schema", "a INTEGER"],
}


@pytest.mark.heavy
@pytest.mark.parametrize("option", COMMANDS)
def test_numbers_of_options_are_written_in_ascii_digits(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    for odd in ODD:
        with pytest.raises(SystemExit) as caught:
            build_parser().parse_args([*COMMANDS[option], option, odd])
        assert caught.value.code == 2
        assert f"argument {option}: " in capsys.readouterr().err


@pytest.mark.parametrize("odd", ["\uff11", "1_0", "\u0661.\u0665"])
def test_amounts_are_written_in_ascii_digits(odd: str, hospital: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["count", str(hospital), "--epsilon", odd]) == 2
    assert main(["measure", str(hospital), "--constraints", "zip_code -> city", "--epsilon", "1", "--measure", "repair",
                 "--fail-above", f"repair={odd}"]) == 2  # fmt: skip
    assert capsys.readouterr().err.count("\n") == 2


@pytest.mark.parametrize(("option", "value"), [("--threads", "0"), ("--threads", "1025"), ("--threads", "-1"),
                                               ("--row-bound", "-1"), ("--row-bound", "0")])  # fmt: skip
def test_bounds_of_numbers(option: str, value: str, hospital: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["measure", str(hospital), "--constraints", "zip_code -> city", "--epsilon", "1", option, value]
    assert main(command) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "must be a whole number" in err
