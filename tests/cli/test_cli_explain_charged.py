"""`dpdb explain` says for which rows a ledger charges, and what was not understood and is charged in full."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

import dpdb
from dpdb.doors.cli import main
from dpdb.ledger import Ledger
from dpdb.release.ask import Ask
from dpdb.release.explain import explain

FD = "zip -> city"
ROW = "SELECT '1' AS zip, 'a' AS city, 70::BIGINT AS age, NULL::TIME AS woken, NULL::INTERVAL AS napped"
COLUMNS = "a comparison of columns zip and city is taken to cover all their values except NULL"


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "t.parquet"
    duckdb.connect().execute(f"COPY ({ROW}) TO '{path}' (FORMAT parquet)")
    return str(path)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("where", "rows", "notes"),
    [
        (None, "every row", []),
        ("age >= 65 AND zip = '1'", "age >= 65 and zip = '1'", []),
        ("age IN (1, 2) OR age IS NULL", "(age = 1 or age = 2 or age is null)", []),
        ("true", "every row", []),
        ("age = 1 OR NOT false", "every row", []),
        ("zip < city", "city is not null and zip is not null", [COLUMNS]),
        ("zip < city AND age = 1", "age = 1 and city is not null and zip is not null", [COLUMNS]),
        ("age < 3 OR age >= 3 OR age IS NULL", "every row", []),
        (
            "zip LIKE '9%' AND age = 1",
            "age = 1 and zip is not null",
            ["a pattern on column zip is taken to cover all its values except NULL"],
        ),
        (
            "napped > '1 hour'",
            "napped is not null",
            ["the order of INTERVAL is not modelled, so column napped is covered with all its values"],
        ),
        (
            "age > 1.00000000000000000000001",
            "age >= 0.9999999999999998",
            ["column age is compared with '1.00000000000000000000001' as DOUBLE, so its neighbours are covered"],
        ),
        ("woken > '12:00'", "woken > '12:00:00.000000'", []),
    ],
)
def test_charged_rows_in_words(where: str | None, rows: str, notes: list[str], source: str) -> None:
    charged = explain(source, FD, Ask("all", where=where, epsilon=1))["charged"]
    assert (charged["rows"], charged["notes"], charged["every_row"]) == (rows, notes, rows == "every row")


@pytest.mark.heavy(family="spending")
def test_groups_are_charged_together_and_boxes_are_per_column(source: str) -> None:
    explained = explain(source, FD, Ask("all", where="age = 1 OR zip < '3'", by="city", keys=["x", "y"], epsilon=1))
    words = "(city = 'x' or city = 'y')"
    assert explained["where"] == "(age = 1 OR zip < '3') AND \"city\" IN ('x', 'y')"
    boxes = explained["charged"]["boxes"]
    assert len(boxes) == 2
    assert all(box["city"] == words.strip("()") for box in boxes)
    assert {name for box in boxes for name in box} == {"age", "zip", "city"}


@pytest.mark.heavy(family="spending")
def test_the_ledger_charges_what_explain_says(source: str, tmp_path: Path) -> None:
    path = tmp_path / "t.ledger"
    Ledger.create(path, 5).close()
    clauses = ["age >= 65", "zip < city", "zip < city AND age = 1", "woken > '12:00:00'", "age = 1 OR zip = 'x'"]
    with dpdb.open(source, constraints=FD, ledger=path) as session:
        for where in clauses:
            session.dp_count(1, where=where)
    with Ledger.open(path) as ledger:
        assert [entry.rows for entry in ledger.history()] == [
            explain(source, FD, Ask("all", where=where, epsilon=1))["charged"]["rows"] for where in clauses
        ]


@pytest.mark.heavy(family="alone")
def test_the_command_says_it_and_reads_no_row(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(source)
    content = file.read_bytes()
    footer = 8 + int.from_bytes(content[-8:-4], "little")
    file.write_bytes(content[:4] + bytes(len(content) - 4 - footer) + content[-footer:])  # no row is left to be read
    with pytest.raises(dpdb.DpdbError), dpdb.open(source, constraints=FD) as session:
        session.dp_inconsistency(epsilon=1)
    explain_it = ["explain", source, "--constraints", FD]
    assert main([*explain_it, "--where", "zip LIKE '9%' OR zip IS NULL"]) == 0
    out = capsys.readouterr().out
    assert "a ledger charges: every row: the slice does not lower the charge\n   a pattern on column zip" in out
    assert main([*explain_it, "--where", "age > 3 AND age < 2"]) == 2
    assert "selects no row" in capsys.readouterr().err
    assert main([*explain_it, "--where", "age >= 65", "--by", "zip", "--keys", "1,2"]) == 0
    assert "a ledger charges: age >= 65 and (zip = '1' or zip = '2')\n" in capsys.readouterr().out
    assert main(explain_it) == 0
    assert "a ledger charges: every row\n" in capsys.readouterr().out
    assert main([*explain_it, "--by", "zip"]) == 2
    assert "go together" in capsys.readouterr().err
    assert main([*explain_it, "--unit", "zip", "--max-rows", "2", "--format", "json"]) == 0
    unit = json.loads(capsys.readouterr().out)["unit"]
    assert "QUALIFY" in unit["sql"]
    assert "70" not in unit["sql"]  # the one row's age
