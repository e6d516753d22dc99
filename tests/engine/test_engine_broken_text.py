"""Bytes that are no UTF-8 in typed tables (Arrow, Parquet): their cell is NULL and counted, and no other changes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import feather, orc

import dpdb
from dpdb.database import Database
from dpdb.errors import SourceError
from dpdb.ledger import Ledger
from dpdb.owner import exact_measures
from dpdb.privacy.noise import replaced_noise
from dpdb.sources import open_source
from tests.stub_noise import StubNoise

Cells = Sequence[bytes | None]
ODD: list[bytes | None] = [
    None, b"", b"a", b"caf\xe9", b"\xc3\xa9", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xf4\x8f\xbf\xbf",
    b"\xf0\x9f\x98\x80", b"\xf0\x9f\x98", b"\xe0\x80\xaf", b"\xef\xbb\xbfa", b"\xef\xbf\xbf", b"a\0b", b"\xff" * 40,
    b"x" * 40, b"x" * 40 + b"\x80", b"\xfe", b"\xf8\x88\x80\x80\x80",
]  # fmt: skip


def right(cell: bytes | None) -> str | None:
    """Say what a cell is, by Python's decoder."""
    try:
        return None if cell is None else cell.decode()
    except UnicodeDecodeError:
        return None


def plain(cells: Cells) -> pa.Array:
    return pa.array(cells, pa.binary()).view(pa.string())


def worded(cells: Cells) -> pa.Array:
    words = sorted({cell for cell in cells if cell is not None})
    return pa.DictionaryArray.from_arrays(
        pa.array([None if cell is None else words.index(cell) for cell in cells], pa.int16()), plain(words)
    )


MADE: dict[str, Callable[[Cells], pa.Array]] = {
    "string": plain,
    "large": lambda cells: pa.array(cells, pa.large_binary()).view(pa.large_string()),
    "view": lambda cells: pa.array(cells, pa.binary_view()).view(pa.string_view()),
    "dictionary": worded,
    "json": lambda cells: pa.ExtensionArray.from_storage(pa.json_(pa.string()), plain(cells)),
    "part of a longer one": lambda cells: plain([b"\xff", *cells, b"\xff"]).slice(1, len(cells)),
}


def table(cells: Cells, made: str = "string") -> pa.Table:
    return pa.table({"t": MADE[made](cells), "n": range(len(cells))})


def stored(folder: Path, rows: pa.Table) -> Path:
    pq.write_table(rows, folder / "t.parquet", row_group_size=7, store_schema=True)
    return folder / "t.parquet"


def folder_of_files(folder: Path, rows: pa.Table) -> Path:
    half = len(rows) // 2
    for key, part in (("a", rows.slice(0, half)), ("b", rows.slice(half))):
        (folder / f"k={key}").mkdir()
        pq.write_table(part, folder / f"k={key}" / "x.parquet", row_group_size=3)
    return folder


def arrow_file(folder: Path, rows: pa.Table) -> Path:
    feather.write_feather(rows, folder / "t.feather", compression="uncompressed", chunksize=5)
    return folder / "t.feather"


def orc_file(folder: Path, rows: pa.Table) -> Path:
    orc.write_table(rows, folder / "t.orc")
    return folder / "t.orc"


DOORS: dict[str, Callable[[Path, pa.Table], Any]] = {
    "Parquet": stored,
    "folder": folder_of_files,
    "Feather": arrow_file,
    "ORC": orc_file,
    "Arrow": lambda _, rows: rows,
    "batches": lambda _, rows: rows.to_reader(max_chunksize=4),
    "dataset": lambda folder, rows: ds.dataset(stored(folder, rows)),
    "pandas": lambda _, rows: rows.to_pandas(
        types_mapper={pa.string(): __import__("pandas").ArrowDtype(pa.string())}.get
    ),
}


def read(source: Any) -> tuple[list[tuple[Any, ...]], dict[str, int]]:
    with Database() as database:
        found = open_source(database, source)
        rows = database.rows(f"SELECT t, n FROM {found.scan.sql('duckdb')} ORDER BY n")
        return rows, found.faults.not_utf8 if found.faults else {}


@pytest.mark.parametrize("door", DOORS)
def test_each_cell_is_its_text_or_null_and_those_are_counted(door: str, tmp_path: Path) -> None:
    rows, lost = read(DOORS[door](tmp_path, table(ODD)))
    assert rows == [(right(cell), number) for number, cell in enumerate(ODD)]
    assert lost == {"t": sum(cell is not None and right(cell) is None for cell in ODD)}


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("door", ["Arrow", "Parquet"])
def test_whatever_form_arrow_keeps_text_in(door: str, made: str, tmp_path: Path) -> None:
    rows, lost = read(DOORS[door](tmp_path, table(ODD, made)))
    assert rows == [(right(cell), number) for number, cell in enumerate(ODD)]
    assert lost == {"t": sum(cell is not None and right(cell) is None for cell in ODD)}


