"""A slice: the rows that a `where` selects, their canonical ranks, their conflict table.

A slice is an induced subgraph: both rows of a conflict lie in it. Everything is made in a schema of its own and dropped
with `close()`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from dpdb.engine.duckdb.database import Database
from dpdb.engine.progress import Progress, no_progress
from dpdb.engine.schema import TableSchema, free_name
from dpdb.engine.sources.open import Source
from dpdb.engine.sql import degree_bound
from dpdb.engine.sql.bind import BoundConstraint
from dpdb.engine.sql.codes import coded_columns, create_codes, with_codes
from dpdb.engine.sql.constraint_sql import self_conflict
from dpdb.engine.sql.files import sql_statement
from dpdb.engine.sql.joins import join_plan
from dpdb.engine.sql.where import WherePredicate

__all__ = ["Slice", "TableEdges", "read_columns"]

Nodes = npt.NDArray[np.uint32]
Codes = npt.NDArray[np.int32]


class TableEdges:
    """The materialized conflict edges in canonical order (implements `dpdb.graph.OrderedEdges`)."""

    def __init__(self, database: Database, table: exp.Table | None, node_count: int) -> None:
        self._database = database
        self._table = table
        self._node_count = node_count

    @property
    def node_count(self) -> int:
        """Rows in the graph; node i is the row of canonical rank i."""
        return self._node_count

    def batches(self) -> Iterator[tuple[Nodes, Nodes]]:
        """Stream (u, v) in the order in which the table was written: the canonical one."""
        if self._table is None:
            return
        for batch in self._database.stream(exp.select("u", "v").from_(self._table.copy())):
            yield _integers(batch, 0), _integers(batch, 1)


class Slice:
    """The conflict graph of one slice, in the database.

    Parameters
    ----------
    constraints : sequence of BoundConstraint
        Distinct constraints; their positions order the edges.
    name : str
        Name of the slice's own schema.
    keep_source_row : bool
        Also keep the rows and each one's position in the source, for what only the owner may ask (`violations`).
    progress : callable
        Called with the name of each step.

    Attributes
    ----------
    self_conflicts : int
        Rows that violate a single-tuple constraint; they are not in the graph. Private.
    node_count : int
        Rows in the graph. Private.
    columns, coded : tuple of str
        The constrained columns, and those that `tuple_row` keeps as order-preserving codes.
    """

    def __init__(
        self,
        database: Database,
        source: Source,
        constraints: Sequence[BoundConstraint],
        where: WherePredicate | None,
        *,
        name: str,
        keep_source_row: bool = False,
        progress: Progress = no_progress,
    ) -> None:
        self.database = database
        self._schema = exp.to_identifier(name, quoted=True)
        self._name = name
        self._where = where
        self._progress = progress
        self.constraints = tuple(constraints)
        self.columns = _constrained_columns(constraints, source.schema)
        self.coded = coded_columns(constraints, self.columns)
        self.rank = free_name("id", self.columns)
        self.source_row = free_name("source_row", [*self.columns, self.rank]) if keep_source_row else None
        self.tuples = self.table("tuple_row")
        database.execute(f"CREATE SCHEMA {self._schema.sql('duckdb')}")
        try:
            progress("reading the table")
            self._read(source)
            progress("ranking rows")
            self.self_conflicts = 0
            if any(dc.constraint.is_single_tuple for dc in constraints):
                self._set_self_conflicts_apart()
            self._rank()
        except BaseException:
            self.close()
            raise

    def table(self, name: str) -> exp.Table:
        """Name a table in the slice's schema."""
        return exp.table_(name, db=self._schema.copy(), quoted=True)

    @property
    def pairwise(self) -> list[tuple[int, BoundConstraint]]:
        """(position, constraint) of the constraints over two tuples."""
        return [(k, dc) for k, dc in enumerate(self.constraints) if not dc.constraint.is_single_tuple]

    @property
    def tuple_columns(self) -> list[str]:
        """All columns of the ranked tuples."""
        return [self.rank, *self.columns, *([] if self.source_row is None else [self.source_row])]

    # -- building ---------------------------------------------------------------------------------------------

    def _read(self, source: Source) -> None:
        columns = {*self.columns, *(self._where.columns if self._where else ())}
        read_columns(self.database, source, columns, self.table("input_row"), position=self.source_row)

    def _set_self_conflicts_apart(self) -> None:
        """Move the rows that violate a single-tuple constraint out of the slice: (row, first constraint violated)."""
        singles = [(k, dc) for k, dc in enumerate(self.constraints) if dc.constraint.is_single_tuple]
        rows = exp.alias_(self.table("input_row"), "row", table=True)
        first = exp.Case(ifs=[exp.If(this=dc.over("row", "row"), true=exp.convert(k)) for k, dc in singles])
        position = exp.null() if self.source_row is None else exp.column(self.source_row, table="row", quoted=True)
        apart = exp.select(exp.alias_(first, "dc"), exp.alias_(position, "source_row")).from_(rows)
        apart = apart.where(*self.chosen(), self_conflict(self.constraints, "row"))
        self.database.execute(apart.ctas(self.table("self_conflict")))
        self.self_conflicts = self._count(self.table("self_conflict"))

    def _rank(self) -> None:
        """Rank the rows by a hash of their values, then by the values (as codes): no other row can change the order."""
        dictionaries = []
        for position, column in enumerate(self.coded):
            table = self.table(f"code_{position}")
            create_codes(self.database, self.table("input_row"), column, table)
            dictionaries.append((column, table))
        values: list[exp.Expr] = [exp.column(name, table="row", quoted=True) for name in self.columns]
        kept = [self._kept(name) for name in self.columns]
        order = [exp.Ordered(this=key.copy()) for key in (exp.Anonymous(this="hash", expressions=values), *kept)]
        number = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=order), over="OVER")
        rank = exp.cast(exp.Sub(this=number, expression=exp.convert(1)), "UINTEGER", dialect="duckdb")
        columns = [exp.alias_(value, name, quoted=True) for name, value in zip(self.columns, kept, strict=True)]
        if self.source_row is not None:
            columns.append(exp.column(self.source_row, table="row", quoted=True))
        ranked = exp.select(exp.alias_(rank, self.rank, quoted=True), *columns)
        ranked = with_codes(ranked.from_(exp.alias_(self.table("input_row"), "row", table=True)), "row", dictionaries)
        conditions = self.chosen()
        if any(dc.constraint.is_single_tuple for dc in self.constraints):
            conflict = exp.paren(self_conflict(self.constraints, "row"))
            conditions.append(exp.Not(this=exp.Is(this=conflict, expression=exp.true())))
        self.database.execute(ranked.where(*conditions).ctas(self.tuples.copy()))
        spent = [table for _, table in dictionaries]
        if self.source_row is None:
            spent.append(self.table("input_row"))
        for table in spent:
            self.database.execute(f"DROP TABLE {table.sql('duckdb')}")
        self.node_count = self._count(self.tuples)

    def _kept(self, name: str) -> exp.Expr:
        """What `tuple_row` keeps of a column: its code, or its value where codes would not do."""
        if name in self.coded:
            return exp.column("code", table=f"code_{self.coded.index(name)}", quoted=True)
        return exp.column(name, table="row", quoted=True)

    # -- the conflict graph, two ways ----------------------------------------------------------------------------

    @cached_property
    def edges(self) -> TableEdges:
        """The edges, materialized in `conflict_edge` on first use. Private."""
        if not self.pairwise:
            return TableEdges(self.database, None, self.node_count)
        self._progress("joining conflicts")
        self.database.execute(sql_statement("conflict_edge", self._name))
        found, members = self.table("edge"), self.table("member")
        for position in range(len(self.pairwise)):
            plan = join_plan(
                position,
                self.pairwise,
                self.tuples,
                self.rank,
                members=members,
                coded=self.coded,
                taken=self.tuple_columns,
            )
            if plan.members is not None:
                self.database.execute(plan.members.ctas(members.copy()))
            first = position == 0
            self.database.execute(plan.edges.ctas(found.copy()) if first else exp.insert(plan.edges, found.copy()))
            if plan.members is not None:
                self.database.execute(f"DROP TABLE {members.sql('duckdb')}")
        order = [exp.Ordered(this=exp.column(name)) for name in ("u", "dc", "v")]
        ordered = exp.select("u", "v", "dc").from_(found.copy()).order_by(*order)
        self.database.execute(exp.insert(ordered, self.table("conflict_edge")))
        self.database.execute(f"DROP TABLE {found.sql('duckdb')}")
        return TableEdges(self.database, self.table("conflict_edge"), self.node_count)

    def codes(self) -> dict[str, Codes]:
        """Read the coded columns, in rank order: int32 codes, -1 for NULL. Private."""
        if not self.coded:
            return {}
        integers = [
            exp.alias_(
                exp.cast(
                    exp.func("coalesce", exp.cast(exp.column(name, quoted=True), "INTEGER"), exp.convert(-1)), "INTEGER"
                ),
                f"c{number}",
            )
            for number, name in enumerate(self.coded)
        ]
        query = exp.select(*integers).from_(self.tuples.copy()).order_by(exp.column(self.rank, quoted=True))
        batches = list(self.database.stream(query))
        return {
            name: np.concatenate([_integers(batch, number) for batch in batches]) if batches else np.empty(0, np.int32)
            for number, name in enumerate(self.coded)
        }

    # -- statistics -------------------------------------------------------------------------------------------

    def degree_bound(self) -> int:
        """Exact upper bound of the maximum degree (see `degree_bound`). Private."""
        terms = degree_bound.degree_terms(self.constraints)
        return degree_bound.evaluate(self.database, terms, self.tuples)

    def chosen(self) -> list[exp.Expr]:
        """The slice's predicate over the rows aliased `row`."""
        if self._where is None:
            return []
        condition = self._where.condition
        for column in condition.find_all(exp.Column):
            column.set("table", exp.to_identifier("row", quoted=True))
        return [exp.paren(condition)]

    def _count(self, table: exp.Table) -> int:
        return int(self.database.value(exp.select(exp.Count(this=exp.Star())).from_(table.copy())))

    def close(self) -> None:
        """Drop the slice's tables."""
        self.database.execute(f"DROP SCHEMA IF EXISTS {self._schema.sql('duckdb')} CASCADE")


