"""One row never decides whether a release fails: files with and without it, through the real session."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from inside import table_of
from stub_noise import StubNoise

import dpdb
from dpdb.errors import OWNER_LOG, SourceError
from dpdb.privacy.noise import replaced_noise
from dpdb.release.ask import Ask

RULE = "a -> b"
SCHEMA = {"b": "INTEGER"}
# 500 rows, among them 20 conflicts; what follows a bad line is as important as what comes before it.
HEAD = "a,b\n" + "".join(f"{number},{number % 3}\n" for number in range(490))
TAIL = "".join(f"{number},9\n" for number in range(10))


@pytest.fixture
def owner_log() -> Iterator[list[str]]:
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    OWNER_LOG.addHandler(handler)
    yield lines
    OWNER_LOG.removeHandler(handler)


def released(source: Any, **options: Any) -> tuple[float, float, float]:
    """Rows, rows of the slice and repair, without noise."""
    with replaced_noise(StubNoise()), dpdb.open(source, constraints=RULE, **options) as session:
        count = session.dp_count(1.0)
        part = session.dp_count(1.0, where="b >= 0")
        repair = session.dp_inconsistency("repair", 1.0)
        assert session.spent() == 3
    assert isinstance(count, dpdb.Release)
    assert isinstance(part, dpdb.Release)
    assert isinstance(repair, dpdb.Release)
    return count.value, part.value, repair.value


def csv(folder: Path, line: bytes) -> Path:
    path = folder / "visits.csv"
    path.write_bytes(HEAD.encode() + line + TAIL.encode())
    return path


# -- CSV lines --------------------------------------------------------------------------------------------------

# What a line adds to (rows, rows of the slice, repair); None if the file is refused.
LINES: dict[str, tuple[bytes, tuple[int, int, int] | None]] = {
    "a row": (b"100,7\n", (1, 1, 1)),
    "too many cells": (b"1,2,3,4,5\n", (1, 0, 0)),
    "one cell more, empty": (b"100,7,\n", (1, 1, 1)),
    "too few cells": (b"1\n", (1, 0, 0)),
    "text after a closing quote": (b'"ab"c,1\n', (1, 0, 0)),
    "quote never closed": (b'"abc,1\n', None),
    "quote in the middle": (b'ab"c,1\n', None),
    "two quotes in the middle": (b'a"b"c,1\n', (1, 1, 0)),
    "a Latin-1 byte": (b"caf\xe9,1\n", (1, 1, 0)),
    "a Latin-1 byte in a typed cell": (b"1,\xe9\n", (1, 0, 0)),
    "a NUL byte": (b"a\0b,1\n", (1, 1, 0)),
    "a cell of 3 MB": (b"x" * 3_000_000 + b",1\n", (1, 1, 0)),
    "a lone carriage return": (b"a\rb,1\n", (1, 1, 0)),
    "a line end of Windows": (b"100,7\r\n", (1, 1, 1)),
    "an empty line": (b"\n", (0, 0, 0)),
    "a cell of several lines": (b'"a\n1,2\n",1\n', (1, 1, 0)),
    "a number that is none": (b"1,n/a\n", (1, 0, 0)),
    "a number that is too large": (b"1,1e999\n", (1, 0, 0)),
    "a byte order mark": (b"\xef\xbb\xbf1,1\n", (1, 1, 0)),
}


@pytest.mark.heavy
@pytest.mark.parametrize("name", LINES)
def test_a_line_more_changes_the_answers_by_its_row_or_the_file_is_refused(name: str, tmp_path: Path) -> None:
    line, change = LINES[name]
    without = released(csv(tmp_path, b""), csv_schema=SCHEMA)
    assert without == (500, 500, 10)
    path = csv(tmp_path, line)
    if change is not None:
        assert released(path, csv_schema=SCHEMA) == tuple(map(sum, zip(without, change, strict=True)))
        return
    with pytest.raises(SourceError, match="a quote is missing or out of place") as caught:
        dpdb.open(path, constraints=RULE, csv_schema=SCHEMA)
    assert not any(character.isdigit() for character in str(caught.value).removeprefix(str(path)))


def test_the_owner_reads_where_a_file_is_bad(tmp_path: Path, owner_log: list[str]) -> None:
    with pytest.raises(SourceError):
        dpdb.open(csv(tmp_path, b'"abc,1\n'), constraints=RULE)
    assert any("line 492" in line for line in owner_log)
    owner_log.clear()
    with dpdb.open(csv(tmp_path, b"1,2,3\n"), constraints=RULE):
        pass
    assert any("1 line with more cells" in line and "line 492" in line for line in owner_log)


# -- what is refused when it is opened, and never after a debit ---------------------------------------------------


def damaged_page(folder: Path) -> Path:
    path = folder / "t.parquet"
    pq.write_table(pa.table({"a": list(range(5_000)), "b": list(range(5_000))}), path, compression="zstd")
    data = bytearray(path.read_bytes())
    data[4:40] = bytes(36)  # the header of its first page
    path.write_bytes(data)
    return path


def damaged_block(folder: Path) -> Path:
    path = database(folder, "CREATE TABLE t AS SELECT range AS a, hash(range) AS b FROM range(300000)")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(data)
    return path


def database(folder: Path, *statements: str) -> Path:
    with duckdb.connect(str(folder / "w.duckdb")) as connection:
        for statement in statements:
            connection.execute(statement)
    return folder / "w.duckdb"


def view(expression: str) -> Callable[[Path], Path]:
    rows = "CREATE TABLE t AS SELECT * FROM (VALUES ('1', 1), ('alice', 0)) AS t(a, b)"
    return lambda folder: database(folder, rows, f"CREATE VIEW v AS SELECT {expression} AS a, b FROM t")


REFUSED: dict[str, tuple[Callable[[Path], Any], dict[str, Any]]] = {
    "a damaged page of Parquet": (damaged_page, {}),
    "a damaged block of DuckDB": (damaged_block, {}),
    "a view that casts": (view("CAST(a AS INTEGER)"), {"table": "v"}),
    "a view that fails by itself": (view("if(b = 0, error('alice'), 1)"), {"table": "v"}),
    "a view that overflows": (view("CAST(b AS TINYINT) - 128::TINYINT - 1::TINYINT"), {"table": "v"}),
    "a relation that casts": (
        lambda folder: duckdb.sql("SELECT CAST(a AS INTEGER) AS a, 1 AS b FROM (VALUES ('alice')) AS t(a)"),
        {},
    ),
}


@pytest.mark.heavy
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_when_it_is_opened(name: str, tmp_path: Path, owner_log: list[str]) -> None:
    make, options = REFUSED[name]
    source = make(tmp_path)
    with pytest.raises(SourceError, match="the reason is in the owner's log") as caught:
        dpdb.open(source, constraints="UNIQUE(b)", **options)
    assert "alice" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert owner_log


def test_generated_columns_are_computed_once(tmp_path: Path) -> None:
    path = database(
        tmp_path,
        "CREATE TABLE t (a INTEGER, b INTEGER, r DOUBLE GENERATED ALWAYS AS (random()))",
        "INSERT INTO t SELECT range, 1 FROM range(10000)",
    )
    with replaced_noise(StubNoise()), dpdb.open(path) as session:
        counts = {session.dp_count(1.0, where="r < 0.5").value for _ in range(3)}  # type: ignore[union-attr]
    assert len(counts) == 1


def test_macros_of_a_file_are_for_its_views_only(tmp_path: Path) -> None:
    """Rows are ranked by `hash`: a macro of that name, found first, could rank them by chance."""
    path = database(
        tmp_path,
        "CREATE TABLE t AS SELECT range // 2 AS a, range % 10 AS b FROM range(100)",
        "CREATE MACRO row_number() AS error('a macro of the file')",
        *(f"CREATE MACRO {name}(x) AS random() + x" for name in ("hash", "sum", "bit_xor")),
        "CREATE MACRO tenth(x) AS x % 10",
        "CREATE VIEW v AS SELECT a, tenth(b) AS b FROM t",
    )
    assert released(path, table="v") == released(path, table="t")
    with dpdb.open(path, table="v") as session, dpdb.open(path, table="t") as other:
        hashes = [table_of(one).database.rows("SELECT hash(1)") for one in (session, other)]
    assert hashes[0] == hashes[1]


def test_a_view_of_csv_text_converts_it_as_it_says(tmp_path: Path) -> None:
    path = csv(tmp_path, b"n/a,1\n")
    rows = f"SELECT TRY_CAST(a AS INTEGER) AS a, b FROM read_csv('{path}', all_varchar = true)"
    with replaced_noise(StubNoise()), dpdb.open(database(tmp_path, f"CREATE VIEW v AS {rows}"), table="v") as session:
        assert session.dp_count(1.0, where="a IS NULL").value == 1  # type: ignore[union-attr]


@pytest.mark.parametrize("spoil", ["parquet", "csv", "header"])
def test_names_of_folders_are_not_shown(spoil: str, tmp_path: Path, owner_log: list[str]) -> None:
    for name in ("alice", "bob"):
        (tmp_path / f"patient={name}").mkdir()
        if spoil == "parquet":
            pq.write_table(pa.table({"a": [1], "b": [1]}), tmp_path / f"patient={name}" / "x.parquet")
        else:
            (tmp_path / f"patient={name}" / "x.csv").write_text("a,b\n1,2\n")
    (tmp_path / "patient=alice" / f"x.{'parquet' if spoil == 'parquet' else 'csv'}").write_bytes(
        {"parquet": b"PAR1 and no more PAR1", "csv": b'a,b\n"1', "header": b"a,\xff\n1,2\n"}[spoil]
    )
    with pytest.raises(SourceError) as caught:
        dpdb.open(tmp_path, constraints=RULE)
    assert "alice" not in str(caught.value)
    assert any("alice" in line for line in owner_log)


# -- files that change after they were opened ---------------------------------------------------------------------


@pytest.mark.parametrize("change", [os.unlink, lambda path: path.write_bytes(b"PAR1 and no more PAR1")])
def test_a_parquet_file_that_changes_after_it_was_opened(change: Callable[[Path], Any], tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1, 1], "b": [1, 2]}), path)
    with dpdb.open(path, constraints=RULE) as session:
        change(path)
        with pytest.raises(SourceError, match=r"no such file|changed after this session opened it"):
            session.dp_inconsistency("repair", 1.0)
        assert session.spent() == 0


def test_a_csv_file_that_changes_after_it_was_opened_was_read_before(tmp_path: Path) -> None:
    path = csv(tmp_path, b"")
    with replaced_noise(StubNoise()), dpdb.open(path, constraints=RULE) as session:
        path.unlink()
        assert session.dp_count(1.0).value == 500  # type: ignore[union-attr]


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dpdb.sources.files import csv_files as csv_rows

    path = csv(tmp_path, b"")
    read = csv_rows.csv_batches

    def changing(*arguments: Any) -> Iterator[pa.RecordBatch]:
        yield from read(*arguments)
        with path.open("ab") as file:
            file.write(b"1,2\n")

    monkeypatch.setattr(csv_rows, "csv_batches", changing)
    with pytest.raises(SourceError, match="changed while it was opened"):
        dpdb.open(path, constraints=RULE)


def test_files_that_are_added_while_their_folder_is_opened_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session is of the files that there were; a ledger takes others as a change, unless rows are only ever added."""
    from dpdb.ledger import Ledger
    from dpdb.sources import open as source

    rows = pa.table({"a": [1], "b": [1]})
    find_files = source.find_files

    def adding(place: str, **options: Any) -> Any:
        found = find_files(place, **options)
        pq.write_table(rows, folder / "2.parquet")
        return found

    monkeypatch.setattr(source, "find_files", adding)
    for name in ("no ledger", "ledger", "append only"):
        folder = tmp_path / name
        folder.mkdir()
        pq.write_table(rows, folder / "1.parquet")
        ledger = None if name == "no ledger" else folder / "x.ledger"
        if ledger is not None:
            Ledger.create(ledger, "3", append_only=name == "append only").close()
        with replaced_noise(StubNoise()), dpdb.open(folder, constraints=RULE, ledger=ledger) as session:
            if name == "ledger":
                with pytest.raises(dpdb.DpdbError, match="changed after this session opened it"):
                    session.dp_count(1.0)
            else:
                assert session.dp_count(1.0).value == 1  # type: ignore[union-attr]
            assert session.spent() == (name != "ledger")


