"""The rows that releases read: columns of a source, copied in the types that dpdb compares in."""

from __future__ import annotations

from sqlglot import exp

from dpdb.engine.duckdb.database import Database
from dpdb.engine.schema import TableSchema
from dpdb.engine.sources.source import Rows

__all__ = ["in_schema_order", "read_columns"]

# What all of them can be converted to and from: microseconds of 64 bits.
_CALENDAR = ("290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54")
_NARROW_TIMES = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS")


def read_columns(
    database: Database, rows: Rows, columns: set[str], target: exp.Table, *, position: str | None = None
) -> None:
    """Copy columns of the source into a new table of the comparison types, which also drops collations.

    Every release reads its rows through here. Times that DuckDB's calendar does not reach are NULL: casts to another
    time type, even TRY_CAST, fail on them.

    `position` names a further column for the row's place in the source, from 0.
    """
    names = in_schema_order(columns, rows.schema)
    definitions = [_column_def(name, rows.schema[name].type or "VARCHAR") for name in names]
    selected = [_in_calendar(exp.column(name, quoted=True), rows.schema[name].type) for name in names]
    if position is not None:
        definitions.append(_column_def(position, "BIGINT"))
        number = exp.Window(this=exp.RowNumber(), over="OVER")
        selected.append(exp.Sub(this=number, expression=exp.convert(1)))
    database.execute(exp.Create(this=exp.Schema(this=target.copy(), expressions=definitions), kind="TABLE"))
    database.execute(exp.insert(exp.select(*selected).from_(rows.scan.copy()), target.copy()))


def _in_calendar(column: exp.Expr, kind: str | None) -> exp.Expr:
    if kind not in _NARROW_TIMES:
        return column
    low, high = (exp.cast(exp.Literal.string(text), kind, dialect="duckdb") for text in _CALENDAR)
    ends = [exp.cast(exp.Literal.string(text), kind, dialect="duckdb") for text in ("-infinity", "infinity")]
    known = exp.or_(exp.Between(this=column.copy(), low=low, high=high), exp.In(this=column.copy(), expressions=ends))
    return exp.Case(ifs=[exp.If(this=known, true=column)])


def in_schema_order(names: set[str], schema: TableSchema) -> tuple[str, ...]:
    """Return column names in the order of the schema."""
    return tuple(name for name in schema.names if name in names)


def _column_def(name: str, kind: str) -> exp.ColumnDef:
    return exp.ColumnDef(this=exp.to_identifier(name, quoted=True), kind=exp.DataType.build(kind, dialect="duckdb"))
