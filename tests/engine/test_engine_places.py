"""What a path names: folders and globs of one kind, keys in names of folders, and what is no local table."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpdb.database.database import Database
from dpdb.errors import SourceError
from dpdb.schema import TypeOrigin
from dpdb.sources.open import find_files, open_source, state_of
from dpdb.sources.source import Reading


def parquet(path: Path, **columns: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns or {"a": [1], "b": ["x"]}), path)
    return path


def csv(path: Path, text: str = "a,b\n1,x\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def rows(source: Path | str, types: dict[str, str] | None = None) -> list[dict[str, Any]]:
    with Database() as database:
        opened = open_source(database, source, csv_schema=types)
        batches = list(database.stream(f"FROM {opened.scan.sql('duckdb', normalize_functions=False)}"))
    found = [row for batch in batches for row in batch.to_pylist()]
    return sorted(found, key=lambda row: [str(value) for value in row.values()])


def refused(source: Path | str, match: str) -> None:
    with Database() as database, pytest.raises(SourceError, match=match) as caught:
        open_source(database, source)
    assert "\n" not in str(caught.value)
    with Database() as database, pytest.raises(SourceError, match=match):
        open_source(database, source, rows=Reading.NONE)


# -- folders and globs ------------------------------------------------------------------------------------------


def test_a_folder_or_glob_of_csv_files_is_one_table(tmp_path: Path) -> None:
    csv(tmp_path / "one.csv", "a,b\n1,x\n")
    csv(tmp_path / "two.tsv", "a\tb\r\n2\ty\r\n")
    csv(tmp_path / "below" / "three.CSV.gz", '\ufeffa,"b"\n"3",z')
    (tmp_path / "readme.txt").write_text("no table")
    (tmp_path / ".hidden.csv").write_text("c,d\n1,2\n")
    assert rows(tmp_path) == [{"a": "1", "b": "x"}, {"a": "2", "b": "y"}, {"a": "3", "b": "z"}]
    assert rows(f"{tmp_path}/*.?sv", {"a": "INTEGER"}) == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


FOLDERS: dict[str, tuple[list[Callable[[Path], Any]], str]] = {
    "empty": ([], "no Parquet or CSV or JSON lines file there"),
    "several kinds": ([lambda d: csv(d / "a.csv"), lambda d: parquet(d / "b.parquet")], "files of several kinds"),
    "other header lines": ([lambda d: csv(d / "a.csv"), lambda d: csv(d / "b.csv", "b,a\n")], "different header lines"),
    "other columns": (
        [lambda d: parquet(d / "a.parquet"), lambda d: parquet(d / "b.parquet", a=[1])],
        "differ in their columns or types",
    ),
    "more columns in the second": (
        [lambda d: parquet(d / "a.parquet", a=[1]), lambda d: parquet(d / "b.parquet")],
        "differ in their columns or types",
    ),
    "other types": (
        [lambda d: parquet(d / "a.parquet", a=[1]), lambda d: parquet(d / "b.parquet", a=["x"])],
        "differ in their columns or types",
    ),
    "other types below": (
        [lambda d: parquet(d / "a.parquet", a=[[1]]), lambda d: parquet(d / "b.parquet", a=[["x"]])],
        "differ in their columns or types",
    ),
    "Delta below": (
        [lambda d: parquet(d / "t" / "year=1" / "a.parquet"), lambda d: csv(d / "t" / "_delta_log" / "0.json")],
        "Delta table",
    ),
    "Iceberg": (
        [lambda d: parquet(d / "data" / "a.parquet"), lambda d: csv(d / "metadata" / "v1.metadata.json")],
        "Iceberg table",
    ),
    "Hudi": ([lambda d: parquet(d / "a.parquet"), lambda d: csv(d / ".hoodie" / "x.properties")], "Hudi table"),
    "underscores": ([lambda d: parquet(d / "_temporary" / "a.parquet")], "begin with an underscore"),
    "keys here and there": (
        [lambda d: parquet(d / "year=1" / "a.parquet"), lambda d: parquet(d / "b.parquet")],
        "folders with different keys",
    ),
    "one key twice": ([lambda d: parquet(d / "y=1" / "y=2" / "a.parquet")], "'y' occurs twice"),
}


@pytest.mark.heavy
@pytest.mark.parametrize("name", FOLDERS)
def test_folders_that_are_no_table(name: str, tmp_path: Path) -> None:
    made, match = FOLDERS[name]
    for make in made:
        make(tmp_path)
    refused(tmp_path, match)


def test_a_glob_into_a_delta_or_iceberg_table_is_refused(tmp_path: Path) -> None:
    parquet(tmp_path / "delta" / "year=1" / "a.parquet")
    csv(tmp_path / "delta" / "_delta_log" / "0.json")
    parquet(tmp_path / "iceberg" / "data" / "a.parquet")
    csv(tmp_path / "iceberg" / "metadata" / "v1.metadata.json")
    refused(f"{tmp_path}/delta/*/*.parquet", "Delta table")
    refused(f"{tmp_path}/*/year=1/*.parquet", "Delta table")
    refused(f"{tmp_path}/iceberg/data/*.parquet", "Iceberg table")
    refused(tmp_path / "iceberg" / "data", "Iceberg table")


def test_a_folder_that_may_not_be_read_is_not_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet(tmp_path / "a.parquet")
    parquet(tmp_path / "secret" / "b.parquet")
    scandir = os.scandir

    def closed(path: Any) -> Any:
        if str(path).endswith("secret"):
            raise PermissionError(13, "Permission denied")  # also for root, whom no mode stops
        return scandir(path)

    monkeypatch.setattr(os, "scandir", closed)
    refused(tmp_path, "permission denied")


def test_columns_in_another_order_are_the_same_columns(tmp_path: Path) -> None:
    parquet(tmp_path / "a.parquet", a=[1], b=["x"])
    parquet(tmp_path / "b.parquet", b=["y"], a=[2])
    assert rows(tmp_path) == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


# -- keys of folders --------------------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.parametrize("write", [parquet, csv])
def test_keys_of_folders_are_columns_of_text_unless_typed(write: Callable[..., Path], tmp_path: Path) -> None:
    for year, place in (("2024", "New%20York"), ("02024", "__HIVE_DEFAULT_PARTITION__"), ("x", "%FF")):
        write(tmp_path / "t" / f"year={year}" / f"place={place}" / f"part.{write.__name__}")
    places = {"2024": "New York", "02024": None, "x": None}
    for source in (tmp_path / "t", f"{tmp_path}/t/*/*/*.{write.__name__}"):
        assert {row["year"]: row["place"] for row in rows(source)} == places
        typed = rows(source, {"year": "INTEGER"})
        assert sorted((row["year"] is None, row["year"]) for row in typed) == [
            (False, 2024),
            (False, 2024),
            (True, None),
        ]
        with Database() as database:
            columns = open_source(database, source, csv_schema={"year": "INTEGER"}, rows=Reading.NONE).schema.columns
        assert [column.name for column in columns] == ["a", "b", "year", "place"]
        assert [column.origin for column in columns[2:]] == [TypeOrigin.DECLARED, TypeOrigin.TEXT_CELLS]
    assert "year" not in rows(tmp_path / "t" / "year=2024" / "place=New%20York")[0]


def test_a_key_that_is_a_column_of_the_files_is_left_to_them(tmp_path: Path) -> None:
    parquet(tmp_path / "A=7" / "m=1" / "x.parquet")
    csv(tmp_path / "csv" / "B=7" / "m=1" / "x.csv")
    assert rows(tmp_path / "A=7") == [{"a": 1, "b": "x", "m": "1"}]
    assert rows(f"{tmp_path}/A*/*/*.parquet") == [{"a": 1, "b": "x", "m": "1"}]
    assert rows(tmp_path / "csv") == [{"a": "1", "b": "x", "m": "1"}]


def test_folders_above_the_source_are_not_its_columns(tmp_path: Path) -> None:
    parquet(tmp_path / "b=secret" / "t" / "x.parquet")
    assert rows(tmp_path / "b=secret" / "t") == [{"a": 1, "b": "x"}]
    assert rows(f"{tmp_path}/b=secret/t/*.parquet") == [{"a": 1, "b": "x"}]


def test_many_partitions(tmp_path: Path) -> None:
    for number in range(60):
        parquet(tmp_path / f"n={number}" / "x.parquet", a=[number, number])
    assert all(str(row["a"]) == row["n"] for row in rows(tmp_path))
    assert len(rows(tmp_path)) == 120


def test_a_schema_names_columns_without_a_type_only(tmp_path: Path) -> None:
    parquet(tmp_path / "y=1" / "x.parquet")
    for types, match in (({"a": "INTEGER"}, "'a', which is no column without a type"), ({"y": "INT[]"}, "'INT\\[\\]'")):
        with Database() as database, pytest.raises(SourceError, match=match):
            open_source(database, tmp_path, csv_schema=types)


# -- what changes -----------------------------------------------------------------------------------------------


def test_a_folder_may_be_named_with_a_slash_at_its_end(tmp_path: Path) -> None:
    csv(tmp_path / "one.csv", "a,b\n1,x\n")
    assert rows(f"{tmp_path}/") == [{"a": "1", "b": "x"}]


def test_a_file_more_is_another_state(tmp_path: Path) -> None:
    csv(tmp_path / "a.csv")
    states = [state_of(str(tmp_path)), state_of(f"{tmp_path}/*.csv")]
    csv(tmp_path / "y=1" / "b.csv")
    (tmp_path / "readme.txt").write_text("no table")
    assert state_of(f"{tmp_path}/*.csv") == states[1]
    csv(tmp_path / "c.csv")
    assert state_of(str(tmp_path)) != states[0]
    assert state_of(f"{tmp_path}/*.csv") != states[1]


def test_a_folder_that_was_renamed_is_another_state(tmp_path: Path) -> None:
    """The rows of `y=1` that come back as rows of `y=2` would be charged as other rows."""
    csv(tmp_path / "y=1" / "a.csv")
    places = (str(tmp_path), f"{tmp_path}/*/a.csv")
    states = [state_of(place) for place in places]
    assert states == [find_files(place).state() for place in places]
    (tmp_path / "y=1").rename(tmp_path / "y=2")
    assert not {state_of(place) for place in places} & set(states)
    (tmp_path / "y=2").rename(tmp_path / "y=1")
    assert [state_of(place) for place in places] == states


# -- what is no local table --------------------------------------------------------------------------------------

URLS = {
    "gs://bucket/*.parquet": "copy the files to a local disk",
    "ftp://example.org/visits.csv": "copy the files to a local disk",
    "abfss://container@account/x": "copy the files to a local disk",
    "postgresql://alice:secret@host/db": "in a DuckDB connection and give that to dpdb.open",
    "MySQL://alice:secret@host/db": "in a DuckDB connection and give that to dpdb.open",
    "jdbc:postgresql://alice:secret@host/db": "in a DuckDB connection and give that to dpdb.open",
    "file:///data/visits.csv": "without file://",
}


@pytest.mark.heavy
@pytest.mark.parametrize("url", URLS)
def test_an_address_gets_the_true_reason_and_shows_no_password(url: str, tmp_path: Path) -> None:
    refused(url, URLS[url])
    refused(Path(url), URLS[url])
    with pytest.raises(SourceError) as caught:
        find_files(url)
    assert "secret" not in str(caught.value)
    assert "no such file" not in str(caught.value)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.csv")
    refused(tmp_path / "x.csv", "not a regular file")


def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    parquet(tmp_path / "a.parquet").rename(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.parquet"))
    refused(tmp_path, "a file's name is not UTF-8")
    refused(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.parquet"), "a file's name is not UTF-8")
