"""What a remote table is asked, as trees over its rows; and its answers, as rows in our own database.

All questions are aggregates; what brings rows is `gather`.

No number of a question depends on a row: which questions are asked, and how many, is decided by the public schema, the
constraints and the options. Only of keys is more asked where rows share a hash (`dpdb.engine.count_classes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from dpdb.engine import AcrossColumn
from dpdb.engine.sql import (
    BoundConstraint,
    ComputedColumn,
    WherePredicate,
    beside_members,
    column_def,
    in_schema_order,
    members_read,
    not_alone,
    self_conflict,
)
from dpdb.remote.foreign_spelling import ForeignSpelling
from dpdb.remote.table import WithoutRows
from dpdb.schema import Column, TableSchema
from dpdb.sources import Source

if TYPE_CHECKING:
    import pyarrow as pa

    from dpdb.database import Database
    from dpdb.remote.table import RemoteTable

_PART_ROWS = 2_000_000
"""Rows that come at once, by the owner's public guess: what is one answer has to fit in memory."""


@dataclass(frozen=True)
class Asking:
    """What a remote table is asked with.

    Attributes
    ----------
    rows : exp.Expr
        For a FROM clause: those that are used, at most k of each unit.
    gather_rows : int
        How many rows are expected to come at most, as the owner says.
    has_asked : Event
        Set by every question.
    """

    database: Database
    table: RemoteTable
    spelling: ForeignSpelling
    rows: exp.Expr
    schema: TableSchema
    gather_rows: int
    has_asked: Event

    @property
    def sees_rows(self) -> bool:
        """Whether it asks of the table's rows, and not of none before a debit."""
        return not isinstance(self.table, WithoutRows)

    def ask(self, tree: exp.Expr) -> pa.Table:
        """Ask in the engine's own SQL."""
        self.has_asked.set()
        return self.table.ask(self.spelling.spelled(self.database, tree))

    def row(self, tree: exp.Expr) -> tuple[Any, ...]:
        """Ask what has one row."""
        return tuple(column[0].as_py() for column in self.ask(tree).columns)

    def rows_of(self, tree: exp.Expr) -> list[tuple[Any, ...]]:
        """Ask what has few rows."""
        return list(zip(*(column.to_pylist() for column in self.ask(tree).columns), strict=True))

    def value(self, tree: exp.Expr) -> Any:
        """Ask what has one row of one column."""
        return self.row(tree)[0]

    def selected(self, names: set[str], where: WherePredicate | None = None) -> exp.Select:
        """Select columns, computed ones among them, of the rows that a predicate selects."""
        rows, schema = self.rows, self.schema
        if members := members_read(schema, names):
            from dpdb.remote.parents import join_across

            stored, known = beside_members(schema, names | (set() if where is None else set(where.columns)))
            query, found = join_across(exp.select().from_(rows.copy()), rows, schema, members)
            told = [exp.alias_(found[column.name], column.name, quoted=True) for column in members]
            query = query.select(*(exp.column(name, quoted=True) for name in stored), *told)
            rows, schema = query.subquery("member_row"), known
        values: dict[str, exp.Expr] = {name: exp.column(name, quoted=True) for name in in_schema_order(names, schema)}
        columns = [schema[name] for name in values]
        values |= {column.name: column.value.copy() for column in columns if isinstance(column, ComputedColumn)}
        query = exp.select().from_(rows.copy())
        across = [column for column in columns if isinstance(column, AcrossColumn)]
        if across:
            from dpdb.remote.parents import join_across  # most tables have no parents

            query, found = join_across(query, rows, schema, across)
            values |= found
        query = query.select(*(exp.alias_(value, name, quoted=True) for name, value in values.items()))
        return query if where is None else query.where(where.condition)

    def tuples(
        self, constraints: Sequence[BoundConstraint], where: WherePredicate | None, beside: Iterable[str] = ()
    ) -> exp.Select:
        """Select the constrained columns of a slice's rows, but for the rows that conflict with themselves."""
        tuples = self.selected(columns_read(constraints).union(beside), where)
        in_graph = not_alone(constraints, ROWS.name)
        return exp.select("*").from_(tuples.subquery(ROWS.name)).where(*in_graph) if in_graph else tuples

    def stored_columns(self, constraints: Sequence[BoundConstraint]) -> tuple[str, ...]:
        """The columns of the table that constraints read, those that computed columns are made of among them."""
        columns = [self.schema[name] for name in columns_read(constraints)]
        read = (each.sources if isinstance(each, ComputedColumn) else (each.name,) for each in columns)
        return in_schema_order(set().union(*read), self.schema)


