"""The rows that releases read: columns of a source in the types that dpdb compares in, copied or as a subquery."""

from __future__ import annotations

from sqlglot import exp

from dpdb.database import Database
from dpdb.engine.parents.orphans import AcrossColumn, violates_across
from dpdb.engine.sql.computed import ComputedColumn
from dpdb.predicates import is_enum
from dpdb.schema import PRESENCE, Column, TableSchema
from dpdb.sources import Rows, presence

__all__ = ["beside_members", "in_schema_order", "members_read", "read_columns", "typed_rows"]

# What all of them can be converted to and from: microseconds of 64 bits.
_CALENDAR = ("290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54")
_NARROW_TIMES = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS")


def read_columns(
    database: Database, rows: Rows, columns: set[str], target: exp.Table, *, position: str | None = None
) -> None:
    """Copy columns of the source into a new table of the comparison types, which also drops collations.

    Every release reads its rows through here. Times that DuckDB's calendar does not reach are NULL: casts to another
    time type, even TRY_CAST, fail on them. Of a column that cannot be compared it is read whether it is NULL.

    Computed columns are generated ones of the new table: they see its types and calendar, and no collation. So do those
    that say whether a row is an orphan, which are written in the end, members first.

    Parameters
    ----------
    database
        Where the source can be read and the table is made.
    rows
        The rows of the source.
    columns
        Names of the columns to copy, computed ones among them.
    target
        The table to make.
    position
        Name of a further column for the row's place in the source, from 0. Default: none.
    """
    own, computed, orphans = _stored_and_computed(rows.schema, columns)
    definitions = [_column_def(column.name, column.type or PRESENCE) for column in own]
    selected = [_read(column) for column in own]
    if position is not None:
        definitions.append(_column_def(position, "BIGINT"))
        number = exp.Window(this=exp.RowNumber(), over="OVER")
        selected.append(number - 1)
    stored = [definition.this.copy() for definition in definitions]
    definitions += [_column_def(column.name, column.declared_type) for column in orphans]
    written = [*(definition.sql("duckdb") for definition in definitions), *map(_computed_def, computed)]
    database.execute(f"CREATE TABLE {target.sql('duckdb')} ({', '.join(written)})")
    copied = exp.select(*selected).from_(rows.scan.copy())
    database.execute(exp.insert(copied, target.copy(), columns=stored))
    for column in orphans:
        database.execute(violates_across(column, target))


def typed_rows(rows: Rows, columns: set[str]) -> exp.Subquery:
    """Return the same columns as a subquery without alias: what `read_columns` would copy, for a single reading.

    None may be that of a rule across tables.
    """
    own, computed, orphans = _stored_and_computed(rows.schema, columns)
    assert not orphans, "a release that only groups rows refuses rules across tables"
    typed = [exp.alias_(_typed(column), column.name, quoted=True) for column in own]
    query = exp.select(*(typed or [exp.convert(1)])).from_(rows.scan.copy())
    if computed:
        values = [exp.alias_(column.value.copy(), column.name, quoted=True) for column in computed]
        query = exp.select("*", *values).from_(query.subquery("typed_row"))
    return query.subquery()


def _typed(column: Column) -> exp.Expr:
    """Cast as a copy does, which has no collation either."""
    kind = column.type or PRESENCE
    value = _read(column)
    if column.type is None:
        return value
    if column.declared_type != kind or is_enum(kind):  # types of one spelling may have names
        value = exp.cast(value, kind, dialect="duckdb")
    if kind == "VARCHAR":
        return exp.Collate(this=value, expression=exp.to_identifier("binary", quoted=True))
    return value


def _read(column: Column) -> exp.Expr:
    value = exp.column(column.name, quoted=True)
    return presence(column.name) if column.type is None else _in_calendar(value, column.type)


def _stored_and_computed(
    schema: TableSchema, columns: set[str]
) -> tuple[list[Column], list[ComputedColumn], list[AcrossColumn]]:
    """Return the table's own columns that are read for some columns, those that are computed, and the orphans' ones."""
    asked = [column for column in schema.columns if column.name in columns]
    members = members_read(schema, columns)
    computed = [column for column in asked if isinstance(column, ComputedColumn)]
    orphans = [*members, *(column for column in asked if isinstance(column, AcrossColumn) and column not in members)]
    own = {column.name for column in asked if not isinstance(column, (ComputedColumn, AcrossColumn))}
    sources = [column.sources for column in computed] + [column.sources for column in orphans]
    read = own.union(*sources) - {column.name for column in members}
    return [column for column in schema.columns if column.name in read], computed, orphans


def members_read(schema: TableSchema, columns: set[str]) -> list[AcrossColumn]:
    """Return the members that are read for some columns: those among them, and those in what is told from a row."""
    told = (column for name in columns if isinstance(column := schema[name], (ComputedColumn, AcrossColumn)))
    read = columns.union(*(column.sources for column in told))
    return [c for c in schema.columns if c.name in read and isinstance(c, AcrossColumn) and c.met.is_member]


def beside_members(schema: TableSchema, columns: set[str]) -> tuple[tuple[str, ...], TableSchema]:
    """Return what is read of rows for some columns, and the schema of the same rows with members that are known."""
    stored, _, _ = _stored_and_computed(schema, columns)
    known = (
        Column(column.name, column.declared_type)
        if isinstance(column, AcrossColumn) and column.met.is_member
        else column
        for column in schema.columns
    )
    return tuple(column.name for column in stored), TableSchema(tuple(known))


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
