"""Cells of text in a declared type: NaN and what does not convert are NULL, `dpdb schema` and reading agree, and the
owner is told how many there are."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

import dpdb
from dpdb.doors.cli import main
from dpdb.opening import open_local_table
from dpdb.owner import exact_measures, propose_schema
from dpdb.owner.proposed_schema import CANDIDATES, MISSING

NAN = ["nan", "NaN", "NAN", "-nan", "+NaN", " nan ", "nan(1)"]


def written(path: Path, *columns: list[str]) -> Path:
    rows = zip(*columns, strict=True)
    head = ",".join(f"c{number}" for number in range(len(columns)))
    path.write_text("\n".join([head, *map(",".join, rows)]) + "\n")
    return path


def cells(source: Path, types: dict[str, str]) -> list[tuple[object, ...]]:
    with open_local_table(source, csv_schema=types) as table:
        return table.database.rows(f"SELECT * FROM {table.rows.scan.sql('duckdb')}")


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT", "DECIMAL(9,2)"])
def test_nan_in_text_is_null_in_every_spelling(kind: str, tmp_path: Path) -> None:
    numbers = [*NAN, "1.5"]
    for path in (
        written(tmp_path / "t.csv", numbers, ["x"] * len(numbers)),
        tmp_path / "t.jsonl",
    ):
        if path.suffix == ".jsonl":
            path.write_text("\n".join([*(json.dumps({"c0": cell}) for cell in numbers), '{"c0": NaN}']) + "\n")
        found = [row[0] for row in cells(path, {"c0": kind})]
        assert [float(str(value)) for value in found if value is not None] == [1.5]
        assert len(found) == len(numbers) + (path.suffix == ".jsonl")


def test_nan_in_keys_of_folders_is_null(tmp_path: Path) -> None:
    for key in ("NaN", "2"):
        (tmp_path / f"k={key}").mkdir()
        written(tmp_path / f"k={key}" / "t.csv", ["1"])
    assert sorted(cells(tmp_path, {"k": "DOUBLE"}), key=str) == [("1", 2.0), ("1", None)]


def test_in_columns_of_text_such_words_are_words_and_infinity_is_a_number(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", ["NaN", "NA", "inf"], ["inf", "-Infinity", "2"])
    assert cells(path, {"c1": "DOUBLE"}) == [("NaN", float("inf")), ("NA", float("-inf")), ("inf", 2.0)]
    assert cells(path, {"c0": "VARCHAR"})[0][0] == "NaN"


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("word", [*MISSING, "NaN", "N/A", "None"])
def test_what_schema_counts_as_missing_is_read_as_null(word: str, tmp_path: Path) -> None:
    """Of every type that is proposed; each column has one such word beside a value of the type."""
    values = ["1", "3000000000", "9223372036854775808", "-inf", "true", "2020-01-31", "2020-01-31 10:00:00",
              "2020-01-31 10:00:00+01", "10:00"]  # fmt: skip
    path = written(tmp_path / "t.csv", *([value, word, ""] for value in values))
    proposed = propose_schema(path)
    assert [column.type for column in proposed.columns] == [kind for kind, _, written in CANDIDATES if written is None]
    assert [column.missing for column in proposed.columns] == [1] * len(values)
    rows = cells(path, {column.name: column.type for column in proposed.columns})
    assert all(value is not None for value in rows[0])
    assert rows[1] == rows[2] == (None,) * len(values)


def test_schema_says_how_many_cells_of_a_type_would_be_null(tmp_path: Path) -> None:
    """An infinite date looks like nothing that is proposed, and is read as nothing, as the words are."""
    column = [*["2020-01-31"] * 5, "infinity", "n/a", "x"]
    path = written(tmp_path / "t.csv", column)
    [proposed] = propose_schema(path).columns
    assert proposed.note == "all but 2 of 7 cells are DATE; declared so, 3 are NULL"
    assert sum(row[0] is None for row in cells(path, {"c0": "DATE"})) == 3


def test_rules_see_no_nan(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", [*["NaN"] * 100, *["5"] * 20])
    counts = {
        rule: exact_measures(path, [rule], non_private=True, csv_schema={"c0": "DOUBLE"}).problematic
        for rule in ("NOT NULL(c0)", "CHECK (c0 <= 120)")
    }
    assert counts == {"NOT NULL(c0)": 100, "CHECK (c0 <= 120)": 0}


def test_the_owner_is_told_of_cells_that_have_no_value(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "t.csv", ["1", "secret", "", "NaN"], ["x", "y", "z", "z"], ["1", "2", "3", "4"])
    types = {"c0": "INTEGER", "c2": "INTEGER"}
    with caplog.at_level(logging.WARNING, "dpdb.owner"), dpdb.open(path, csv_schema=types, budget=1) as session:
        told = [record.getMessage() for record in caplog.records]
        assert len(told) == 1
        assert "column 'c0': 2 cells are no values of its type, so NULL" in told[0]
        assert "secret" not in told[0]
        assert "not_of_type" not in json.dumps(session.dp_count(epsilon=0.5).to_dict())
    found = exact_measures(path, ["c1 -> c2"], non_private=True, csv_schema=types)
    assert found.to_dict()["not_of_type"] == {"c0": 2}
    assert "not_of_type" not in exact_measures(path, ["c1 -> c2"], non_private=True).to_dict()
    exact = ["exact", str(path), "--constraints", "c1 -> c2", "--schema", "c0 INTEGER", "--non-private"]
    assert main(exact) == 0
    assert "\ncolumn 'c0': 2 cells are no values of its type, so NULL\n" in capsys.readouterr().out
    count = ["count", str(path), "--schema", "c0 INTEGER", "--epsilon", "1"]
    assert main(count) == 0
    out, err = capsys.readouterr()
    assert "c0" not in out + err