def test_a_ledger_is_bound_to_the_rows_that_were_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that changes between reading and binding would be answered for under the name of its new rows."""
    from dpdb.ledger import Ledger
    from dpdb.release import ledger_account

    path = csv(tmp_path, b"")
    Ledger.create(tmp_path / "x.ledger", "3").close()
    bind = ledger_account.LedgerAccount.__init__

    def late(self: Any, *arguments: Any, **options: Any) -> None:
        os.utime(path, ns=(1, 1))
        bind(self, *arguments, **options)

    monkeypatch.setattr(ledger_account.LedgerAccount, "__init__", late)
    with dpdb.open(path, constraints=RULE, ledger=tmp_path / "x.ledger") as session:
        with pytest.raises(dpdb.DpdbError, match="changed after this session opened it"):
            session.dp_count(1.0)
        assert session.spent() == 0


def test_a_session_without_rows_prepares_and_releases_nothing(tmp_path: Path) -> None:
    for path in (csv(tmp_path, b'"never closed\n'), damaged_page(tmp_path)):
        with dpdb.open(path, constraints=RULE, rows=False) as session:
            assert session.prepare(Ask("count", 0.5)).charge.epsilon == 500_000_000
            with pytest.raises(dpdb.DpdbError, match="opened without rows"):
                session.dp_count(1.0)
            assert session.spent() == 0
