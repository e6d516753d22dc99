"""`dpdb explain` says for which rows a ledger charges, and what was not understood and is charged in full."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpdb
from dpdb.accounting import Ledger
from dpdb.cli import main
from dpdb.session.explain import explain

FD = "zip -> city"
SCHEMA = pa.schema([("zip", pa.string()), ("city", pa.string()), ("age", pa.int64()), ("woken", pa.time64("us"))])


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.Table.from_pylist([{"zip": "1", "city": "a", "age": 70, "woken": None}], SCHEMA), path)
    return str(path)


@pytest.mark.parametrize(
    ("where", "rows", "notes"),
    [
        (None, "every row", []),
        ("age >= 65 AND zip = '1'", "age >= 65 and zip = '1'", []),
        ("age IN (1, 2) OR age IS NULL", "(age = 1 or age = 2 or age is null)", []),
        ("age > 3 AND age < 2", "no row", []),
        ("zip < city", "every row", ["`zip < city` is not understood, so it is taken to cover every row"]),
        ("zip < city AND age = 1", "age = 1", ["`zip < city` is not understood, so it is taken to cover every row"]),
        ("zip < city OR age = 1", "every row", ["`zip < city` is not understood, so it is taken to cover every row"]),
        (
            "zip LIKE '9%' AND age = 1",
            "age = 1 and zip is not null",
            ["a pattern on column zip is taken to cover all its values except NULL"],
        ),
        (
            "woken > '12:00:00'",
            "woken is not null",
            ["what '12:00:00' means on column woken is not certain, so it covers all its values"],
        ),
    ],
)
def test_charged_rows_in_words(where: str | None, rows: str, notes: list[str], source: str) -> None:
    charged = explain(source, FD, where=where)["charged"]
    assert (charged["rows"], charged["notes"], charged["every_row"]) == (rows, notes, rows == "every row")


def test_groups_are_charged_together_and_boxes_are_per_column(source: str) -> None:
    explained = explain(source, FD, where="age = 1 OR zip < '3'", by="city", keys=["x", "y"])
    words = "(city = 'x' or city = 'y')"
    assert explained["where"] == "(age = 1 OR zip < '3') AND \"city\" IN ('x', 'y')"
    boxes = explained["charged"]["boxes"]
    assert len(boxes) == 2
    assert all(box["city"] == words.strip("()") for box in boxes)
    assert {name for box in boxes for name in box} == {"age", "zip", "city"}


def test_the_ledger_charges_what_explain_says(source: str, tmp_path: Path) -> None:
    path = tmp_path / "t.ledger"
    Ledger.create(path, 5).close()
    clauses = ["age >= 65", "zip < city", "zip < city AND age = 1", "woken > '12:00:00'", "age = 1 OR zip = 'x'"]
    with dpdb.open(source, constraints=FD, ledger=path) as session:
        for where in clauses:
            session.dp_count(1, where=where)
    with Ledger.open(path) as ledger:
        assert [entry.rows for entry in ledger.history()] == [
            explain(source, FD, where=where)["charged"]["rows"] for where in clauses
        ]


def test_the_command_says_it_and_reads_no_row(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(source)
    content = file.read_bytes()
    footer = 8 + int.from_bytes(content[-8:-4], "little")
    file.write_bytes(content[:4] + bytes(len(content) - 4 - footer) + content[-footer:])  # no row is left to be read
    with pytest.raises(dpdb.DpdbError), dpdb.open(source, constraints=FD) as session:
        session.dp_inconsistency()
    explain_it = ["explain", source, "--constraints", FD]
    assert main([*explain_it, "--where", "zip < city OR age = 1"]) == 0
    out = capsys.readouterr().out
    assert "a ledger charges: every row: the slice does not lower the charge\n   `zip < city` is not understood" in out
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
