"""Every kind of file holds the same table; what is special in each is read by its fixed rule, or refused."""

from __future__ import annotations

import gzip
import json
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pyarrow as pa
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

from dpdb.database.database import Database
from dpdb.errors import SourceError
from dpdb.owner import propose_schema
from dpdb.sources.open import open_source
from dpdb.sources.source import Reading

TYPES = {"zip": "VARCHAR", "city": "VARCHAR", "n": "INTEGER"}
ROWS = [
    {"zip": "01", "city": "Ålesund; Ø", "n": 3},
    {"zip": "01", "city": 'x "y", z', "n": None},
    {"zip": None, "city": "01", "n": -7},
]
DELIMITERS = {"csv": ",", "csv.gz": ",", "csv.zst": ",", "semicolon.csv": ";", "bar.csv": "|", "tsv": "\t"}
TABLE = pa.Table.from_pylist(ROWS, pa.schema([("zip", pa.string()), ("city", pa.string()), ("n", pa.int32())]))


def rows(source: Any, types: dict[str, str] | None = None, table: str | None = None) -> list[dict[str, Any]]:
    with Database() as database:
        opened = open_source(database, source, csv_schema=types, table=table)
        batches = list(database.stream(f"FROM {opened.scan.sql('duckdb', normalize_functions=False)}"))
        names = [column.name for column in opened.schema.columns]
        with Database() as other:
            described = open_source(other, source, csv_schema=types, table=table, rows=Reading.NONE)
            assert described.schema == opened.schema
    found = [row for batch in batches for row in batch.to_pylist()]
    assert all(list(row) == names for row in found)
    return found


def refused(source: Any, match: str, **options: Any) -> None:
    with Database() as database, pytest.raises(SourceError, match=match) as caught:
        open_source(database, source, **options)
    assert "\n" not in str(caught.value)


def compressed(path: Path, text: str) -> Path:
    if path.suffix == ".zst":
        with pa.output_stream(str(path), compression="zstd") as stream:
            stream.write(text.encode())
    else:
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def cells(row: dict[str, Any], delimiter: str) -> str:
    return delimiter.join("" if value is None else '"' + str(value).replace('"', '""') + '"' for value in row.values())


def csv_text(delimiter: str) -> str:
    return "\n".join([delimiter.join(TYPES), *(cells(row, delimiter) for row in ROWS)]) + "\n"


def json_text() -> str:
    return "".join(json.dumps({k: v for k, v in row.items() if v is not None}) + "\n" for row in ROWS)


def sqlite_file(path: Path, definition: str, values: list[tuple[Any, ...]]) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE t ({definition})")
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(values[0]))})", values)
    return path


def workbook(path: Path, *sheets: tuple[str, list[list[Any]]]) -> Path:
    """Write the smallest workbook that Excel reads: a zip of XML parts."""
    kind = "application/vnd.openxmlformats-officedocument"
    parts = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.spreadsheetml.sheet.main+xml"/>'
        + "".join(
            f'<Override PartName="/xl/s{n}.xml" ContentType="{kind}.spreadsheetml.worksheet+xml"/>'
            for n in range(len(sheets))
        )
        + "</Types>",
        "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="r" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"'
        ' Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="'
        'http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>'
        + "".join(f'<sheet name="{escape(name)}" sheetId="{n + 1}" r:id="r{n}"/>' for n, (name, _) in enumerate(sheets))
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        + "".join(
            f'<Relationship Id="r{n}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet"'
            f' Target="s{n}.xml"/>'
            for n in range(len(sheets))
        )
        + "</Relationships>",
    }
    for n, (_, table) in enumerate(sheets):
        body = "".join(f"<row>{''.join(_cell(value) for value in row)}</row>" for row in table)
        parts[f"xl/s{n}.xml"] = (
            f'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{body}</sheetData>'
            "</worksheet>"
        )
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, '<?xml version="1.0" encoding="UTF-8"?>' + text)
    return path


def _cell(value: Any) -> str:
    if value is None:
        return "<c/>"
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    if isinstance(value, (int, float)):
        return f"<c><v>{value}</v></c>"
    return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'


def write(kind: str, folder: Path) -> Path:
    path = folder / f"t.{kind}"
    if kind in DELIMITERS:
        return compressed(path, csv_text(DELIMITERS[kind]))
    if "json" in kind:
        return compressed(path, json_text())
    match kind:
        case "parquet":
            pq.write_table(TABLE, path)
        case "feather":
            pa.feather.write_feather(TABLE, path)
        case "orc":
            pa.orc.write_table(TABLE, path)
        case "arrow":
            with pa.ipc.new_file(path, TABLE.schema) as writer:
                writer.write_table(TABLE)
        case "arrows":
            with pa.ipc.new_stream(path, TABLE.schema) as writer:
                writer.write_table(TABLE)
        case "sqlite":
            sqlite_file(path, "zip TEXT, city VARCHAR(20), n INTEGER", [tuple(row.values()) for row in ROWS])
        case "xlsx":
            workbook(path, ("t", [list(TYPES), *([*row.values()] for row in ROWS)]))
    return path


