"""Sources: what the user points at, turned into one scan that our own database can read.

A source is only ever read. Files are scanned once per slice; what can be read only once or is computed on reading
(streams, relations, views) is copied into our database first, so that every release sees the same rows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpdb.engine import arrow_source, file_source
from dpdb.engine.database import Database
from dpdb.engine.schema import Column, TableSchema, comparison_type
from dpdb.errors import EngineError, SourceError

__all__ = ["Source", "SourceLike", "declared_schema", "open_empty", "open_source"]

# A path, a glob, a DuckDB connection or relation, or anything with the Arrow C stream interface.
SourceLike: TypeAlias = Any

_COPY = exp.to_table("source_row")


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
        Where its rows are read from on every scan; None if they were copied into our database.
    """

    description: str
    schema: TableSchema
    scan: exp.Expr
    path: str | None = None


def open_source(
    database: Database,
    source: SourceLike,
    *,
    table: str | None = None,
    csv_schema: Mapping[str, str] | None = None,
) -> Source:
    """Make `source` readable in `database` and read its schema.

    Parameters
    ----------
    source
        Path of a Parquet file, a directory or glob of Parquet files, a CSV file, a DuckDB file; a DuckDB connection or
        relation; a pyarrow Table, Dataset or RecordBatchReader; anything with ``__arrow_c_stream__`` (pandas, Polars).
    table : str, optional
        Table or view (``"name"`` or ``"schema.name"``) of a DuckDB file or connection; needed when it has several.
    csv_schema : mapping of column name to SQL type, optional
        Types of CSV columns; the others are VARCHAR, because types guessed from rows would depend on private rows.
        A cell that does not convert to its type is NULL.

    Raises
    ------
    SourceError
        If there is no such file or table, it cannot be read, or its schema is not usable.
    """
    if not isinstance(source, (str, os.PathLike)):
        if csv_schema:
            raise SourceError("a CSV schema applies to CSV files only")
        return _copied(database, *arrow_source.reader_of(source, table))
    found, is_view = _file(database, os.fspath(source), table, csv_schema)
    return _materialized(database, found) if is_view else found


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
        described = _file(database, os.fspath(source), table, csv_schema)[0]
        return _materialized(database, replace(described, scan=_without_rows(described.schema)))
    if csv_schema:
        raise SourceError("a CSV schema applies to CSV files only")
    description, schema = arrow_source.schema_of(source, table)
    return _copied(database, description, schema.empty_table().to_reader())


def _without_rows(schema: TableSchema) -> exp.Expr:
    columns = [
        exp.alias_(exp.cast(exp.null(), column.type or "VARCHAR", dialect="duckdb"), column.name, quoted=True)
        for column in schema.columns
    ]
    return exp.select(*columns).where(exp.false()).subquery("no_row")


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
        columns.append(Column(name, kind))
    return TableSchema(tuple(columns))


def _file(
    database: Database, path: str, table: str | None, csv_schema: Mapping[str, str] | None
) -> tuple[Source, bool]:
    """Describe a file as a source; the second value says whether it is a view."""
    kind = file_source.kind_of(path)
    if table is not None and kind != "duckdb":
        raise SourceError(f"{path}: a table name applies to DuckDB files and connections only")
    if csv_schema and kind != "csv":
        raise SourceError(f"{path}: a CSV schema applies to CSV files only")
    try:
        if kind == "parquet":
            return replace(_scanned(database, path, file_source.parquet_scan(database, path)), path=path), False
        if kind == "csv":
            scan = file_source.csv_scan(database, path, csv_schema or {})
            return replace(_scanned(database, path, scan), path=path), False
        scan, is_view = file_source.attach(database, path, table)
        return replace(_scanned(database, path, scan), path=path), is_view
    except EngineError as error:
        raise SourceError(f"{path}: cannot be read as a {kind} file: {str(error).splitlines()[0]}") from None


def _scanned(database: Database, description: str, scan: exp.Expr) -> Source:
    described = database.describe(exp.select("*").from_(scan))
    return Source(description, TableSchema(tuple(Column(name, kind) for name, kind in described)), scan)


def _copied(database: Database, description: str, reader: pa.RecordBatchReader) -> Source:
    with database.arrow_table("arrow_stream", reader):
        return _materialized(database, _scanned(database, description, exp.to_table("arrow_stream")))


def _materialized(database: Database, source: Source) -> Source:
    """Copy the columns that dpdb can compare; the others stay in the schema, so that naming one gets a clear error."""
    usable = [column for column in source.schema.columns if comparison_type(column.declared_type)]
    if not usable:
        raise SourceError(f"{source.description}: no column has a type that constraints can compare")
    columns = [exp.column(column.name, quoted=True) for column in usable]
    try:
        database.execute(exp.select(*columns).from_(source.scan).ctas(_COPY, dialect="duckdb"))
    except EngineError:  # its message may print values of rows
        raise SourceError(f"{source.description}: reading its rows failed; the reason is in the owner's log") from None
    return Source(source.description, source.schema, _COPY)