def _integers(batch: pa.RecordBatch, column: int) -> npt.NDArray[Any]:
    """Read an integer column without NULL, without a copy (`to_numpy` would import pandas where it is installed)."""
    return np.from_dlpack(batch.column(column))


def read_columns(
    database: Database, source: Source, columns: set[str], target: exp.Table, *, position: str | None = None
) -> None:
    """Copy columns of the source into a new table of the comparison types, which also drops collations.

    Every release reads its rows through here. Times that DuckDB's calendar does not reach are NULL: casts to another
    time type, even TRY_CAST, fail on them.

    `position` names a further column for the row's place in the source, from 0.
    """
    names = _in_schema_order(columns, source.schema)
    definitions = [_column_def(name, source.schema[name].type or "VARCHAR") for name in names]
    selected = [_in_calendar(exp.column(name, quoted=True), source.schema[name].type) for name in names]
    if position is not None:
        definitions.append(_column_def(position, "BIGINT"))
        number = exp.Window(this=exp.RowNumber(), over="OVER")
        selected.append(exp.Sub(this=number, expression=exp.convert(1)))
    database.execute(exp.Create(this=exp.Schema(this=target.copy(), expressions=definitions), kind="TABLE"))
    database.execute(exp.insert(exp.select(*selected).from_(source.scan.copy()), target.copy()))


# What all of them can be converted to and from: microseconds of 64 bits.
_CALENDAR = ("290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54")
_NARROW_TIMES = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS")


def _in_calendar(column: exp.Expr, kind: str | None) -> exp.Expr:
    if kind not in _NARROW_TIMES:
        return column
    low, high = (exp.cast(exp.Literal.string(text), kind, dialect="duckdb") for text in _CALENDAR)
    ends = [exp.cast(exp.Literal.string(text), kind, dialect="duckdb") for text in ("-infinity", "infinity")]
    known = exp.or_(exp.Between(this=column.copy(), low=low, high=high), exp.In(this=column.copy(), expressions=ends))
    return exp.Case(ifs=[exp.If(this=known, true=column)])


def _constrained_columns(constraints: Sequence[BoundConstraint], schema: TableSchema) -> tuple[str, ...]:
    return _in_schema_order({name for dc in constraints for name in dc.columns}, schema)


def _in_schema_order(names: set[str], schema: TableSchema) -> tuple[str, ...]:
    return tuple(name for name in schema.names if name in names)


def _column_def(name: str, kind: str) -> exp.ColumnDef:
    return exp.ColumnDef(this=exp.to_identifier(name, quoted=True), kind=exp.DataType.build(kind, dialect="duckdb"))
