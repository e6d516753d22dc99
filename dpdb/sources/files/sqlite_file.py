"""SQLite files: the types are those that the table declares; values that are none of theirs are NULL."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from dpdb.database import Database
from dpdb.errors import SourceError
from dpdb.names import in_double_quotes
from dpdb.schema import Column, TableSchema
from dpdb.sources.cells.faults import Faults, FileFaults
from dpdb.sources.cells.typed import reading
from dpdb.sources.files.cell_files import CellFiles, text_batch
from dpdb.sources.paths import Files
from dpdb.sources.source import (
    Source,
    Wanted,
    choose_table,
    declared_types,
    reason_in_log,
    text_column,
    without_rows,
)

_BATCH = 50_000
# Steps of SQLite's machine that a view may take, half a minute, and more for each byte of the file.
MOST_STEPS, _STEPS_PER_BYTE, _STEPS_AT_ONCE = 1_000_000_000, 100, 1_000_000
_TABLES = (
    "SELECT 'main', name, type = 'view' FROM sqlite_schema WHERE type IN ('table', 'view') "
    "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
)
_DECIMAL = re.compile(r"(?:DECIMAL|NUMERIC)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")
# The words of declared types, in the order in which they decide; SQLite's own rule of affinities, refined.
_WORDS = (
    ("BOOL", "BOOLEAN"),
    ("TIMESTAMP", "TIMESTAMP"),
    ("DATETIME", "TIMESTAMP"),
    ("DATE", "DATE"),
    ("INT", "BIGINT"),
    ("CHAR", "VARCHAR"),
    ("CLOB", "VARCHAR"),
    ("TEXT", "VARCHAR"),
    ("BLOB", "VARCHAR"),
    ("REAL", "DOUBLE"),
    ("FLOA", "DOUBLE"),
    ("DOUB", "DOUBLE"),
    ("NUMERIC", "DOUBLE"),
    ("DECIMAL", "DOUBLE"),
    ("TIME", "TIME"),
)


class SQLiteFile(CellFiles):
    r"""An SQLite file; one of its tables or views is read, in one transaction.

    SQLite lets every row have its own types; here a column has the type that its table declares, and a value that does
    not convert to it is NULL. A column of no declared type is text until the owner gives it one. A BLOB is the text of
    its hexadecimal digits (``\x00FF``).
    """

    kind = "sqlite"
    title = "SQLite"
    many = False

    def begins(self, head: bytes) -> bool:
        """Say whether these are the first bytes of an SQLite file."""
        return head.startswith(b"SQLite forma")

    def describe(self, database: Database, files: Files, wanted: Wanted) -> Source:
        """Read the columns that the table declares; see `FileSource`."""
        with _reading(files) as connection:
            table, _ = _table(connection, files.place, wanted.table)
            found = [
                (bytes(row[1]).decode(), bytes(row[2] or b"").decode(errors="replace"))
                for row in connection.execute(f"PRAGMA table_xinfo({in_double_quotes(table)})")
                if row[6] != 1
            ]
        columns = {name: _type(declared) for name, declared in found}
        untyped = [name for name, kind in columns.items() if kind is None]
        kinds = declared_types(database, files.place, untyped, wanted.types)
        schema = TableSchema(
            tuple(Column(name, kind) if kind else text_column(name, kinds) for name, kind in columns.items())
        )
        read = reading((column.declared_type for column in schema.columns), wanted.types)
        return Source(files.place, schema, without_rows(schema), reading=read)

    def batches(self, files: Files, schema: TableSchema, wanted: Wanted, faults: Faults) -> Iterator[pa.RecordBatch]:
        """Read the table as texts; see `CellFiles`."""
        own = faults.begin(files.place)
        with _reading(files) as connection:
            table, is_view = _table(connection, files.place, wanted.table)
            patience = _Patience(files) if is_view else None
            connection.set_progress_handler(patience, _STEPS_AT_ONCE)
            names = ", ".join(map(_selected, schema.names))
            writes = [
                (one.name, _digits if (one.type or "").startswith("DECIMAL(") else repr) for one in schema.columns
            ]
            try:
                rows = connection.execute(f"SELECT {names} FROM {in_double_quotes(table)}")
                while some := rows.fetchmany(_BATCH):
                    yield text_batch(schema, [_texts(row, writes, own) for row in some])
            except sqlite3.OperationalError:
                if patience is not None and patience.is_over:
                    raise SourceError(
                        f"{files.place}: the view takes too long; save what it selects as a table"
                    ) from None
                raise


class _Patience:
    """Ends a view that may never end, by its steps: a clock would read it on one machine and not on another."""

    def __init__(self, files: Files) -> None:
        self._left = MOST_STEPS + _STEPS_PER_BYTE * Path(files.paths[0]).stat().st_size

    @property
    def is_over(self) -> bool:
        """Return whether the view has taken all its steps."""
        return self._left <= 0

    def __call__(self) -> bool:
        self._left -= _STEPS_AT_ONCE
        return self.is_over


@contextmanager
def _reading(files: Files) -> Iterator[sqlite3.Connection]:
    try:
        # By its address the file is opened for reading only; a text may be any bytes, so it comes as bytes. DuckDB asks
        # for rows from a thread of its own.
        address = f"{Path(files.paths[0]).absolute().as_uri()}?mode=ro"
        with (
            reason_in_log(f"{files.place}: SQLite cannot read it", sqlite3.Error),
            closing(sqlite3.connect(address, uri=True, check_same_thread=False)) as connection,
        ):
            connection.text_factory = bytes
            _refuse_short(connection, files)
            yield connection
    except UnicodeDecodeError:
        raise SourceError(f"{files.place}: a name of a table or column is not UTF-8; rename it") from None


def _refuse_short(connection: sqlite3.Connection, files: Files) -> None:
    """Refuse a file that lacks its end, which SQLite would take for zeros; pages may also lie in the log beside it."""
    log = Path(f"{files.paths[0]}-wal")
    pages, size = (connection.execute(f"PRAGMA page_{what}").fetchone()[0] for what in ("count", "size"))
    if Path(files.paths[0]).stat().st_size < pages * size and not (log.exists() and log.stat().st_size):
        raise SourceError(f"{files.place}: is cut short")


def _table(connection: sqlite3.Connection, place: str, wanted: str | None) -> tuple[str, bool]:
    """Return the name of the table or view that is meant, and whether it is a view."""
    found = [(schema.decode(), name.decode(), bool(view)) for schema, name, view in connection.execute(_TABLES)]
    _, name, is_view = choose_table(place, found, wanted, preferred=("main",))
    return name, is_view


def _selected(column: str) -> str:
    name = in_double_quotes(column)
    return f"CASE typeof({name}) WHEN 'blob' THEN '\\x' || hex({name}) ELSE {name} END"


def _type(declared: str) -> str | None:
    """Return DuckDB's type for a declared one, None where nothing is declared that is known."""
    text = declared.upper()
    exact = _DECIMAL.search(text)
    if exact is not None and 0 < int(exact[1]) <= 38 and int(exact[2] or 0) <= int(exact[1]):
        return f"DECIMAL({int(exact[1])},{int(exact[2] or 0)})"
    return next((kind for word, kind in _WORDS if word in text), None)


def _digits(value: float) -> str:
    """Write a number without an exponent, as decimal numbers are written."""
    return f"{Decimal(repr(value)):f}"


def _texts(
    row: Sequence[Any], writes: Sequence[tuple[str, Callable[[float], str]]], faults: FileFaults
) -> list[str | None]:
    """Write the values of a row as text, numbers as their columns want them."""
    texts = [_text(value, number) for value, (_, number) in zip(row, writes, strict=True)]
    for text, value, (name, _) in zip(texts, row, writes, strict=True):
        if text is None and value is not None:
            faults.not_utf8[name] += 1
    return texts


def _text(value: Any, number: Callable[[float], str]) -> str | None:
    match value:
        case None:
            return None
        case float():
            return number(value)
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                return None
        case _:
            return str(value)
