"""`dpdb schema` proposes how cells are written; what `--out` writes is read by `--schema`, and gives the same table."""

from __future__ import annotations

import json
import tomllib
from argparse import Namespace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from dpdb.database import Database
from dpdb.doors.cli import main
from dpdb.doors.cli.options import csv_schema
from dpdb.errors import ParameterError
from dpdb.sources.open import open_source

BANK = "\n".join([
    'Kontonummer:;"DE12"', "", "Von:;01.01.2025", "", "Buchungstag;Verwendung;Betrag;Offen",
    *(f"{day}.03.2025;Miete für {day};-{day}.{day:03},18;{'ja' if day % 2 else 'nein'}" for day in range(13, 28)),
    "Saldo;;1.234,5;", "",
])  # fmt: skip

# The file, what is proposed of all cells and of columns, and the first rows of the table.
FILES: dict[str, tuple[bytes, str | None, dict[str, str], list[tuple[Any, ...]]]] = {
    "athena.tsv": (
        b'concept_id\tconcept_name\n1\talpha\n2\t"beta\n3\tO\'Brien\n', "quote none", {"concept_id": "INTEGER"},
        [(1, "alpha"), (2, '"beta'), (3, "O'Brien")]),
    "spark.csv": (b'id,v\n1,"a\\"b"\n1,"c, d"\n', "escape backslash", {"id": "INTEGER"}, [(1, 'a"b'), (1, "c, d")]),
    "single.csv": (b"id,v\n1,'a,b'\n1,'c,d'\n", "quote single", {"id": "INTEGER"}, [(1, "a,b"), (1, "c,d")]),
    "bank.csv": (
        BANK.encode("cp1252"), "encoding windows-1252, header 5",
        {"Betrag": "DOUBLE '1.234,5'", "Offen": "BOOLEAN 'ja/nein'"},
        [("13.03.2025", "Miete für 13", -13013.18, True)]),
    "excel.csv": (
        "sep=;\r\nName;Größe\r\nä;1,5\r\nb;22,25\r\n".encode("utf-16"), None, {"Größe": "DOUBLE '1.234,5'"},
        [("ä", 1.5), ("b", 22.25)]),
    "excel16le.csv": ("a;b\r\nä;1\r\n".encode("utf-16-le"), "encoding utf-16le", {"b": "INTEGER"}, [("ä", 1)]),
    "dump.tsv": (
        b"1\ta\\\tb\t\\N\n2\tc\\\\d\tx\\ny\n", "delimiter tab, quote none, escape backslash, header none",
        {"column0": "INTEGER", "column1": "VARCHAR", "column2": "VARCHAR"}, [(1, "a\tb", None), (2, "c\\d", "x\ny")]),
    "rows.csv": (
        b"1,2025-01-01,x\n2,2025-01-02,y\n", "header none",
        {"column0": "INTEGER", "column1": "DATE", "column2": "VARCHAR"}, [(1, date(2025, 1, 1), "x")]),
    "comments.csv": (b'# made by x, y, z\n# "1\na,b\n1,2\n', "comment '#'", {"a": "INTEGER", "b": "INTEGER"}, [(1, 2)]),
    "latin.csv": (b"a,b\n\x81\xe9,1\n", "encoding latin-1", {"b": "INTEGER"}, [("\x81é", 1)]),
    "bytes.csv": ("a,b\né,1\nü,2\n".encode() + b"\xe9,3\n", None, {"b": "INTEGER"}, [("é", 1), ("ü", 2), (None, 3)]),
    "dates.csv": (
        b"a,b,c\n01/02/2025,13/02/2025,3 Mar 2025\n03/04/2025,01/04/2025,14 Dec 2024\n", None,
        {"b": "DATE '%d/%m/%Y'", "c": "DATE '%d %b %Y'"}, [("01/02/2025", date(2025, 2, 13), date(2025, 3, 3))]),
    "usual.csv": (b'id,v\n1,"a, ""b"""\n2,c\n', None, {"id": "INTEGER"}, [(1, 'a, "b"'), (2, "c")]),
}  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("name", FILES)
def test_the_proposal_reads_the_file(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content, cells, types, rows = FILES[name]
    (tmp_path / name).write_bytes(content)
    out = tmp_path / "out.toml"
    assert main(["schema", str(tmp_path / name), "--format", "json", "--out", str(out)]) == 0
    proposed = json.loads(capsys.readouterr().out)
    expected = ({} if cells is None else {"*": cells}) | types
    assert tomllib.loads(out.read_text())["schema"] == expected == csv_schema(Namespace(schema=str(out)))
    assert proposed["cells"] == cells
    for schema in (expected, csv_schema(Namespace(schema=proposed["schema"]))):
        with Database() as database:
            table = open_source(database, tmp_path / name, csv_schema=schema)
            assert database.rows(f"FROM {table.scan.sql('duckdb')}")[: len(rows)] == rows
    capsys.readouterr()
    assert main(["exact", str(tmp_path / name), "--non-private", "--schema", str(out), "--measure", "drastic",
                 "--constraints", f"NOT NULL({list(types)[-1]})"]) == 0  # fmt: skip


def columns(content: str, path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    path.write_text(content)
    assert main(["schema", str(path), "--format", "json"]) == 0
    return {column["name"]: column for column in json.loads(capsys.readouterr().out)["columns"]}


@pytest.mark.heavy(family="long")
def test_cells_that_do_not_fit_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        "day;n;m",
        *(f"{day:02}.03.2025;{day};{day}" for day in range(13, 30)),
        "2025-03-01;x;NA",
        "31.02.2025;7;?",
    ]
    found = columns("\n".join(lines), tmp_path / "t.csv", capsys)
    assert found["day"]["type"] == "VARCHAR"
    assert found["day"]["note"] == "all but 2 of 19 cells are DATE '%d.%m.%Y'; declared so, 2 are NULL"
    assert found["day"]["lost"] == ["2025-03-01", "31.02.2025"]
    assert (found["n"]["type"], found["n"]["lost"]) == ("VARCHAR", ["x"])
    assert (found["m"]["type"], found["m"]["missing"], found["m"]["lost"]) == ("INTEGER", 2, ["?", "NA"])
    assert main(["schema", str(tmp_path / "t.csv")]) == 0
    assert "'31.02.2025'" in capsys.readouterr().out


@pytest.mark.heavy(family="long")
def test_what_can_be_read_in_two_ways_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = columns("a;b;c;d\n01/02/2025;1,234;1.234;1,5\n", tmp_path / "t.csv", capsys)
    assert [found[name]["type"] for name in "abcd"] == ["VARCHAR", "VARCHAR", "VARCHAR", "DOUBLE '1.234,5'"]
    assert found["a"]["note"] == "all cells are DATE '%d/%m/%Y', and DATE '%m/%d/%Y', too: say which"
    assert found["b"]["note"] == "all cells are DOUBLE '1.234,5', and DOUBLE '1,234.5', too: say which"
    assert found["c"]["note"] == "all cells are DOUBLE, and DOUBLE '1.234,5', too: say which"


@pytest.mark.heavy(family="long")
def test_a_file_of_a_schema_is_one_line_where_it_is_none(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n")
    (tmp_path / "x.toml").write_text("[schema]\na = 1\n")
    for name in ("x.toml", "missing.toml"):
        with pytest.raises(ParameterError, match=rf"\A[^\n]*{name}[^\n]*\Z"):
            csv_schema(Namespace(schema=str(tmp_path / name)))
    assert main(["schema", str(tmp_path / "t.csv"), "--out", str(tmp_path / "x.txt")]) == 2
    assert main(["schema", str(tmp_path / "t.csv"), "--out", str(tmp_path / "x.toml")]) != 0  # it is there
    assert (tmp_path / "x.toml").read_text() == "[schema]\na = 1\n"


@pytest.mark.heavy
@pytest.mark.parametrize("said", ["header none", "header  NONE, nulls '-'", "nulls 'header none', header 'none'"])
def test_columns_that_no_line_names_are_those_of_the_schema(
    said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.csv").write_text("1,x\n2,y\n")
    assert main(["schema", str(tmp_path / "t.csv"), "--schema", f"* ({said}), a VARCHAR, b VARCHAR"]) == 0
    assert tomllib.loads(capsys.readouterr().out.partition("\n[schema]\n")[2])["a"] == "INTEGER"
