"""Scans, and the one copy of a source's rows in our own database: what every kind of source is made of."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from dpdb.engine.duckdb.database import Database
from dpdb.engine.schema import Column, TableSchema, TypeOrigin
from dpdb.engine.sources.source import Source
from dpdb.errors import EngineError, SourceError

__all__ = ["copied", "nothing_usable", "scanned", "text_column", "unreadable", "without_rows"]

_COPY = exp.to_table("source_row")


def scanned(database: Database, description: str, scan: exp.Expr) -> Source:
    """Describe what a table expression gives; no row is read."""
    described = database.describe(exp.select("*").from_(scan))
    return Source(description, TableSchema(tuple(Column(name, kind) for name, kind in described)), scan)


def copied(database: Database, source: Source) -> Source:
    """Copy the columns that dpdb can compare; the others stay in the schema, so that naming one gets a clear error."""
    if not source.schema.usable:
        raise nothing_usable(source.description)
    columns = [exp.column(name, quoted=True) for name in source.schema.usable]
    try:
        database.execute(exp.select(*columns).from_(source.scan).ctas(_COPY, dialect="duckdb"))
    except EngineError:  # its message may print values of rows
        raise unreadable(source) from None
    return Source(source.description, source.schema, _COPY)


def without_rows(schema: TableSchema) -> exp.Expr:
    """Return a table expression of a schema that gives no row."""
    columns = [
        exp.alias_(exp.cast(exp.null(), column.type or "VARCHAR", dialect="duckdb"), column.name, quoted=True)
        for column in schema.columns
    ]
    return exp.select(*columns).where(exp.false()).subquery("no_row")


def text_column(name: str, kinds: Mapping[str, str]) -> Column:
    """Return a column that is text in its files: in the type that the owner declares for it, if any."""
    if name in kinds:
        return Column(name, kinds[name], TypeOrigin.DECLARED)
    return Column(name, "VARCHAR", TypeOrigin.TEXT_CELLS)


def nothing_usable(description: str) -> SourceError:
    """Make the error of a source without a column that dpdb can compare."""
    return SourceError(f"{description}: no column has a type that constraints can compare")


def unreadable(source: Source) -> SourceError:
    """Make the error of a source whose rows cannot be read; the reason may print them."""
    return SourceError(f"{source.description}: reading its rows failed; the reason is in the owner's log")