def columns_read(constraints: Iterable[BoundConstraint]) -> set[str]:
    """Return the columns that constraints read."""
    return {name for dc in constraints for name in dc.columns}


@contextmanager
def fetched(
    asking: Asking, name: str, columns: Sequence[str], answers: Iterator[pa.Table], beside: Sequence[Column] = ()
) -> Iterator[Source]:
    """Write answers into a table of our own database while the block lasts.

    Parameters
    ----------
    columns : sequence of str
        Of the remote table, the first ones of each answer.
    beside : sequence of Column
        What the answers have besides, after them.
    """
    here = exp.table_(f"{name}_fetched", quoted=True)
    kinds = [(column, asking.schema[column].type or "VARCHAR") for column in columns]
    kinds += [(column.name, column.declared_type) for column in beside]
    written = ", ".join(column_def(column, kind).sql("duckdb") for column, kind in kinds)
    asking.database.execute(f"DROP TABLE IF EXISTS {here.sql('duckdb')}")
    asking.database.execute(f"CREATE TABLE {here.sql('duckdb')} ({written})")
    try:
        for answer in answers:
            with asking.database.arrow_table("fetched_part", answer):
                asking.database.execute(f"INSERT INTO {here.sql('duckdb')} SELECT * FROM fetched_part")
        schema = TableSchema((*map(_as_fetched, asking.schema.columns), *beside))
        yield Source(asking.table.description, schema, here)
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
    for number in range(parts if asking.sees_rows else 1):
        chosen = part.eq(number)
        yield asking.ask(exp.select("*").from_(found.copy()).where(chosen))


TUPLES = exp.to_table("tuple_row")
ROWS = exp.to_table("input_row")
_PER_QUERY, _JOINS_PER_QUERY = 100, 8


def counted_if(condition: exp.Expr) -> exp.Expr:
    """Count the rows for which a condition is true."""
    return exp.Count(this=exp.Case(ifs=[exp.If(this=condition, true=exp.convert(1))]))


def counted_alone(constraints: Sequence[BoundConstraint]) -> exp.Expr:
    """Count the rows, called `ROWS`, that violate one of some constraints by themselves."""
    return counted_if(exp.paren(self_conflict(constraints, ROWS.name)))


def numbered(values: Iterable[exp.Expr]) -> exp.Select:
    """Query some values under names of ours; it lacks what they are of."""
    return exp.select(*(exp.alias_(value, f"count_{place}") for place, value in enumerate(values)))


def in_queries(schema: TableSchema, read: Sequence[Iterable[str]]) -> Iterator[list[int]]:
    """Part questions, by the columns that each reads, into those that one query asks."""
    part: list[int] = []
    joined: set[str] = set()
    for place, asked in enumerate(read):
        names = set(asked)
        across = {name for name in names if isinstance(schema[name], AcrossColumn)}  # each is a join, as is a member
        across |= {column.name for column in members_read(schema, names)}
        if part and (len(part) >= _PER_QUERY or len(joined | across) > _JOINS_PER_QUERY):
            yield part
            part, joined = [], set()
        part.append(place)
        joined |= across
    if part:
        yield part


def content_query(rows: exp.Expr, schema: TableSchema, spelling: ForeignSpelling) -> exp.Select:
    """Select the number of rows and two order-free digests of them; see `dpdb.sources.open`.

    Parameters
    ----------
    schema
        Its columns and types, of which those that can be compared count.
    """
    row_hash = spelling.row_hash([exp.column(name, quoted=True) for name in schema.usable])
    hashes = exp.select(exp.alias_(row_hash, "row_hash")).from_(rows.copy()).subquery("hashed_row")
    column = exp.column("row_hash")
    return exp.select(
        exp.alias_(exp.Count(this=exp.Star()), "count_0"),
        exp.alias_(exp.Anonymous(this="bit_xor", expressions=[column]), "digest_0"),
        exp.alias_(spelling.hash_sum(column.copy()), "digest_1"),
    ).from_(hashes)


def hash_counts(hashes: exp.Select, column: exp.Column, most: int) -> exp.Select:
    """Select the hashes that several rows have, and the number of those that one row has (beside NULL).

    Parameters
    ----------
    hashes
        Selects the hash of each row, as `column`.
    """
    count, one = exp.Count(this=exp.Star()), exp.convert(1)
    shared = exp.Case(ifs=[exp.If(this=count > one, true=column.copy())])
    counted = exp.select(exp.alias_(shared, "shared")).from_(hashes.subquery("hashed_row")).group_by(column.copy())
    answer = exp.select("shared", exp.alias_(count.copy(), "hashes")).from_(counted.subquery("counted_hash"))
    return answer.group_by("shared").limit(most)
