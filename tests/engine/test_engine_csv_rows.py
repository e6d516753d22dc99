"""CSV text becomes rows by a rule that reads each row by itself, or is refused."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from case_share import fifth, of_all
from csv_reference import REFUSED, Row, rows_of

from dpdb.errors import SourceError
from dpdb.sources import csv_lines
from dpdb.sources.cells.faults import Faults
from dpdb.sources.files import csv_files as csv_rows, csv_header
from dpdb.sources.open import find_files

PARTS = [
    b"a", b"b", b",", b",", b'"', b'"', b"\n", b"\n", b"\r\n", b"\r", b" ", b'""', b"\xe9", b"\0", b'"x"', b'"a,b"',
    b"1,2\n", "é".encode(), b'"\n"', b',"x\ny"',
]  # fmt: skip
MAC = b"\r"


def text_of(rng: random.Random, parts: int) -> bytes:
    return b"".join(rng.choice(PARTS) for _ in range(rng.randrange(parts)))


def read(text: bytes, columns: int, path: Path, end: bytes = b"\n") -> list[Row] | str:
    """The rows that dpdb reads behind a header line, or REFUSED."""
    # A character behind the header's \r makes it the line end.
    header = b",".join(b"c%d" % number for number in range(columns)) + end
    path.write_bytes(header + text)
    files = find_files(str(path))
    try:
        batches = list(csv_rows.csv_batches(files, csv_rows.csv_columns(files), Faults()))
    except SourceError:
        return REFUSED
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


@pytest.fixture(params=[5, 64, 8 << 20], ids=["tiny blocks", "small blocks", "real blocks"])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_header, "BLOCK", request.param)
    monkeypatch.setattr(csv_header, "HEADER_BLOCK", min(request.param, 1 << 16))


def agrees(path: Path, seed: int, texts: int) -> tuple[int, int]:
    rng = random.Random(seed)
    refused = 0
    for _ in range(texts):
        columns, end = rng.choice([1, 2, 2, 3]), rng.choice([b"\n", b"\n", MAC])
        text = text_of(rng, 16)
        if end == MAC and text[:1] in (b"", b"\n"):
            continue
        found = read(text, columns, path, end)
        assert found == rows_of(text, columns, end), (text, columns, end)
        refused += found == REFUSED
    return refused, texts


@pytest.mark.heavy
@pytest.mark.usefixtures("blocks")
def test_random_texts_are_read_as_byte_by_byte(tmp_path: Path) -> None:
    [seed] = fifth(range(2_026, 2_031))[:1]
    refused, texts = agrees(tmp_path / "x.csv", seed, of_all(400))
    assert texts / 10 < refused < texts * 2 / 3


@pytest.mark.slow
@pytest.mark.usefixtures("blocks")
def test_many_random_texts_are_read_as_byte_by_byte(tmp_path: Path) -> None:
    for seed in range(20):
        agrees(tmp_path / "x.csv", seed, 3_000)


def line_added(rng: random.Random, path: Path) -> str:
    """Add one line behind a row of a text that can be read; say what it became, after checking all other rows."""
    columns = rng.choice([1, 2, 3])
    before, after = (b"".join(row(rng, columns) for _ in range(rng.randrange(4))) for _ in range(2))
    line = text_of(rng, 8).replace(b"\n", b"") + b"\n"
    others = rows_of(before, columns), rows_of(after, columns)
    assert isinstance(others[0], list)
    assert isinstance(others[1], list)
    found = read(before + line + after, columns, path)
    if found == REFUSED:
        return "refused"
    added = len(found) - len(others[0]) - len(others[1])
    assert added in (0, 1)
    assert (found[: len(others[0])], found[len(others[0]) + added :]) == others, (before, line, after)
    if not added:
        assert not line.strip(b"\r\n")  # an empty line
        return "no row"
    return "row of NULLs" if not any(found[len(others[0])]) else "row"


def row(rng: random.Random, columns: int) -> bytes:
    cells = [rng.choice([b"a", b"b", b"", b'"x"', b'"a,""b"', b'"a\nb"', b'5 "in"', b"\xe9"]) for _ in range(columns)]
    return b",".join(cells) + b"\n"


def test_one_line_more_is_one_row_more_or_none_or_the_text_is_refused(tmp_path: Path) -> None:
    seen = [line_added(random.Random(seed), tmp_path / "x.csv") for seed in fifth(range(1_000))]
    assert set(seen) == {"refused", "row", "row of NULLs", "no row"}
    assert min(map(seen.count, set(seen))) > of_all(30)


# -- the cases by name ------------------------------------------------------------------------------------------

NULLS: Row = (None, None)
LINES: dict[str, tuple[bytes, list[Row] | str]] = {
    "too many cells": (b"1,2,3,4\n", [NULLS]),
    "too many cells, empty": (b"1,2,,\n", [("1", "2")]),
    "too few cells": (b"1\n", [("1", None)]),
    "quote never closed": (b'"abc,1\n', REFUSED),
    "quote never opened": (b'abc",1\n', REFUSED),
    "text after a quote": (b'"ab"c,1\n', [NULLS]),
    "text before a quote": (b'c"ab",1\n', [('c"ab"', "1")]),
    "inches": (b"5'10\",1\n", REFUSED),
    "blanks around quotes": (b'1 , "a, b" \n', [("1 ", "a, b")]),
    "Latin-1": (b"caf\xe9,1\n", [(None, "1")]),
    "NUL": (b"a\0b,1\n", [("a\0b", "1")]),
    "3 MB": (b"x" * 3_000_000 + b",1\n", [("x" * 3_000_000, "1")]),
    "3 MB in quotes": (b'"' + b"x\n" * 1_500_000 + b'",1\n', [("x\n" * 1_500_000, "1")]),
    "17 MB": (b"x" * 17_000_000 + b",1\n", REFUSED),
    "lone carriage return": (b"a\rb,1\n", [("a\rb", "1")]),
    "line end of Windows": (b"a,1\r\n", [("a", "1")]),
    "empty line": (b"\n", []),
    "empty line of Windows": (b"\r\n", []),
    "blanks": (b"  \n", [("  ", None)]),
    "byte order mark": (b"\xef\xbb\xbfa,1\n", [("\ufeffa", "1")]),
    "several lines": (b'"a\r\nb",1\n', [("a\r\nb", "1")]),
    "several lines, too few cells": (b'"a\nb"\n', REFUSED),
    "two quotes never closed": (b'"abc,1\n5,6\n"x",2\n', REFUSED),
}


@pytest.mark.parametrize("name", LINES)
def test_a_bad_line_touches_no_neighbour(name: str, tmp_path: Path) -> None:
    line, rows = LINES[name]
    before, after = b'1,a\n2,"b ""c"\n', b'3,"d\ne"\n4,f\n'
    found = read(before + line + after, 2, tmp_path / "x.csv")
    neighbours = rows_of(before, 2), rows_of(after, 2)
    assert found == (rows if rows == REFUSED else [*neighbours[0], *rows, *neighbours[1]])


@pytest.mark.parametrize("mark", [b"\xef", b"\xef\xbb", b"\xef\xbb\xbf"])
def test_the_first_row_of_a_block_may_begin_with_a_mark(mark: bytes, tmp_path: Path) -> None:
    """Arrow drops such a mark, or refuses half of one: then a row would hang on where it stands."""
    row, other = mark + b"a,1\n", b"b,2\n"
    found = [read(text, 2, tmp_path / "x.csv") for text in (row + other, other + row, row[:-3])]
    cell = None if len(mark) < 3 else "\ufeffa"
    assert found == [[(cell, "1"), ("b", "2")], [("b", "2"), (cell, "1")], [(cell, None)]]


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\r"])
def test_the_last_line_may_lack_its_end(end: bytes, tmp_path: Path) -> None:
    assert read(b"1,a\n2,b" + end, 2, tmp_path / "x.csv") == [("1", "a"), ("2", "b")]


def test_an_empty_line_is_a_row_where_there_is_one_column(tmp_path: Path) -> None:
    assert read(b'a\n\n""\nb\n', 1, tmp_path / "x.csv") == [("a",), (None,), (None,), ("b",)]


def test_empty_cells_are_null_in_quotes_or_not_and_words_are_words(tmp_path: Path) -> None:
    assert read(b'"",\nNULL,NA\n', 2, tmp_path / "x.csv") == [NULLS, ("NULL", "NA")]


HEADERS: dict[str, tuple[bytes, tuple[str, ...] | str]] = {
    "byte order mark": (b"\xef\xbb\xbfa,b\n1,2\n", ("a", "b")),
    "quotes and a line break": (b'"a ""x""","b\nc"\n1,2\n', ('a "x"', "b\nc")),
    "no rows, no line end": (b"a,b", ("a", "b")),
    "old line ends": (b"a,b\r1,2\r", ("a", "b")),
    "UTF-16": ("a,b\n1,2\n".encode("utf-16"), ("a", "b")),
    "UTF-16 without mark": ("a,b\n1,2\n".encode("utf-16-le"), "UTF-8"),
    "Latin-1": (b"caf\xe9,b\n1,2\n", "UTF-8"),
    "quote never closed": (b'"a,b\n1,2\n', "name the columns"),
    "names of R and pandas": (b'"","a"\n"1",2\n', ("column0", "a")),
    "names that are taken": (
        b"column2, ,,Column1,column2_\n",
        ("column2", "column1_", "column2__", "Column1", "column2_"),
    ),
    "a name behind the last": (b"a,b,\n1,2,\n", ("a", "b", "column2")),
    "blanks only": (b" , ,\n1,2,3\n", "name the columns"),
    "no line end in a megabyte": (b"a" * (2 << 20), "UTF-8"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_header_lines(name: str, tmp_path: Path) -> None:
    text, expected = HEADERS[name]
    (tmp_path / "x.csv").write_bytes(text)
    files = find_files(str(tmp_path / "x.csv"))
    if isinstance(expected, tuple):
        assert csv_rows.csv_columns(files).own == expected
    else:
        with pytest.raises(SourceError, match=expected):
            csv_rows.csv_columns(files)


def test_faults_are_counted_with_the_line_of_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_header, "BLOCK", 16)
    (tmp_path / "x.csv").write_bytes(b'"a\nb",c\n"1\n2",3\n4,5\n6\n7,8,9\n"x"y,1\n\xe9,\xe9\n6\n')
    files = find_files(str(tmp_path / "x.csv"))
    faults = Faults()
    list(csv_rows.csv_batches(files, csv_rows.csv_columns(files), faults))
    [found] = faults.files.values()
    assert (found.short, found.long, found.unreadable, found.first_line) == (2, 1, 1, 6)
    assert found.not_utf8 == {"a\nb": 1, "c": 1}


