"""Files of the newer kinds with odd names, numbers and logs: read by their fixed rules, or refused in one line."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dpdb.database.database import Database
from dpdb.errors import SourceError
from dpdb.opening import open_table
from dpdb.sources import open as fetching
from dpdb.sources.open import open_source


def rows(source: Any, types: dict[str, str] | None = None) -> list[tuple[Any, ...]]:
    with Database() as database:
        opened = open_source(database, source, csv_schema=types)
        return database.rows(f"FROM {opened.scan.sql('duckdb', normalize_functions=False)}")


def refused(source: Any, match: str) -> None:
    with Database() as database, pytest.raises(SourceError, match=match) as caught:
        open_source(database, source)
    assert str(caught.value).isprintable()


def sqlite_file(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return path


def test_numbers_inside_json_values_keep_their_digits(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    values = ["[1.50,1e400,0.1000000000000000055]", f"[{'9' * 5000}]", '{"k":[-0,true,null,"\\"Å"]}', "[]", "{}"]
    lines = [f'{{"a": {value.replace(",", " , ")}, "b": 1}}' for value in values]
    path.write_text("\n".join(lines))
    assert rows(path, {"a": "VARCHAR", "b": "INTEGER"}) == [(value, 1) for value in values]


def test_json_that_is_nested_too_deep_is_null_whoever_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    depths = (99, 100, 101, 500, 980, 985, 990, 995)
    path.write_text("\n".join(f'{{"a": {"[" * depth}{"]" * depth}}}' for depth in depths))
    assert [None if a is None else len(a) for (a,) in rows(path, {"a": "VARCHAR"})] == [198, 200, *[None] * 6]


def test_rows_in_the_log_of_sqlite_are_a_change(tmp_path: Path) -> None:
    path = sqlite_file(tmp_path / "t.db", "PRAGMA journal_mode = WAL", "CREATE TABLE t (a INTEGER)")
    with closing(sqlite3.connect(path)) as writer, open_table(path) as opened:
        opened.refuse_change(all_rows=True)  # reading made an empty log
        writer.execute("INSERT INTO t VALUES (1)")
        writer.commit()
        opened.refuse_change()  # of what was copied
        with pytest.raises(SourceError, match="changed after this session opened it"):
            opened.refuse_change(all_rows=True)


@pytest.mark.parametrize("name", ["aaaa", "tttt"])
def test_names_of_sqlite_that_are_not_utf8_are_refused(name: str, tmp_path: Path) -> None:
    path = sqlite_file(tmp_path / "t.db", "CREATE TABLE tttt (aaaa TEXT)")
    path.write_bytes(path.read_bytes().replace(name.encode(), b"x\xff\xfex"))
    refused(path, "is not UTF-8")


def test_names_of_arrow_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.arrow"
    with pa.ipc.new_file(path, pa.schema([("aaaa", pa.string())])) as writer:
        writer.write_table(pa.table({"aaaa": ["x"]}))
    path.write_bytes(path.read_bytes().replace(b"aaaa", b"x\xff\xfex"))
    refused(path, "cut short or damaged")


def test_delta_with_column_mapping_is_refused(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake(tmp_path, pa.table({"a": ["x"], "b": ["y"]}))
    log = tmp_path / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "metaData" in action:
            action["metaData"]["configuration"] = {"delta.columnMapping.mode": "name"}
            schema = json.loads(action["metaData"]["schemaString"])
            for number, (field, stored) in enumerate(zip(schema["fields"], "ba", strict=True)):  # renamed crosswise
                field["metadata"] = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": stored}
            action["metaData"]["schemaString"] = json.dumps(schema)
        if "protocol" in action:
            action["protocol"] = {"minReaderVersion": 2, "minWriterVersion": 5}
    log.write_text("\n".join(map(json.dumps, actions)))
    refused(tmp_path, "column mapping")


@pytest.mark.parametrize("text", ['\ufeff{"a": 1}\n', '\n {"a": 1}\n'])
def test_json_lines_on_standard_input_may_begin_with_blanks(
    text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "input"
    path.write_text(text, "utf-8")
    fetching._kept.cache_clear()
    with path.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert rows("-", {"a": "INTEGER"}) == [(1,)]
    fetching._kept.cache_clear()
