"""All columns of a table into Arrow, and Arrow rows into a file of the types that they came in. For the owner only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from sqlglot import exp

from dpdb.database import Database
from dpdb.engine.table import LocalTable
from dpdb.errors import SourceError

__all__ = ["arrow_forgets", "read_rows", "write_rows"]

_ROWS = exp.to_table("written_row")


def read_rows(table: LocalTable) -> pa.Table:
    """Read every column, in the source's order of rows. Types that Arrow does not know are read as text.

    Raises
    ------
    SourceError
        If there are no rows, or the source is a view or stream with columns of nested types, which are lost.
    """
    kept = dict(table.database.describe(exp.select("*").from_(table.rows.scan.copy())))
    for column in table.schema.columns:
        if column.name not in kept or (column.type is None and kept[column.name] != column.declared_type):
            raise SourceError(
                f"{table.description}: column {column.name!r} of type {column.declared_type} cannot be kept when a "
                "view or stream is copied; save it as a Parquet or DuckDB table first"
            )
    cells = [_as_arrow_knows_it(column.name, column.declared_type) for column in table.schema.columns]
    batches = list(table.database.stream(exp.select(*cells).from_(table.rows.scan.copy())))
    if not batches:
        raise SourceError(f"{table.description}: the table has no rows, so there is nothing to change")
    return pa.Table.from_batches(batches)


def write_rows(rows: pa.Table, types: Mapping[str, str], path: Path, kind: str, table: str = "data") -> None:
    """Write rows in their order into a new file; see `new_file`.

    Parameters
    ----------
    types
        SQL types of columns that get back a type which Arrow does not know.
    kind : str
        One of `dpdb.database.WRITTEN`; the path may end otherwise.
    table : str
        Name of the table in a DuckDB file.

    Raises
    ------
    EngineError
        If writing fails.
    """
    cells = [_in_type(name, types.get(name)) for name in rows.column_names]
    query = exp.select(*cells).from_(_ROWS.copy()).sql("duckdb")
    with Database() as database, database.arrow_table(_ROWS.name, rows):
        database.write_query(query, path, kind, table)


def arrow_forgets(declared: str) -> bool:
    """Say whether a declared type comes back from Arrow as another one."""
    return _read_as_text(declared) or declared in {"HUGEINT", "UHUGEINT"}


def _read_as_text(declared: str) -> bool:
    return declared.startswith("ENUM(") or declared in {"BIT", "JSON", "TIME WITH TIME ZONE", "UUID"}


def _as_arrow_knows_it(name: str, declared: str) -> exp.Expr:
    return _in_type(name, "VARCHAR" if _read_as_text(declared) else None)


def _in_type(name: str, wanted: str | None) -> exp.Expr:
    column = exp.column(name, quoted=True)
    if wanted is None:
        return column
    return exp.alias_(exp.cast(column, exp.DataType.build(wanted, dialect="duckdb")), name, quoted=True)