TYPED = ("parquet", "feather", "arrow", "arrows", "orc", "sqlite")
CELLS = (*DELIMITERS, "jsonl", "ndjson.gz", "jsonl.zst", "xlsx")


@pytest.mark.heavy
@pytest.mark.parametrize("kind", [*TYPED, *CELLS])
def test_every_kind_of_file_gives_the_same_rows(kind: str, tmp_path: Path) -> None:
    path = write(kind, tmp_path)
    before = path.read_bytes()
    found = rows(path, None if kind in TYPED else TYPES)
    assert [{**row, "n": None if row["n"] is None else int(row["n"])} for row in found] == ROWS
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]  # SQLite makes no files beside it


@pytest.mark.heavy
@pytest.mark.parametrize("kind", [*TYPED, "csv.gz", "csv.zst", "jsonl", "ndjson.gz", "jsonl.zst", "xlsx"])
def test_a_file_that_is_cut_short_is_refused(kind: str, tmp_path: Path) -> None:
    path = write(kind, tmp_path)
    whole = path.read_bytes()
    refusals = 0
    for kept in (len(whole) - 1, len(whole) * 2 // 3, 30):
        path.write_bytes(whole[:kept])
        try:
            found = rows(path, None if kind in TYPED else TYPES)
        except SourceError:
            refusals += 1
        else:  # a last line without its end, and a stream without its end mark, are whole
            assert kind in ("jsonl", "arrows"), kind
            assert len(found) in ((3,) if kind == "arrows" else (1, 2, 3))
    assert refusals >= (0 if kind == "jsonl" else 2)


@pytest.mark.heavy(family="long")
def test_lines_of_json_are_rows_by_themselves(tmp_path: Path) -> None:
    lines = [
        '{"zip": 1.50, "city": true, "other": 1}',
        "",
        '{"zip": "a", "zip": "b", "city": {"k": [1, 2.0]}}',
        "no json",
        "[1, 2]",
        '{"zip": NaN}',
        '{"zip": "\\ud800", "city": "Å"}',
        '{"zip": ' + "[" * 5_000,
        '{"zip": 123456789012345678901234567890}',
    ]
    path = tmp_path / "t.jsonl"
    path.write_bytes("\n".join(lines).encode() + b'\n{"zip": "\xff"}')
    expected = [("1.50", "true"), ("b", '{"k":[1,2.0]}'), *[(None, None)] * 3, (None, "Å"), (None, None)]
    expected += [("123456789012345678901234567890", None), (None, None)]
    found = rows(path, {"zip": "VARCHAR", "city": "VARCHAR"})
    assert [tuple(row.values()) for row in found] == expected
    for left_out in range(len(lines)):  # no line changes another
        path.write_text("\n".join(lines[:left_out] + lines[left_out + 1 :]))
        others = [tuple(row.values()) for row in rows(path, {"zip": "VARCHAR", "city": "VARCHAR"})]
        place = left_out - (left_out > 1)
        assert others == (expected[:-1] if left_out == 1 else expected[:place] + expected[place + 1 : -1])


@pytest.mark.heavy(family="long")
def test_json_lines_need_declared_columns_and_the_owner_gets_a_proposal(tmp_path: Path) -> None:
    path = write("jsonl", tmp_path)
    refused(path, "JSON lines have no header")
    assert propose_schema(path).option == "n INTEGER"
    assert {column.name: column.type for column in propose_schema(path).columns} == TYPES


@pytest.mark.heavy(family="long")
def test_folders_of_json_lines_have_keys(tmp_path: Path) -> None:
    for year in ("2024", "2025"):
        (tmp_path / f"year={year}").mkdir()
        compressed(tmp_path / f"year={year}" / "t.jsonl.gz", '{"a": 1}\n')
    assert rows(tmp_path, {"a": "INTEGER"}) == [{"a": 1, "year": "2024"}, {"a": 1, "year": "2025"}]
    assert rows(tmp_path, {"a": "INTEGER", "year": "INTEGER"})[0] == {"a": 1, "year": 2024}


@pytest.mark.heavy(family="long")
def test_values_that_are_none_of_their_columns_type_in_sqlite_are_null(tmp_path: Path) -> None:
    definition = "i INTEGER, d DATE, p DECIMAL(5,2), b BLOB, free, flag BOOLEAN, r REAL, at DATETIME"
    path = sqlite_file(
        tmp_path / "t.db",
        definition,
        [
            (1, "2024-02-29", "1.25", b"\x00\xff", 5, 1, 2.5, "2024-02-29 10:00:00"),
            ("no number", "no day", "no", "text", "x", "maybe", "?", 5),
            (2**63 - 1, None, 123456, None, None, 0, 1e300, None),
        ],
    )
    found = rows(path)
    assert [row["i"] for row in found] == [1, None, 2**63 - 1]
    assert [str(row["d"]) for row in found] == ["2024-02-29", "None", "None"]
    assert [str(row["p"]) for row in found] == ["1.25", "None", "None"]
    assert [row["b"] for row in found] == ["\\x00FF", "text", None]
    assert [row["free"] for row in found] == ["5", "x", None]
    assert [row["flag"] for row in found] == [True, None, False]
    assert [row["r"] for row in found] == [2.5, None, 1e300]
    assert rows(path, {"free": "INTEGER"})[0]["free"] == 5


@pytest.mark.heavy(family="long")
def test_tables_and_views_of_sqlite(tmp_path: Path) -> None:
    path = sqlite_file(tmp_path / "t.db", "a INTEGER, b TEXT", [(1, "x"), (2, b"\xff".decode("latin-1"))])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute('CREATE VIEW "odd "" name" AS SELECT a + 1 AS c, CAST(x\'ff\' AS TEXT) AS e FROM t')
    assert rows(path, table='odd " name', types={"c": "INTEGER"}) == [{"c": 2, "e": None}, {"c": 3, "e": None}]
    refused(path, "name one with table=")
    refused(path, "no table or view", table="u")


@pytest.mark.heavy(family="long")
def test_a_writer_does_not_stop_sqlite_from_being_read(tmp_path: Path) -> None:
    path = sqlite_file(tmp_path / "t.db", "a INTEGER", [(1,), (2,)])
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("INSERT INTO t VALUES (3)")
        assert len(rows(path)) == 2
        writer.commit()
        assert len(rows(path)) == 3


@pytest.mark.heavy(family="long")
def test_sheets_of_a_workbook(tmp_path: Path) -> None:
    one = ("One", [["a", "b", None], [1, "x", "beyond the header"], [None, None, None], [1.5, True], [1e20]])
    path = workbook(tmp_path / "t.xlsx", one, ("Zwei", [["c"], ["y"]]), ("no name", [["c", None, "d"], [1, 2, 3]]))
    assert rows(path, table="one") == [{"a": "1", "b": "x"}, {"a": "1.5", "b": "true"}, {"a": "1e+20", "b": None}]
    assert rows(path, table="Zwei") == [{"c": "y"}]
    refused(path, r"name one sheet with table= \(it has: One, Zwei, no name\)")
    refused(path, "no sheet 'Drei'", table="Drei")
    assert rows(path, table="no name") == [{"c": "1", "column1": "2", "d": "3"}]


@pytest.mark.heavy(family="long")
def test_a_cell_left_of_a_sheets_names_changes_nothing(tmp_path: Path) -> None:
    def found(*below: list[Any]) -> list[dict[str, Any]]:
        return rows(workbook(tmp_path / "t.xlsx", ("t", [[None, "a", "b"], [None, "x"], *below])))

    assert found() == found(["left"]) == [{"a": "x", "b": None}]
    assert found(["left", None, "y"]) == [{"a": "x", "b": None}, {"a": None, "b": "y"}]


def test_an_old_feather_file_and_a_wrong_workbook_say_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "t.feather").write_bytes(b"FEA1" + bytes(100))
    refused(tmp_path / "t.feather", "write it again as version 2")
    (tmp_path / "t.xlsx").write_text("a,b\n1,2\n")
    refused(tmp_path / "t.xlsx", "cannot be read as a workbook")


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "feather", "orc", "sqlite"])
def test_standard_input(kind: str, tmp_path: Path) -> None:
    path = write(kind, tmp_path)
    command = [sys.executable, "-m", "dpdb", "exact", "-", "--constraints", "zip -> city", "--non-private"]
    types = ["--schema", "zip VARCHAR, city VARCHAR"] if kind == "jsonl" else []
    with path.open("rb") as stream:
        done = subprocess.run(
            [*command, *types, "--format", "json"], stdin=stream, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["minimal_inconsistency"] == 1


@pytest.mark.heavy(family="long")
def test_standard_input_without_a_row_is_refused() -> None:
    command = [sys.executable, "-m", "dpdb", "measure", "-", "--constraints", "a -> b", "--epsilon", "1"]
    done = subprocess.run(command, input="", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip().endswith("standard input: is empty")