def test_arrow_duckdb_and_python_agree_which_bytes_are_text(tmp_path: Path) -> None:
    """All texts of one byte, all of two of these bytes, and of three and four of some of them."""
    edges = [0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE,
             0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF]  # fmt: skip
    cells = [bytes([first]) for first in range(256)]
    cells += [bytes(pair) for pair in itertools.product(edges, repeat=2)]
    cells += [bytes(three) for three in itertools.product(edges, edges[3:9], edges[3:9])]
    cells += [
        bytes(four) for four in itertools.product(edges[13:], edges[3:10], [0x80, 0xBF], [0x7F, 0x80, 0xBF, 0xC0])
    ]
    for source in (table(cells), stored(tmp_path, table(cells))):
        rows, _ = read(source)
        assert [text for text, _ in rows] == [right(cell) for cell in cells]


@pytest.mark.heavy
@pytest.mark.parametrize("door", ["Arrow", "Parquet", "folder"])
def test_one_row_anywhere_changes_no_other_row_and_no_answer(door: str, tmp_path: Path) -> None:
    cells = [b"a", b"a", b"b", None, b"b", b"c"]
    for place in (0, 3, len(cells)):
        with_one = [*cells[:place], b"\xff", *cells[place:]]
        place_of = tmp_path / str(place)
        place_of.mkdir()
        rows, _ = read(DOORS[door](place_of, table(with_one)))
        assert [text for text, _ in rows] == [right(cell) for cell in with_one]
    Ledger.create(tmp_path / "x.ledger", 5).close()
    source = place_of / "t.parquet" if door == "Parquet" else table(with_one)
    ledger = tmp_path / "x.ledger"
    with replaced_noise(StubNoise()), dpdb.open(source, constraints="t -> n", ledger=ledger) as session:
        assert session.dp_count(1).value == len(with_one)  # type: ignore[union-attr]
        assert session.dp_count(1, where="t IS NULL").value == 2  # type: ignore[union-attr]
        assert session.dp_inconsistency("repair", 1).value == 2  # type: ignore[union-attr]


@pytest.mark.parametrize("door", ["Arrow", "Parquet"])
def test_text_inside_of_nested_values_hides_only_them(door: str, tmp_path: Path) -> None:
    """They are read before the debit: DuckDB decodes such a text also to tell whether its list is NULL."""
    bad = plain([b"1", b"\xff", b"q"])
    keys = pa.array([0, 2, None, 3], pa.int32())
    rows = pa.table(
        {
            "list": pa.ListArray.from_arrays(keys, bad),
            "struct": pa.StructArray.from_arrays([bad], ["x"], mask=pa.array([False, True, False])),
            "map": pa.MapArray.from_arrays(keys, plain([b"1", b"2", b"3"]), bad),
            "both": pa.array([1, 1, 2]),
        }
    )
    if door == "Arrow":
        rows = rows.append_column(
            "fixed", pa.FixedSizeListArray.from_arrays(bad, 1, mask=pa.array([True, False, False]))
        )
    rules = [f"{name} IS NOT NULL" for name in rows.column_names if name != "both"]
    source = rows if door == "Arrow" else stored(tmp_path, rows)
    found = exact_measures(source, rules, non_private=True, by_constraint=True, measures=["drastic"])
    assert [rule.violations for rule in found.by_constraint or ()] == [1] * len(rules)


@pytest.mark.parametrize("names", [["a.b", "a"], ['q"uote', "file_row_number"], ["file_index", "file_row"]])
def test_odd_names_and_tables_of_such_columns_only(names: list[str], tmp_path: Path) -> None:
    first, second = [b"1", b"\xff", b"3"], [b"\xfe", b"2", None]
    path = stored(tmp_path, pa.table([plain(first), plain(second)], names=names))
    with Database() as database:
        found = open_source(database, path)
        rows = database.rows(f"FROM {found.scan.sql('duckdb')}")
    assert found.schema.names == tuple(names)
    assert rows == [("1", None), (None, "2"), ("3", None)]


def test_the_owner_alone_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = stored(tmp_path, table([b"a", b"\xff", b"\xfe"]))
    found = exact_measures(path, "t -> n", non_private=True, measures=["drastic"])
    assert found.to_dict()["not_utf8"] == {"t": 2}
    assert any("column 't': 2 cells are no text in its encoding, so NULL" in line for line in caplog.messages)


def test_many_rows_keep_their_places(tmp_path: Path) -> None:
    """Columns of two readers stand beside each other, over several files, groups of rows and threads."""
    count = 150_000
    cells = [b"\xff" if number % 50_000 == 7 else b"%d" % number for number in range(count)]
    path = folder_of_files(tmp_path, table(cells[:200]))
    pq.write_table(table(cells[:100]), path / "k=a" / "x.parquet")
    pq.write_table(table(cells), path / "k=b" / "x.parquet", row_group_size=9_000)
    with Database() as database:
        found = open_source(database, path)
        scan = found.scan.sql("duckdb")
        assert database.rows(
            f"SELECT k, count(*), count(t), count(*) FILTER (t <> n::VARCHAR) FROM {scan} GROUP BY k ORDER BY k"
        ) == [
            ("a", 100, 99, 0),
            ("b", count, count - 3, 0),
        ]


def test_damage_is_refused_as_ever(tmp_path: Path) -> None:
    path = stored(tmp_path, table([b"%d\xff" % number for number in range(500)]))
    content = bytearray(path.read_bytes())
    content[4:60] = bytes(56)
    path.write_bytes(content)
    with pytest.raises(SourceError, match="reading its rows failed"):
        dpdb.open(path)
