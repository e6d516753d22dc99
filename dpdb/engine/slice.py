"""A slice: the rows that a `where` selects, their codes and canonical order, their conflict table.

A slice is an induced subgraph: both rows of a conflict lie in it. Everything is made in a schema of its own and dropped
with `close()`.

For readers `explained_constraint` shows how a constraint is evaluated: its SQL, and DuckDB's query plan of it over a
table without rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from dpdb.database import Database, filled, filled_select
from dpdb.engine.interface import Progress, no_progress
from dpdb.engine.sql.bind import BoundConstraint, BoundPredicate, not_alone, self_conflict
from dpdb.engine.sql.coded_rows import (
    ROW,
    CodedRows,
    CopiedHashes,
    CountedGroups,
    SharedHashError,
    TableEdges,
    coded_columns,
    refuse_repeated,
)
from dpdb.engine.sql.input_rows import (
    AcrossColumn,
    ComputedColumn,
    HashedTexts,
    hash_of,
    in_schema_order,
    read_columns,
    typed_rows,
)
from dpdb.engine.sql.joins import JoinPlan, degree_terms, evaluate, join_plan
from dpdb.engine.sql.where import WherePredicate
from dpdb.schema import Column, TableSchema, free_name
from dpdb.sources import Rows, Source
from dpdb.stopping import if_it_fails
from dpdb.thresholds import FEW_TEXTS

if TYPE_CHECKING:
    from dpdb.engine.closed_forms import RuleStatistic

_LENT = "lent_code_rows"
_LISTED_MEMORY = 1 << 30
"""Bytes of listed edges, and of all else in the database that lists them, beyond which they are kept on disk."""

Codes = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
Positions = npt.NDArray[np.int64]


class LocalSlice:
    """The conflict graph of one slice, in our own database (implements `dpdb.engine.Slice`).

    Parameters
    ----------
    constraints : sequence of BoundConstraint
        Distinct constraints; their positions order the edges.
    keep_source_row : bool
        Also keep the rows and each one's position in the source, for what only the owner may ask (`violating_pairs`).
    keep : sequence of str
        Further columns that are kept with the rows, as the table spells them.
    lists_edges : bool
        Whether whatever is asked of its graph reads `edges`, and its degrees are bounded by GROUP BY in the database.
    progress : callable
        Called with the name of each step.

    Attributes
    ----------
    self_conflicts : int
        Rows that violate a single-tuple constraint; they are not in the graph. Private.
    node_count : int
        Rows in the graph. Private.
    columns, coded : tuple of str
        The constrained columns, and those that `tuples` has as order-preserving codes.
    orphans : tuple of AcrossColumn
        Those of the constrained columns that are read from other tables.
    """

    def __init__(
        self,
        database: Database,
        rows: Rows,
        constraints: Sequence[BoundConstraint],
        where: WherePredicate | None,
        *,
        name: str,
        keep_source_row: bool = False,
        keep: Sequence[str] = (),
        lists_edges: bool = False,
        progress: Progress = no_progress,
    ) -> None:
        self.database = database
        self.lists_edges = lists_edges
        self._schema = exp.to_identifier(name, quoted=True)
        self._name = name
        self._where = where
        self._rows = rows
        self._progress = progress
        self.constraints = tuple(constraints)
        self.columns = constrained_columns(constraints, rows.schema)
        self.coded = coded_columns(constraints, self.columns)
        columns = map(rows.schema.__getitem__, self.columns)
        self.orphans = tuple(column for column in columns if isinstance(column, AcrossColumn))
        self.rank = free_name("id", self.columns)
        self.kept = tuple(keep)
        # Beside it are kept, selected and computed-from columns, too.
        taken = [*rows.schema.names, self.rank]
        self._names = {name.casefold() for name in taken}
        self.source_row = free_name("source_row", taken) if keep_source_row else None
        self._listed: dict[int, TableEdges] = {}
        self._joins_have_begun = self._is_ranking = False
        database.execute(f"CREATE SCHEMA {self._schema.sql('duckdb')}")
        with if_it_fails(self.close):
            progress("reading the table")
            hashes = self._hashed_texts(rows)
            if hashes is None or not self._read_hashes(rows, hashes):
                self._read(rows, None)
                self._code(None)

    def table(self, name: str) -> exp.Table:
        """Name a table in the slice's schema."""
        return exp.table_(name, db=self._schema.copy(), quoted=True)

    @property
    def pairwise(self) -> list[tuple[int, BoundConstraint]]:
        """(position, constraint) of the constraints over two tuples."""
        return [(k, dc) for k, dc in enumerate(self.constraints) if not dc.constraint.is_single_tuple]

    @property
    def _beside(self) -> list[str]:
        """The further columns that the slice keeps beside the constrained ones."""
        return [*(name for name in self.kept if name not in self.columns), *self._place]

    @property
    def _place(self) -> list[str]:
        """The column of the rows' positions in the source, if they are kept."""
        return [] if self.source_row is None else [self.source_row]

    @property
    def tuple_columns(self) -> list[str]:
        """All columns of the ranked tuples."""
        return [self.rank, *self.columns, *self._place]

    # -- building ---------------------------------------------------------------------------------------------

    @property
    def _selecting(self) -> set[str]:
        return set(self._where.columns if self._where else ())

    def _read(self, rows: Rows, hashes: HashedTexts | None) -> None:
        columns = {*self.columns, *self.kept, *self._selecting}
        target = self.table("input_row")
        read_columns(self.database, rows, columns, target, position=self.source_row, hashes=hashes)

    def _hashed_texts(self, rows: Rows) -> HashedTexts | None:
        """Choose texts of which hashes are copied: of a large table, whose columns can be read again by themselves."""
        if not isinstance(rows, Source) or not rows.by_column or self.source_row is not None:
            return None
        texts = texts_compared_alone(self.constraints, self.columns, {*self.kept, *self._selecting}, rows.schema)
        if not texts or int(self.database.value(filled("row_count", rows=rows.scan))) <= FEW_TEXTS.at:
            return None
        return HashedTexts(texts, free_name("row_hash", [*self._names]), self.columns)

    def _read_hashes(self, rows: Rows, hashes: HashedTexts) -> bool:
        """Read and code the rows, hashes of some texts in their place; return whether that is enough."""

        def read_and_code() -> None:
            with if_it_fails(self._make_anew):
                self._read(rows, hashes)
                self._code(hashes)

        try:
            self.database.sparing(read_and_code)
        except SharedHashError:
            return False
        return True

    def _make_anew(self) -> None:
        self.close()
        self.database.execute(f"CREATE SCHEMA {self._schema.sql('duckdb')}")

    def _set_self_conflicts_apart(self) -> None:
        """Move the rows that violate a single-tuple constraint out of the slice: (row, first constraint violated)."""
        singles = [(k, dc) for k, dc in enumerate(self.constraints) if dc.constraint.is_single_tuple]
        rows = self.table("input_row")
        first = exp.Case(ifs=[exp.If(this=dc.over("row", "row"), true=exp.convert(k)) for k, dc in singles])
        position = exp.null() if self.source_row is None else exp.column(self.source_row, table="row", quoted=True)
        chosen = [*self.chosen(), self_conflict(self.constraints, "row")]
        apart = filled_select("self_conflict", first=first, position=position, rows=rows, chosen=chosen)
        self.database.execute(apart.ctas(self.table("self_conflict")))
        self.self_conflicts = self._count(self.table("self_conflict"))

    def _code(self, hashes: HashedTexts | None) -> None:
        """Code the rows of the graph, and forget what nobody asks any more."""
        if not self._is_ranking:
            self._is_ranking = True
            self._progress("ranking rows")
        self.self_conflicts = 0
        if any(dc.constraint.is_single_tuple for dc in self.constraints):
            self._set_self_conflicts_apart()
        table, number = self._rows_of_graph(() if hashes is None else [hashes.order])
        copied = None if hashes is None else self._copied(hashes, table)
        self._coded = CodedRows(self.database, table, number, self.columns, self.table("code"), copied=copied)
        self.node_count = self._coded.count
        if not self._beside and set(self.columns) == set(self.coded):
            self.database.execute(f"DROP TABLE {table.sql('duckdb')}")

    def _copied(self, hashes: HashedTexts, table: exp.Table) -> CopiedHashes:
        """Say where the texts are: in the source, those alone of which there are hashes."""
        texts: dict[str, exp.Expr] = {}
        for name in hashes.texts:
            query = exp.select("*").from_(typed_rows(self._rows, {name}).as_("text_row"))
            if table.name != "input_row":  # some rows are left out
                known = exp.select(exp.column(name, quoted=True)).from_(table.copy()).subquery()
                query = query.where(exp.In(this=hash_of([exp.column(name, quoted=True)]), query=known))
            texts[name] = query.subquery()
        return CopiedHashes(texts, exp.column(hashes.order, table=ROW, quoted=True))

    def _rows_of_graph(self, order: Sequence[str]) -> tuple[exp.Table, str]:
        """Return the table of the rows that become nodes, and its column of their numbers."""
        read, number = self.table("input_row"), "rowid"
        conditions = [*self.chosen(), *not_alone(self.constraints, ROW)]
        hidden = number in self._names
        if not conditions and not hidden:
            return read, number
        selected: list[exp.Expr] = [
            exp.column(name, table=ROW, quoted=True) for name in [*self.columns, *self._beside, *order]
        ]
        if hidden:
            number = free_name("number", [*self.tuple_columns, *self._beside, *order])
            count = exp.Window(this=exp.RowNumber(), over="OVER")
            selected.append(exp.alias_(count - 1, number, quoted=True))
        query = filled_select("graph_row", columns=selected, rows=read, chosen=conditions)
        self.database.execute(query.ctas(self.table("graph_row")))
        if self.source_row is None:
            self.database.execute(f"DROP TABLE {read.sql('duckdb')}")
        return self.table("graph_row"), number

    @cached_property
    def tuples(self) -> exp.Table:
        """The table of the rows of the graph in canonical order: ranks, and values or codes. Made on first use."""
        table = self.table("tuple_row")
        self._coded.create_ranked(table, rank=self.rank, columns=self.columns, coded=self.coded, beside=self._place)
        return table

    # -- the conflict graph, two ways ----------------------------------------------------------------------------

    @cached_property
    def edges(self) -> TableEdges:
        """The edges, materialized in `conflict_edge` on first use, each pair once. Private."""
        if not self.pairwise:
            return TableEdges(self.database, None, self.node_count)
        self._begin_joins()
        self.database.execute(filled("conflict_edge", edges=self.table("conflict_edge")))
        found = self.table("edge")
        for position in range(len(self.pairwise)):
            self._join(position, found, create=position == 0)
        self.database.execute(filled("ordered_edges", found=found, edges=self.table("conflict_edge")))
        self.database.execute(f"DROP TABLE {found.sql('duckdb')}")
        edges = TableEdges(self.database, self.table("conflict_edge"), self.node_count)
        refuse_repeated(edges.batches())
        return edges

    def first_violations(self, positions: Sequence[int], most: float) -> dict[int, TableEdges] | None:
        """Return, for each of some constraints over two tuples, the edges that violate none before it.

        In no order, each pair once; joined on first use. None if they are more than `most` together. Private.
        """
        if positions:
            self._begin_joins()
        for position in positions:
            if position not in self._listed:
                found = self.table(f"edge_{position}")
                self._join(position, found, create=True)
                self._listed[position] = TableEdges(self.database, found, self.node_count)
        listed = {position: self._listed[position] for position in positions}
        if sum(edges.edge_count for edges in listed.values()) > most:
            return None
        if listed:
            refuse_repeated(self._by_row(listed).batches())
        return listed

    def _by_row(self, positions: Iterable[int]) -> TableEdges:
        parts = [exp.select("u", "v").from_(self.table(f"edge_{position}")) for position in positions]
        together = exp.union(*parts, distinct=False) if parts[1:] else parts[0]
        ordered = filled_select("edges_by_row", edges=together)
        return TableEdges(self.database, ordered.subquery(), self.node_count)

    def _begin_joins(self) -> None:
        """Show one step, whether some constraints' edges are listed, or all, or both: how many there are is private."""
        if not self._joins_have_begun:
            self._joins_have_begun = True
            self._progress("joining conflicts")
            self.database.spill_beyond(_LISTED_MEMORY)

    def planned_join(self, position: int, members: exp.Table) -> JoinPlan:
        """Plan the join of a constraint, by its place in `pairwise`; see `join_plan`."""
        coded, taken = self.coded, self.tuple_columns
        return join_plan(position, self.pairwise, self.tuples, self.rank, members=members, coded=coded, taken=taken)

    def _join(self, position: int, found: exp.Table, *, create: bool) -> None:
        members = self.table("member")
        plan = self.planned_join(position, members)
        if plan.members is not None:
            self.database.execute(plan.members.ctas(members.copy()))
        self.database.execute(plan.edges.ctas(found.copy()) if create else exp.insert(plan.edges, found.copy()))
        if plan.members is not None:
            self.database.execute(f"DROP TABLE {members.sql('duckdb')}")

    def codes(self, columns: Sequence[str]) -> dict[str, Codes]:
        """Return constrained columns as order-preserving codes, in the slice's own order: -1 for NULL. Private."""
        return {name: self._coded.codes[name].astype(np.int32, copy=False) for name in columns}

    def numbers(self, kept: str) -> npt.NDArray[np.int64]:
        """Return a kept column of integers without NULL, rows in the slice's own order. Private."""
        return self._coded.ask(exp.cast(exp.column(kept, table=ROW, quoted=True), "BIGINT", dialect="duckdb"), np.int64)

    def rows_that(self, conditions: Sequence[Sequence[BoundPredicate]]) -> list[Flags]:
        """Mark, in the same order, the rows that meet each condition: all of some predicates of one tuple. Private.

        Their columns have values in `tuples`: a constraint over two tuples compares them with something else.
        """
        met = [exp.and_(*(predicate.over((ROW, ROW)) for predicate in each)) for each in conditions]
        ones = [exp.Case(ifs=[exp.If(this=one, true=exp.convert(1))], default=exp.convert(0)) for one in met]
        return [self._coded.ask(exp.cast(one, "TINYINT", dialect="duckdb"), np.bool_) for one in ones]

    def canonical_order(self, rows: Positions | None = None) -> Positions:
        """Sort rows, by default all, canonically: ascending positions in the slice's own order. Private."""
        return self._coded.canonical_order(rows)

    @property
    def row_count(self) -> int:
        """Rows of the slice, with and without conflicts: one row changes it by 1. Private."""
        return self.node_count + self.self_conflicts

    def under(self, position: int) -> LocalSlice:
        """Return the slice of the same rows under one constraint alone, by its place in `constraints`.

        Rows that conflict with themselves under another one are in its graph. Needs `keep_source_row`; both say the
        same positions. The caller closes it.
        """
        if self.source_row is None:
            raise ValueError("this slice was built without keep_source_row")
        rows = Source(self._rows.description, self._rows.schema, self.table("input_row"))
        alone = [self.constraints[position]]
        return LocalSlice(
            self.database,
            rows,
            alone,
            self._where,
            name=f"{self._name}_{position}",
            keep_source_row=True,
            lists_edges=self.lists_edges,
        )

    # -- statistics -------------------------------------------------------------------------------------------

    def degree_bound(self) -> int:
        """Exact upper bound of the maximum degree (see `dpdb.engine.sql.joins.degree_terms`). Private."""
        terms = degree_terms(self.constraints)
        if not self.lists_edges:
            return evaluate(terms, self._coded)
        return evaluate(terms, CountedGroups(exp.alias_(self.tuples.copy(), ROW, table=True), self.database.value))

    def count_codes(self, asked: RuleStatistic) -> int | None:
        """Count an exact statistic by the codes, where its form reads nothing else. Private.

        A form that reads coded columns alone asks of their values which are equal, and which are missing: as codes say.
        """
        from dpdb.engine.closed_forms import SortedForm
        from dpdb.engine.count_all import count_gathered, violating_alone

        form = asked.form
        if form is None or isinstance(form, SortedForm) or not set(form.columns) <= set(self.coded):
            return None
        self._progress("counting groups")
        pairwise = tuple(bound for bound in asked.constraints if not bound.constraint.is_single_tuple)
        schema = TableSchema(tuple(Column(name, "UINTEGER") for name in form.columns))
        table = self.table("lent_code")
        with self.database.arrow_table(_LENT, self._coded.lent(form.columns)):
            self.database.execute(exp.select("*").from_(_LENT).ctas(table.copy()))  # what is lent no stream sees
        rows = Source(self._rows.description, schema, table)
        try:
            found = count_gathered(self.database, rows, replace(asked, constraints=pairwise), name=_LENT)
        finally:
            self.database.execute(f"DROP TABLE {table.sql('duckdb')}")
        return found + violating_alone(asked, self.self_conflicts)

    def thinning(self) -> None:
        """Offer nothing: all rows are here."""

    def chosen(self) -> list[exp.Expr]:
        """The slice's predicate over the rows aliased `row`."""
        return [] if self._where is None else [self._where.over("row")]

    def _count(self, table: exp.Table) -> int:
        return int(self.database.value(filled("row_count", rows=table)))

    def close(self) -> None:
        """Drop the slice's tables."""
        self.database.execute(f"DROP SCHEMA IF EXISTS {self._schema.sql('duckdb')} CASCADE")


