"""Sources: what the user points at, turned into one scan that our own database can read.

A source is only ever read. Whatever can be wrong with its rows is found when it is opened: files are read once,
completely, and what is no plain table (CSV, streams, relations, views) is copied into our database then, so that every
release sees the same rows and none fails on what they are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpdb.engine.duckdb.database import Database
from dpdb.engine.schema import Column, TableSchema, TypeOrigin
from dpdb.engine.sources import arrow, csv_rows, duckdb_file, parquet
from dpdb.engine.sources.csv_lines import Faults
from dpdb.engine.sources.places import Files, find_files
from dpdb.engine.sources.text_columns import declared_types, typed
from dpdb.errors import EngineError, SourceError
from dpdb.owner_log import OWNER_LOG

__all__ = ["Source", "SourceLike", "declared_schema", "open_empty", "open_source"]

# A path, a glob, a DuckDB connection or relation, or anything with the Arrow C stream interface.
SourceLike: TypeAlias = Any

_COPY = exp.to_table("source_row")
_STREAM = exp.to_table("source_stream")


@dataclass(frozen=True)
class Source:
    """A table as our database reads it.

    Attributes
    ----------
    description : str
        What the user named, for messages and `repr`.
    schema : TableSchema
        Names and types: public.
    scan : exp.Expr
        Table expression for a FROM clause.
    path : str, optional
        The files whose state (see `state_of`) is that of the rows; None if the rows were computed or streamed.
    state : str, optional
        That state when the source was opened. Private.
    faults : Faults, optional
        What the rule for bad lines was needed for in CSV files. Private.
    """

    description: str
    schema: TableSchema
    scan: exp.Expr
    path: str | None = None
    state: str | None = field(default=None, repr=False)
    faults: Faults | None = field(default=None, repr=False)


def open_source(
    database: Database,
    source: SourceLike,
    *,
    table: str | None = None,
    csv_schema: Mapping[str, str] | None = None,
    rows: bool = True,
) -> Source:
    """Make `source` readable in `database` and read its schema.

    Parameters
    ----------
    source
        Path of a Parquet or CSV file, of a directory or glob of either (see `find_files`), of a DuckDB file; a DuckDB
        connection or relation; a pyarrow Table, Dataset or RecordBatchReader; anything with ``__arrow_c_stream__``
        (pandas, Polars). How CSV text is cut into rows is in `csv_lines`.
    table : str, optional
        Table or view (``"name"`` or ``"schema.name"``) of a DuckDB file or connection; needed when it has several.
    csv_schema : mapping of column name to SQL type, optional
        Types of CSV columns, and of columns in names of folders (``year=2024``); the others are VARCHAR, because types
        guessed from rows would depend on private rows. A cell that does not convert to its type is NULL.
    rows : bool
        Whether rows are wanted. If not, a file that is a plain table is only described, and its scan is empty.

    Raises
    ------
    SourceError
        If there is no such file or table, its schema is not usable, or its rows cannot be read. All rows are read here,
        so that no release fails on what they are; the message tells nothing of them.
    """
    if not isinstance(source, (str, os.PathLike)):
        if csv_schema:
            raise SourceError("a CSV schema applies to CSV files only")
        return _streamed(database, arrow.stream_of(source, table))
    files = find_files(os.fspath(source))
    state = files.state()
    found, is_computed = _described(database, files, table, csv_schema or {})
    if is_computed:
        return _materialized(database, found)
    found = replace(found, path=files.place, state=state)
    if not rows:
        return replace(found, scan=_without_rows(found.schema))
    if files.kind == "csv":
        found = _csv_copied(database, found, files)
    else:
        _read_through(database, found)
    if files.state() != state:
        raise SourceError(f"{files.place}: changed while it was opened; open it again when nobody writes to its files")
    return found


def open_empty(
    database: Database,
    source: SourceLike,
    *,
    table: str | None = None,
    csv_schema: Mapping[str, str] | None = None,
) -> Source:
    """Make a table without rows readable that has the schema of a source, and read no row of the source.

    Names and types are public, rows are not. Parameters and errors as `open_source`; what that would copy (views,
    relations, streams) is only described here.
    """
    if isinstance(source, (str, os.PathLike)):
        described = _described(database, find_files(os.fspath(source)), table, csv_schema or {})[0]
        return _materialized(database, replace(described, scan=_without_rows(described.schema)))
    if csv_schema:
        raise SourceError("a CSV schema applies to CSV files only")
    return _streamed(database, arrow.schema_of(source, table))


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


def _without_rows(schema: TableSchema) -> exp.Expr:
    columns = [
        exp.alias_(exp.cast(exp.null(), column.type or "VARCHAR", dialect="duckdb"), column.name, quoted=True)
        for column in schema.columns
    ]
    return exp.select(*columns).where(exp.false()).subquery("no_row")


# -- files --------------------------------------------------------------------------------------------------------


def _described(database: Database, files: Files, table: str | None, types: Mapping[str, str]) -> tuple[Source, bool]:
    """Describe files as a source, of CSV files without its rows; and say whether its rows are computed (a view's)."""
    if table is not None and files.kind != "duckdb":
        raise SourceError(f"{files.place}: a table name applies to DuckDB files and connections only")
    try:
        if files.kind == "csv":
            named = csv_rows.csv_columns(files)
            names = (*named.own, *named.folders)
            kinds = declared_types(database, files.place, names, types)
            schema = TableSchema(tuple(_text_column(name, kinds) for name in names))
            return Source(files.place, schema, _without_rows(schema)), False
        if files.kind == "parquet":
            named = parquet.parquet_columns(database, files)
            kinds = declared_types(database, files.place, named.folders, types)
            source = _scanned(database, files.place, parquet.parquet_scan(files, named, kinds))
            columns = (_text_column(c.name, kinds) if c.name in named.folders else c for c in source.schema.columns)
            return replace(source, schema=TableSchema(tuple(columns))), False
        declared_types(database, files.place, (), types)
        scan, is_computed = duckdb_file.attach(database, files.place, table)
        return _scanned(database, files.place, scan), is_computed
    except EngineError as error:
        # Names of folders may be private.
        problem = str(error).splitlines()[0] if len(files.paths) == 1 else "the reason is in the owner's log"
        raise SourceError(f"{files.place}: cannot be read as a {files.kind} file: {problem}") from None


def _text_column(name: str, kinds: Mapping[str, str]) -> Column:
    if name in kinds:
        return Column(name, kinds[name], TypeOrigin.DECLARED)
    return Column(name, "VARCHAR", TypeOrigin.TEXT_CELLS)


def _scanned(database: Database, description: str, scan: exp.Expr) -> Source:
    described = database.describe(exp.select("*").from_(scan))
    return Source(description, TableSchema(tuple(Column(name, kind) for name, kind in described)), scan)


def _read_through(database: Database, source: Source) -> None:
    """Read every value that a release can read, as it will read them, and keep nothing."""
    if source.schema.usable:
        row = exp.Anonymous(this="hash", expressions=[exp.column(name, quoted=True) for name in source.schema.usable])
        digest = exp.select(exp.Anonymous(this="bit_xor", expressions=[row])).from_(source.scan.copy())
        try:
            database.execute(digest)
        except EngineError:
            raise _unreadable(source) from None


def _csv_copied(database: Database, source: Source, files: Files) -> Source:
    """Copy the rows of CSV files, in their declared types."""
    faults = Faults()
    refusals: list[SourceError] = []
    cells = [
        exp.alias_(
            typed(
                exp.column(column.name, quoted=True),
                column.declared_type if column.origin is TypeOrigin.DECLARED else None,
            ),
            column.name,
            quoted=True,
        )
        for column in source.schema.columns
    ]
    scan = exp.select(*cells).from_(_STREAM.copy()).subquery("csv_row")
    schema = pa.schema([(name, pa.string()) for name in source.schema.names])

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            yield from csv_rows.csv_batches(files, csv_rows.csv_columns(files), faults)
        except SourceError as error:
            refusals.append(error)
            raise

    try:
        with database.arrow_table(_STREAM.name, pa.RecordBatchReader.from_batches(schema, batches())):
            copy = _materialized(database, replace(source, scan=scan))
    except SourceError:
        raise (refusals[0] if refusals else _unreadable(source)) from None
    if faults != Faults():
        OWNER_LOG.warning("%s: read by the rule for bad lines: %s", files.place, faults)
    return replace(source, scan=copy.scan, faults=faults)


# -- streams ------------------------------------------------------------------------------------------------------


def _streamed(database: Database, stream: arrow.Stream) -> Source:
    """Copy a stream; columns of types that DuckDB does not read at all stay in the schema under Arrow's name."""
    foreign = {field.name: str(field.type) for field in stream.reader.schema if not _is_readable(database, field)}
    names = stream.reader.schema.names
    readable = [name for name in names if name not in foreign]
    if not readable:
        raise _nothing_usable(stream.description)
    with database.arrow_table(_STREAM.name, stream.of(readable)):
        found = _scanned(database, stream.description, _STREAM)
        origins = dict.fromkeys(stream.untyped, TypeOrigin.OBJECTS)
        columns = [Column(name, foreign[name]) if name in foreign else found.schema[name] for name in names]
        columns = [replace(column, origin=origins.get(column.name, column.origin)) for column in columns]
        return _materialized(database, replace(found, schema=TableSchema(tuple(columns))))


def _is_readable(database: Database, field: pa.Field) -> bool:
    try:
        with database.arrow_table("one_column", pa.RecordBatchReader.from_batches(pa.schema([field]), [])):
            return True
    except EngineError:
        return False


# -- copies -------------------------------------------------------------------------------------------------------


def _materialized(database: Database, source: Source) -> Source:
    """Copy the columns that dpdb can compare; the others stay in the schema, so that naming one gets a clear error."""
    if not source.schema.usable:
        raise _nothing_usable(source.description)
    columns = [exp.column(name, quoted=True) for name in source.schema.usable]
    try:
        database.execute(exp.select(*columns).from_(source.scan).ctas(_COPY, dialect="duckdb"))
    except EngineError:  # its message may print values of rows
        raise _unreadable(source) from None
    duckdb_file.leave_out_names(database)
    return Source(source.description, source.schema, _COPY)


def _nothing_usable(description: str) -> SourceError:
    return SourceError(f"{description}: no column has a type that constraints can compare")


def _unreadable(source: Source) -> SourceError:
    return SourceError(f"{source.description}: reading its rows failed; the reason is in the owner's log")
