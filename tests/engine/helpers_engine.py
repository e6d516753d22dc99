"""A brute-force evaluator of denial constraints, and the same question asked of the engine."""

from __future__ import annotations

import itertools
import math
import operator
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
from sqlglot import exp

from dpdb.constraints import ColumnRef, Constant, DenialConstraint, Operator, Predicate, distinct
from dpdb.database.database import Database
from dpdb.engine.for_owner import violating_pairs
from dpdb.engine.slice import LocalSlice
from dpdb.engine.sql.bind import BoundConstraint, bind, plain_pairs
from dpdb.engine.sql.joins import degree_terms
from dpdb.engine.sql.where import WherePredicate
from dpdb.schema import Column, TableSchema
from dpdb.sources.source import Source

ARROW_TYPES = {
    "BIGINT": pa.int64(),
    "SMALLINT": pa.int16(),
    "DOUBLE": pa.float64(),
    "FLOAT": pa.float32(),
    "DECIMAL(6,2)": pa.decimal128(6, 2),
    "VARCHAR": pa.string(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
    "BOOLEAN": pa.bool_(),
}
FLOATS = {"DOUBLE", "FLOAT"}
NUMBERS = {"BIGINT", "SMALLINT", "DOUBLE", "FLOAT", "DECIMAL(6,2)"}
TIMES = {"DATE", "TIMESTAMP"}

_PYTHON = {
    Operator.EQ: operator.eq,
    Operator.NE: operator.ne,
    Operator.LT: operator.lt,
    Operator.LE: operator.le,
    Operator.GT: operator.gt,
    Operator.GE: operator.ge,
}
_names = itertools.count()

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Table:
    """Column names, their DuckDB types, and rows of Python values (None is NULL)."""

    types: dict[str, str]
    rows: list[Row]

    def arrow(self) -> pa.Table:
        columns = list(zip(*self.rows, strict=True)) if self.rows else [()] * len(self.types)
        arrays = [pa.array(list(v), type=ARROW_TYPES[t]) for v, t in zip(columns, self.types.values(), strict=True)]
        return pa.table(arrays, names=list(self.types))

    def schema(self) -> TableSchema:
        return TableSchema(tuple(Column(name, kind) for name, kind in self.types.items()))

    def cell(self, row: Row, column: str) -> Any:
        return row[list(self.types).index(column)]


# -- the oracle -----------------------------------------------------------------------------------------------


def float32(value: float | Decimal | int) -> float:
    return struct.unpack("f", struct.pack("f", float(value)))[0]


def comparable(one: str, other: str) -> bool:
    return one == other or {one, other} <= NUMBERS or {one, other} <= TIMES


def holds(op: Operator, left: Any, left_type: str, right: Any, right_type: str) -> bool:
    """Whether a comparison is true in SQL (neither false nor NULL)."""
    if left is None or right is None:
        return False
    as_float = bool({left_type, right_type} & FLOATS)
    return bool(_PYTHON[op](_key(left, as_float), _key(right, as_float)))


def _key(value: Any, as_float: bool) -> Any:
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    if as_float:
        number = float(value)
        return (1, 0.0) if math.isnan(number) else (0, number)  # NaN equals NaN and is the greatest number
    return Fraction(value)


def constant_for(value: Any, kind: str) -> Any:
    """A constant as the column's type reads it."""
    if kind == "VARCHAR":
        return str(value)
    if kind in TIMES:
        return datetime.fromisoformat(value)
    if kind == "BOOLEAN":
        return value
    number = Decimal(value)
    return float32(number) if kind == "FLOAT" else number


def satisfies(table: Table, predicate: Predicate, pair: tuple[Row, Row]) -> bool:
    left_type = table.types[predicate.left.column]
    left = table.cell(pair[predicate.left.tuple_index], predicate.left.column)
    right = predicate.right
    if isinstance(right, Constant):
        return holds(predicate.op, left, left_type, constant_for(right.value, left_type), left_type)
    other = table.cell(pair[right.tuple_index], right.column)
    return holds(predicate.op, left, left_type, other, table.types[right.column])


def violates(table: Table, dc: DenialConstraint, first: Row, second: Row) -> bool:
    return all(satisfies(table, predicate, (first, second)) for predicate in dc.predicates)


@dataclass(frozen=True)
class Truth:
    """Edges {(i, j): first violated constraint} with i < j, the self-conflicting rows, counts per constraint."""

    edges: dict[tuple[int, int], int]
    self_conflicts: dict[int, int]
    by_rule: list[tuple[int, int, int | None]]

    @property
    def max_degree(self) -> int:
        ends = [end for pair in self.edges for end in pair]
        return max((ends.count(end) for end in set(ends)), default=0)


def conflicts(table: Table, dcs: Sequence[DenialConstraint], chosen: Sequence[int] | None = None) -> Truth:
    """The conflict graph by definition, over the rows at the chosen positions."""
    rows = {i: table.rows[i] for i in (range(len(table.rows)) if chosen is None else chosen)}
    alone = {
        i: [k for k, dc in enumerate(dcs) if dc.is_single_tuple and violates(table, dc, r, r)] for i, r in rows.items()
    }
    by_rule: list[tuple[int, int, int | None]] = [(k, i, None) for i, found in alone.items() for k in found]
    edges = {}
    for i, j in itertools.combinations(rows, 2):
        found = [
            k
            for k, dc in enumerate(dcs)
            if not dc.is_single_tuple
            and (violates(table, dc, rows[i], rows[j]) or violates(table, dc, rows[j], rows[i]))
        ]
        by_rule += [(k, *_sorted_pair(i, j)) for k in found]
        if found and not alone[i] and not alone[j]:
            edges[i, j] = found[0]
    return Truth(edges, {i: found[0] for i, found in alone.items() if found}, by_rule)


# -- the engine -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Result:
    """What the engine made of a table: `edges` as rows (u, v, dc) in table order, `source` maps rank to position."""

    edges: list[tuple[int, int, int]]
    source: list[int]
    self_conflicts: int
    degree_bound: int
    sensitivity: int
    violations: list[tuple[str, int, int | None]]
    streamed: list[tuple[int, int]]

    def by_position(self) -> dict[tuple[int, int], int]:
        return {_sorted_pair(self.source[u], self.source[v]): dc for u, v, dc in self.edges}

    def by_value(self, table: Table) -> list[tuple[int, Row, Row]]:
        """The edge sequence in terms of row values."""
        return [(dc, table.rows[self.source[u]], table.rows[self.source[v]]) for u, v, dc in self.edges]


def _sorted_pair(i: int, j: int) -> tuple[int, int]:
    return (i, j) if i < j else (j, i)


def run(
    database: Database, table: Table, constraints: Sequence[DenialConstraint], where: WherePredicate | None = None
) -> Result:
    """Ask the engine for the conflict graph of a table."""
    dcs = distinct(constraints)
    number = next(_names)
    with database.arrow_table(f"input_{number}", table.arrow()):
        source = Source("test", table.schema(), exp.to_table(f"input_{number}"))
        part = LocalSlice(
            database, source, bind(database, dcs, table.schema()), where, name=f"part_{number}", keep_source_row=True
        )
    try:
        return read(database, part)
    finally:
        part.close()


def read(database: Database, part: LocalSlice) -> Result:
    edges: list[tuple[int, int, int]] = []
    if part.pairwise:
        assert part.edges.node_count == part.node_count  # materializes conflict_edge
        edges = database.rows(exp.select("u", "v", "dc").from_(part.table("conflict_edge"))) if part.pairwise else []
    rank, position = (exp.column(name, quoted=True) for name in (part.rank, part.source_row))
    ranked = database.rows(exp.select(rank, position).from_(part.tuples).order_by(rank.copy()))
    assert [row[0] for row in ranked] == list(range(part.node_count))
    found = [
        row
        for batch in database.stream(
            violating_pairs(part, [(dc.constraint.written, k) for k, dc in enumerate(part.constraints)])
        )
        for row in zip(*batch.to_pydict().values(), strict=True)
    ]
    return Result(
        edges=edges,
        source=[row[1] for row in ranked],
        self_conflicts=part.self_conflicts,
        degree_bound=part.degree_bound(),
        sensitivity=degree_terms(part.constraints).sensitivity,
        violations=found,
        streamed=[(int(a), int(b)) for us, vs in part.edges.batches() for a, b in zip(us, vs, strict=True)],
    )


def agree(
    table: Table, constraints: Sequence[DenialConstraint], result: Result, chosen: Sequence[int] | None = None
) -> None:
    """Assert that the engine's graph is the one of the definition, in canonical order."""
    dcs = distinct(constraints)
    truth = conflicts(table, dcs, chosen)
    assert result.by_position() == truth.edges
    assert len(result.edges) == len(truth.edges), "a pair came twice"
    assert all(u < v for u, v, _ in result.edges)
    assert [(u, dc, v) for u, v, dc in result.edges] == sorted((u, dc, v) for u, v, dc in result.edges)
    assert result.streamed == [(u, v) for u, v, _ in result.edges]
    assert result.self_conflicts == len(truth.self_conflicts)
    assert result.degree_bound >= truth.max_degree
    texts = [dc.written for dc in dcs]
    # By rule, and in each by rows; each rule counts whatever else its rows violate.
    reported = [(texts.index(text), i, j) for text, i, j in result.violations]
    assert reported == sorted(
        truth.by_rule, key=lambda found: (found[0], found[1], -1 if found[2] is None else found[2])
    )


def ref(index: int, column: str) -> ColumnRef:
    return ColumnRef(index, column)


def ordered_edges(pairwise: Sequence[tuple[int, BoundConstraint]], tuples: exp.Table, rank: str) -> exp.Expr:
    """Return the query of all edges (u, v, dc) in canonical order, each pair once.

    Parameters
    ----------
    pairwise
        (position among the distinct constraints, constraint) of those over two tuples.
    tuples : exp.Table
        The ranked tuples; `rank` is the column with the canonical rank.
    """
    parts = [edges_of(index, pairwise, tuples, rank) for index in range(len(pairwise))]
    union: exp.Query = parts[0]
    for part in parts[1:]:
        union = exp.union(union, part, distinct=False)
    order = [exp.Ordered(this=exp.column(name)) for name in ("u", "dc", "v")]
    return exp.select("u", "v", "dc").from_(union.subquery("edge")).order_by(*order)


def edges_of(index: int, pairwise: Sequence[tuple[int, BoundConstraint]], tuples: exp.Table, rank: str) -> exp.Select:
    """Return the query of the edges whose first violated constraint is `pairwise[index]`, as a plain self-join.

    Parameters
    ----------
    index
        Which of `pairwise`.
    pairwise
        The constraints on two tuples, each with its place among all constraints.
    tuples
        The table of the rows in canonical order.
    rank
        Name of its column of ranks.
    """
    position, dc = pairwise[index]
    return plain_pairs(dc, rank).edges(tuples, position, [earlier for _, earlier in pairwise[:index]])