def texts_compared_alone(
    constraints: Sequence[BoundConstraint], columns: Sequence[str], read_beside: set[str], schema: TableSchema
) -> tuple[str, ...]:
    """Return the columns of text whose values are only compared with one another, by constraints over two tuples.

    Hashes of them may stand for them. None where a value is computed, or comes from another table.

    Parameters
    ----------
    columns
        Those of the constraints, in the order of the schema.
    read_beside
        Columns that are selected by, or kept.
    """
    if any(isinstance(schema[name], (AcrossColumn, ComputedColumn)) for name in {*columns, *read_beside}):
        return ()
    apart = read_beside.union(*(dc.columns for dc in constraints if dc.constraint.is_single_tuple))
    coded = coded_columns(constraints, columns)
    return tuple(name for name in coded if schema[name].type == "VARCHAR" and name not in apart)


def constrained_columns(constraints: Sequence[BoundConstraint], schema: TableSchema) -> tuple[str, ...]:
    """Return the columns that constraints read, in the order of the schema."""
    return in_schema_order({name for dc in constraints for name in dc.columns}, schema)


@dataclass(frozen=True)
class ExplainedConstraint:
    """The statements that join a constraint's edges, the operator expected at realistic sizes, the query plan."""

    sql: str
    operator: str
    plan: list[str]


def explained_constraint(empty: LocalSlice, position: int) -> ExplainedConstraint:
    """Explain the self-join of a constraint over two tuples, of a slice of a table without rows.

    DuckDB chooses joins by row counts, which are private.
    """
    members = empty.table(f"member_{position}")
    plan = empty.planned_join([k for k, _ in empty.pairwise].index(position), members)
    statements = [plan.edges]
    if plan.members is not None:
        empty.database.execute(plan.members.ctas(members.copy()))
        statements.insert(0, plan.members)
    return ExplainedConstraint(
        ";\n".join(s.sql("duckdb", normalize_functions=False, pretty=True) for s in statements),
        plan.operator,
        empty.database.operators(plan.edges),
    )
