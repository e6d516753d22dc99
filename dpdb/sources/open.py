"""Sources: what the user points at, turned into one scan that our own database can read.

A source is only ever read. Whatever can be wrong with its rows is found when it is opened: files are read once,
completely, and what is no plain table (CSV, streams, relations, views) is copied into our database then, so that every
release sees the same rows and none fails on what they are.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpdb.database import Database
from dpdb.errors import EngineError, SourceError
from dpdb.schema import Column, TableSchema, TypeOrigin
from dpdb.sources.addresses.urls import AdbcAddress, is_fetched
from dpdb.sources.csv.delimiter import parse_delimiter
from dpdb.sources.file_source import FileSource
from dpdb.sources.files import Files
from dpdb.sources.kinds import kind_of
from dpdb.sources.places import find_files
from dpdb.sources.source import Reading, Source, SourceLike, Wanted

__all__ = ["declared_schema", "open_source"]


def open_source(
    database: Database,
    source: SourceLike,
    *,
    table: str | None = None,
    csv_schema: Mapping[str, str] | None = None,
    rows: Reading = Reading.ALL,
    delimiter: str | None = None,
    likely_delimiter: str | None = None,
) -> Source:
    """Make `source` readable in `database` and read its schema.

    Parameters
    ----------
    source
        Path of a Parquet, CSV or JSON-lines file, of a directory or glob of one kind (see `find_files`); of an Arrow,
        Excel, SQLite or DuckDB file; of a table of a lake (see `lake_table`); an address or ``-`` (`fetched_files`);
        a DuckDB connection or relation; a connection of an ADBC driver or ``adbc:DRIVER:URI``; a pyarrow Table, Dataset
        or RecordBatchReader; anything with ``__arrow_c_stream__`` (pandas, Polars). How CSV text is cut into rows is in
        `csv.lines`.
    table : str, optional
        Table or view (``"name"`` or ``"schema.name"``) of a database, sheet of a workbook; needed if there are several.
    csv_schema : mapping of column name to SQL type, optional
        Types of columns of cells (CSV, Excel, JSON lines, which need it), and in names of folders (``year=2024``); the
        others are VARCHAR, because types guessed from rows would depend on private rows. A cell that does not convert
        to its type is NULL.
    rows : Reading
        Which rows are wanted. Names and types are public, rows are not.
    delimiter : str, optional
        The character at which CSV text is cut, see `parse_delimiter`; a file of any other name that is of no known kind
        is CSV text, too. Without it, see `told_delimiter`.
    likely_delimiter : str, optional
        See `Wanted`.

    Raises
    ------
    ParameterError
        If the delimiter is none.
    SourceError
        If there is no such file or table, its schema is not usable, or its rows cannot be read. All wanted rows are
        read here, so that no release fails on what they are; the message tells nothing of them.
    """
    mark, likely = (None if text is None else parse_delimiter(text) for text in (delimiter, likely_delimiter))
    target = source
    if isinstance(source, (str, os.PathLike)):
        place = os.fspath(source)
        target = AdbcAddress.parse(place) or _files(place, database, or_text=mark is not None or likely is not None)
    kind = kind_of(target)
    if mark is not None and not (isinstance(kind, FileSource) and kind.takes_delimiter):
        shown = f"{target.place}: is {kind.title}; " if isinstance(kind, FileSource) else ""
        raise SourceError(f"{shown}a delimiter applies to CSV text only")
    return kind.open(database, target, Wanted(table, csv_schema or {}, rows, mark, likely))


def _files(place: str, database: Database, *, or_text: bool) -> Files:
    if not is_fetched(place):
        return find_files(place, or_text=or_text)
    from dpdb.sources.addresses.fetching import fetched_files

    return fetched_files(place, database.directory, or_text=or_text)


def declared_schema(database: Database, types: Mapping[str, str]) -> TableSchema:
    """Build the schema of a table that is only declared: column names with SQL types.

    Raises
    ------
    SourceError
        If a type is not a SQL type, there is no column, or two have one name.
    """
    columns = []
    for name, declared in types.items():
        try:
            ((_, kind),) = database.describe(exp.select(exp.cast(exp.null(), declared, dialect="duckdb")))
        except (EngineError, SqlglotError, ValueError):
            raise SourceError(f"schema: column {name!r}: {declared!r} is not a SQL type") from None
        columns.append(Column(name, kind, TypeOrigin.DECLARED))
    return TableSchema(tuple(columns))
