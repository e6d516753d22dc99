"""What was not read of files is told to their owner, in words and by column and file, and to nobody else."""

from __future__ import annotations

import csv
import json
import logging
import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

import dpdb
from dpdb.doors.cli import main
from dpdb.errors import OWNER_LOG, SourceError
from dpdb.opening import open_local_table
from dpdb.owner import ExactMeasures, exact_measures, propose_schema

RULE = "a -> b"
TYPES = {"a": "INTEGER", "b": "VARCHAR"}


def exact(path: Path, rule: str = RULE, types: dict[str, str] | None = None) -> ExactMeasures:
    return exact_measures(path, [rule], non_private=True, measures=["problematic"], csv_schema=types)


def told(path: Path, types: dict[str, str] | None = None) -> list[str]:
    found = exact(path, types=types).faults
    return [] if found is None else found.words()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files; by hand: of a, `x` and `zz` are no whole numbers, of b two cells are not UTF-8."""
    folder = tmp_path / "two"
    folder.mkdir()
    (folder / "a.csv").write_bytes(b"a,b\n1,2\nx,caf\xe9\n1,2,3\n")
    (folder / "b.csv").write_bytes(b'a,b\n4\n1,y\n"q"z,4\nzz,\xe9\n')
    return folder


WORDS = [
    "column 'a': 2 cells are no values of its type, so NULL ({0}/a.csv 1, {0}/b.csv 1)",
    "column 'b': 2 cells are no text in its encoding, so NULL ({0}/a.csv 1, {0}/b.csv 1)",
    "{0}/a.csv: of 3 rows, 1 line with more cells than the first line (rows of NULLs); the first is line 4",
    "{0}/b.csv: of 4 rows, 1 line with too few cells (those that are missing are NULL), 1 line with quotes out of "
    "place (rows of NULLs); the first is line 2",
]


@pytest.mark.heavy(family="long")
def test_each_column_and_file_is_told_in_words(
    folder: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    words = [text.format(folder) for text in WORDS]
    with caplog.at_level(logging.WARNING, "dpdb.owner"):
        OWNER_LOG.addHandler(caplog.handler)
        found = exact(folder, types={"a": "INTEGER"})
        OWNER_LOG.removeHandler(caplog.handler)
    assert found.faults is not None
    assert found.faults.words() == words
    assert f"{folder}: not read: {'; '.join(words)}" in [record.getMessage() for record in caplog.records]
    assert (found.rows, found.judged) == (7, {RULE: 2})
    command = ["exact", str(folder), "--constraints", RULE, "--schema", "a INTEGER", "--non-private"]
    assert main(command) == 0
    assert capsys.readouterr().out.endswith(
        "\n".join(["", *words, f"{RULE}: judged 2 of 7 rows, those without NULL in its columns", ""])
    )
    assert main([*command, "--format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["not_of_type"], shown["not_utf8"], shown["judged"]) == ({"a": 2}, {"b": 2}, {RULE: 2})
    assert [(file["file"], file["rows"], file["first_line"]) for file in shown["files"]] == [
        (f"{folder}/a.csv", 3, 4),
        (f"{folder}/b.csv", 4, 2),
    ]
    assert main(["schema", str(folder)]) == 0
    out = capsys.readouterr().out
    assert all(text in out for text in words[2:])
    assert "encoding windows-1252" in out  # in which both cells are text


def test_nobody_else_is_told(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = tmp_path / "suite.txt"
    rules.write_text(f"{RULE}  fail above 100\n")
    schema, ledger = ["--schema", "a INTEGER"], str(tmp_path / "t.ledger")
    assert main(["budget", "create", ledger, "--epsilon", "10"]) == 0
    for command in (
        ["measure", str(folder), "--constraints", RULE, "--epsilon", "1", "--ledger", ledger],
        ["count", str(folder), "--epsilon", "1", "--format", "json", "--ledger", ledger],
        ["check", str(folder), str(rules), "--epsilon", "1", "--ledger", ledger],
    ):
        main([*command, *schema])
        out, err = capsys.readouterr()
        assert out
        for word in ("NULL", "UTF-8", "quotes", "judged", "too few", "not_of_type", "no value"):
            assert word not in out + err, command


NO_ROW: dict[str, tuple[str, bytes]] = {
    "a JSON array": ("t.jsonl", b'[{"a": 1, "b": "x"},\n{"a": 1, "b": "y"}]\n'),
    "JSON in Latin-1": ("t.jsonl", b'{"a": 1, "b": "caf\xe9"}\n\n{"a": 1, "b": "na\xefve"}\n'),
    "numbers": ("t.jsonl", b"1\n2"),
    "longer lines": ("t.csv", b"a,b\n1,2,3\n1,2,3,4\n"),
    "quotes out of place": ("t.csv", b'a,b\n"x"y,1\n"x"z,1\n'),
    "one line": ("t.csv", b"a,b\n1,2,3"),
}


@pytest.mark.heavy
@pytest.mark.parametrize("name", NO_ROW)
def test_a_file_of_which_no_line_is_a_row_is_refused(name: str, tmp_path: Path) -> None:
    file, text = NO_ROW[name]
    (tmp_path / file).write_bytes(text)
    with pytest.raises(SourceError, match=r"t\.\w+: no line of it is a row: .*the owner's log"):
        dpdb.open(tmp_path / file, csv_schema=TYPES)
    if file.endswith("jsonl"):
        with pytest.raises(SourceError, match="no line of it is a row: JSON lines are one object each"):
            propose_schema(tmp_path / file)
    more = b'{"a": 1}\n' if file.endswith("jsonl") else b"1,2\n"
    (tmp_path / file).write_bytes(text.removesuffix(b"\n") + b"\n" + more)
    with open_local_table(tmp_path / file, csv_schema=TYPES) as table:
        assert table.faults


def test_it_is_refused_in_a_folder_too(folder: Path) -> None:
    (folder / "c.csv").write_bytes(b"a,b\n1,2,3\n")
    with pytest.raises(SourceError, match=r"two: of one of its files no line is a row: ") as caught:
        dpdb.open(folder)
    assert "c.csv" not in str(caught.value)


@pytest.mark.heavy
@pytest.mark.parametrize("file", ["t.csv", "t.jsonl", "t.jsonl blank"])
def test_an_empty_file_is_a_table_of_no_rows(file: str, tmp_path: Path) -> None:
    path = tmp_path / file.removesuffix(" blank")
    path.write_bytes(b"a,b\n" if path.suffix == ".csv" else b" \n\n" if "blank" in file else b"")
    assert exact(path, types=TYPES).rows == 0
    assert told(path, TYPES) == []


def test_cells_of_sqlite_are_told_by_their_columns(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE t (a INTEGER, b TEXT, m DECIMAL(9, 5))")
        connection.executemany(
            "INSERT INTO t VALUES (?, CAST(? AS TEXT), ?)",
            [(1, b"\xe9", 0.00001), (12.7, b"x", 1.23), ("x", b"y", 1e-7)],
        )
    assert told(tmp_path / "t.sqlite") == [
        "column 'a': 2 cells are no values of its type, so NULL",
        "column 'm': 1 cell is no value of its type, so NULL",
        "column 'b': 1 cell is no text in its encoding, so NULL",
    ]


def messy(path: Path) -> None:
    """5,000 orders as programs write them: three kinds of dates, thousands with commas, notes of two lines."""
    rng = random.Random(42)
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        out = csv.writer(file)
        out.writerow(["id", "order date", "ship_date", "qty", "total", "note", ""])
        for number in range(5_000):
            day, month, shown = rng.randint(1, 25), rng.randint(1, 12), rng.random()
            ordered = (
                f"2025-{month:02}-{day:02}" if shown < 0.8 else f"{day:02}.{month:02}.2025"
                if shown < 0.95 else f"{month}/{day}/25"
            )  # fmt: skip
            shipped = f"{2024 if rng.random() < 0.01 else 2025}-{month:02}-{day + rng.randint(0, 3):02}"
            quantity = rng.choice([str(rng.randint(-2, 20)), f"{rng.randint(1, 9)}.0", "", "0x1F"])
            note = rng.choice(["", "ring twice", "line one\nline two", 'said "hello", left', "café"])
            out.writerow([number, ordered, shipped, quantity, f"{rng.uniform(1, 9_000):,.2f}", note, ""])


def iso(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def test_a_messy_file_is_counted_as_by_pythons_csv(tmp_path: Path) -> None:
    path = tmp_path / "orders.csv"
    messy(path)
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    digits: Callable[[str], bool] = lambda text: text.removeprefix("-").isdigit()  # noqa: E731
    lost = Counter(
        {
            "order date": sum(iso(row["order date"]) is None for row in rows),
            "qty": sum(row["qty"] != "" and not digits(row["qty"]) for row in rows),
            "total": sum("," in row["total"] for row in rows),
        }
    )
    pairs = [(iso(row["order date"]), iso(row["ship_date"])) for row in rows]
    known = [(ordered, shipped) for ordered, shipped in pairs if ordered and shipped]
    types = {"order date": "DATE", "ship_date": "DATE", "qty": "INTEGER", "total": "DECIMAL(12,2)"}
    found = exact(path, '"order date" <= ship_date', types)
    assert found.not_of_type == dict(lost)
    assert found.problematic == sum(ordered > shipped for ordered, shipped in known) > 0
    assert found.judged == {'"order date" <= ship_date': len(known)}
    positive = exact(path, "qty >= 0", types)
    assert positive.problematic == sum(digits(row["qty"]) and int(row["qty"]) < 0 for row in rows) > 0


def test_rules_that_ask_for_null_judge_every_row(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,\n,2\n")
    for rule in ("NOT NULL(a)", "CHECK (a IS NULL OR b IS NULL)"):
        assert exact(path, rule).judged == {}
    assert exact(path).judged == {RULE: 0}
    found = exact_measures(path, [RULE], non_private=True, measures=["drastic"], where="a IS NOT NULL OR b = '9'")
    assert found.judged == {RULE: 0}