DAMAGED: dict[str, Callable[[bytes], bytes]] = {
    "cut short": lambda data: data[: len(data) // 2],
    "without its check sum": lambda data: data[:-8],
    "with something behind it": lambda data: data + b"more",
    "with a byte changed": lambda data: data[:-20] + bytes([data[-20] ^ 255]) + data[-19:],
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_damaged_gzip_is_refused(damage: str, tmp_path: Path) -> None:
    rows = "".join(f"{number * 7919 % 1000},{number}\n" for number in range(40_000)).encode()
    whole = gzip.compress(b"a,b\n" + rows)
    (tmp_path / "x.csv.gz").write_bytes(whole)
    assert sum(batch.num_rows for batch in tables(tmp_path)) == 40_000
    (tmp_path / "x.csv.gz").write_bytes(DAMAGED[damage](whole))
    with pytest.raises(SourceError, match=r"x\.csv\.gz: is cut short or damaged") as caught:
        list(tables(tmp_path))
    assert "\n" not in str(caught.value)


def tables(folder: Path) -> Iterator[pa.RecordBatch]:
    files = find_files(str(folder / "x.csv.gz"))
    return csv_rows.csv_batches(files, csv_rows.csv_columns(files), Faults())


def test_a_row_is_too_long_wherever_it_begins_in_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (csv_lines, csv_header):
        monkeypatch.setattr(module, "LONGEST", 16 << 10)
    monkeypatch.setattr(csv_header, "BLOCK", 8 << 10)
    monkeypatch.setattr(csv_header, "HEADER_BLOCK", 100)
    for before in range(0, 9 << 10, 1_100):
        for quote in (b"", b'"'):
            row = quote + b"x" * ((16 << 10) - 2 - 2 * len(quote)) + quote + b",1"
            lines = b"1,2\n" * (before // 4)
            assert len(read(lines + row + b"\n3,4\n", 2, tmp_path / "x.csv")) == before // 4 + 2
            assert read(lines + b"y" + row + b"\n3,4\n", 2, tmp_path / "x.csv") == REFUSED


def test_a_quote_that_is_never_closed_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused as soon as its row is too long, not at the end of the file."""
    monkeypatch.setattr(csv_lines, "LONGEST", 1 << 16)
    monkeypatch.setattr(csv_header, "BLOCK", 1 << 14)
    seen: list[int] = []
    split = csv_lines.CsvLines.split
    monkeypatch.setattr(csv_lines.CsvLines, "split", lambda self, text: seen.append(len(text)) or split(self, text))
    assert read(b'"abc,1\n' + b"1,2\n" * 100_000, 2, tmp_path / "x.csv") == REFUSED
    assert max(seen) < (1 << 16) + (1 << 15)
