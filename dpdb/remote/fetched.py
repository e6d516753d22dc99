"""Rows that another engine sends, in our own database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from dpdb.engine import AcrossColumn
from dpdb.engine.sql import ComputedColumn, ComputedRows, in_schema_order
from dpdb.schema import Column, TableSchema
from dpdb.sources import Rows, Source

if TYPE_CHECKING:
    import pyarrow as pa

    from dpdb.database import Database
    from dpdb.engine.sql import BoundConstraint
    from dpdb.remote.spelling import Spelling
    from dpdb.remote.table import RemoteTable

__all__ = ["Asking", "fetched", "in_parts", "stored_columns"]

_PART_ROWS = 2_000_000
"""Rows that come at once, by the owner's public guess: what is one answer has to fit in memory."""


@dataclass(frozen=True)
class Asking:
    """What a remote table is asked with.

    Attributes
    ----------
    database : Database
        Our own, for rows that have come.
    table : RemoteTable
    spelling : Spelling
    rows : exp.Expr
        For a FROM clause: those that are used, at most k of each unit.
    schema : TableSchema
        Of them, with computed columns.
    gather_rows : int
        How many rows are expected to come at most, as the owner says.
    has_asked : Event
        Set by every question.
    """

    database: Database
    table: RemoteTable
    spelling: Spelling
    rows: exp.Expr
    schema: TableSchema
    gather_rows: int
    has_asked: Event

    def ask(self, tree: exp.Expr) -> pa.Table:
        """Ask in the engine's own SQL."""
        self.has_asked.set()
        return self.table.ask(self.spelling.spelled(self.database, tree))

    def row(self, tree: exp.Expr) -> tuple[Any, ...]:
        """Ask what has one row."""
        return tuple(column[0].as_py() for column in self.ask(tree).columns)

    def value(self, tree: exp.Expr) -> Any:
        """Ask what has one row of one column."""
        return self.row(tree)[0]


@contextmanager
def fetched(
    asking: Asking, name: str, columns: Sequence[str], answers: Iterator[pa.Table], beside: Sequence[Column] = ()
) -> Iterator[Rows]:
    """Write answers into a table of our own database while the block lasts.

    Parameters
    ----------
    name : str
        Of the table.
    columns : sequence of str
        Of the remote table, the first ones of each answer.
    beside : sequence of Column
        What the answers have besides, after them.
    """
    here = exp.table_(f"{name}_fetched", quoted=True)
    kinds = [(column, asking.schema[column].type or "VARCHAR") for column in columns]
    kinds += [(column.name, column.declared_type) for column in beside]
    definitions = [
        exp.ColumnDef(this=exp.to_identifier(column, quoted=True), kind=exp.DataType.build(kind, dialect="duckdb"))
        for column, kind in kinds
    ]
    written = ", ".join(definition.sql("duckdb") for definition in definitions)
    asking.database.execute(f"DROP TABLE IF EXISTS {here.sql('duckdb')}")
    asking.database.execute(f"CREATE TABLE {here.sql('duckdb')} ({written})")
    try:
        for answer in answers:
            with asking.database.arrow_table("fetched_part", answer):
                asking.database.execute(f"INSERT INTO {here.sql('duckdb')} SELECT * FROM fetched_part")
        schema = TableSchema((*map(_as_fetched, asking.schema.columns), *beside))
        rows: Rows = Source(asking.table.description, schema, here)
        if any(isinstance(column, ComputedColumn) for column in schema.columns):
            rows = ComputedRows(rows, schema)
        yield rows
    finally:
        asking.database.execute(f"DROP TABLE IF EXISTS {here.sql('duckdb')}")


def _as_fetched(column: Column) -> Column:
    """Return a column as it is here: what rows of a parent decide has been decided there."""
    return Column(column.name, column.declared_type) if isinstance(column, AcrossColumn) else column


def in_parts(asking: Asking, query: exp.Select, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Ask for rows that may not fit in memory: in as many parts as the owner's guess says, by a hash of the row.

    Parameters
    ----------
    asking
        The table, its spelling of SQL, and the owner's guess of how many rows come here.
    query
        Selects the rows.
    columns
        Columns of the result whose hash tells the parts apart.
    """
    parts = -(-asking.gather_rows // _PART_ROWS)
    if parts <= 1:
        yield asking.ask(query)
        return
    found = query.subquery("found")
    row_hash = asking.spelling.row_hash([exp.column(name, quoted=True) for name in columns])
    part = exp.func("abs", exp.paren(row_hash) % parts)
    for number in range(parts):
        chosen = part.eq(number)
        yield asking.ask(exp.select("*").from_(found.copy()).where(chosen))


def stored_columns(constraints: Sequence[BoundConstraint], schema: TableSchema) -> tuple[str, ...]:
    """The columns of the table that constraints read, those that computed columns are made of among them."""
    names: set[str] = set()
    for name in {name for dc in constraints for name in dc.columns}:
        column = schema[name]
        names |= set(column.sources) if isinstance(column, ComputedColumn) else {name}
    return in_schema_order(names, schema)
