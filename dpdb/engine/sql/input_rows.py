"""The rows that releases read: columns of a source, copied in the types that dpdb compares in."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dpdb.engine.duckdb.database import Database
from dpdb.engine.parents.orphans import OrphanColumn, is_orphan
from dpdb.engine.schema import Column, TableSchema
from dpdb.engine.sources.source import Rows
from dpdb.engine.sql.computed import ComputedColumn

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

    Computed columns are generated ones of the new table: they see its types and calendar, and no collation. So do those
    that say whether a row is an orphan, which are written in the end.

    `position` names a further column for the row's place in the source, from 0.
    """
    asked = [rows.schema[name] for name in in_schema_order(columns, rows.schema)]
    computed = [column for column in asked if isinstance(column, ComputedColumn)]
    orphans = [column for column in asked if isinstance(column, OrphanColumn)]
    sources = [name for column in computed for name in column.sources]
    sources += [name for column in orphans for name in column.sources]
    names = in_schema_order({*_own(asked), *sources}, rows.schema)
    definitions = [_column_def(name, rows.schema[name].type or "VARCHAR") for name in names]
    selected = [_in_calendar(exp.column(name, quoted=True), rows.schema[name].type) for name in names]
    if position is not None:
        definitions.append(_column_def(position, "BIGINT"))
        number = exp.Window(this=exp.RowNumber(), over="OVER")
        selected.append(exp.Sub(this=number, expression=exp.convert(1)))
    stored = [definition.this.copy() for definition in definitions]
    definitions += [_column_def(column.name, column.declared_type) for column in orphans]
    written = [*(definition.sql("duckdb") for definition in definitions), *map(_computed_def, computed)]
    database.execute(f"CREATE TABLE {target.sql('duckdb')} ({', '.join(written)})")
    copied = exp.select(*selected).from_(rows.scan.copy())
    database.execute(exp.insert(copied, target.copy(), columns=stored))
    for column in orphans:
        database.execute(is_orphan(column, target))


def _own(columns: Sequence[Column]) -> set[str]:
    return {column.name for column in columns if not isinstance(column, (ComputedColumn, OrphanColumn))}


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


def _computed_def(column: ComputedColumn) -> str:
    """Define a generated column, which sqlglot cannot write."""
    value = column.value.sql("duckdb", normalize_functions=False)
    return f"{_column_def(column.name, column.declared_type).sql('duckdb')} GENERATED ALWAYS AS ({value}) VIRTUAL"
