"""Denial constraints meet the schema, and become joins of the ranked tuple table with itself that find the conflicts.

Binding comes before any row is read: names are known, types comparable, literals cast.

Every query stays a sqlglot tree until `Database` runs it. Joins are inner joins and no DISTINCT is needed: a pair is
reported by the first constraint it violates only, and by that constraint in one orientation only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from sqlglot import exp

from dpdb.constraints import (
    COMPARISONS,
    BlockShape,
    ColumnRef,
    Constant,
    DenialConstraint,
    Operator,
    Predicate,
    block_shape,
    column_signs,
    is_symmetric,
    never_null,
)
from dpdb.database import Database, filled_select
from dpdb.engine.sql.comparison import bind_literals, common_type, typing_advice, untyped_problem
from dpdb.engine.sql.input_rows import ComputedColumn
from dpdb.errors import ConstraintTypeError
from dpdb.predicates import (
    Literal,
    LiteralValue,
    cast_advice,
    equality_type,
    in_type,
    literal_sql,
    orders_alike,
    text_problem,
    type_words,
)
from dpdb.schema import Column, TableSchema


@dataclass(frozen=True, slots=True)
class Operand:
    """A column of tuple 0 or 1, read in the type of its comparison."""

    tuple_index: int
    column: str
    column_type: str
    compared_as: str

    def over(self, aliases: Sequence[str]) -> exp.Expr:
        """The operand as SQL, when the two tuples are rows of the tables called `aliases`."""
        column = exp.column(self.column, table=aliases[self.tuple_index], quoted=True)
        return in_type(column, self.column_type, self.compared_as)


@dataclass(frozen=True)
class BoundPredicate:
    """A predicate whose operands are typed; `right` is a literal where the constraint has a constant."""

    left: Operand
    op: Operator
    right: Operand | Literal

    def over(self, aliases: Sequence[str]) -> exp.Expr:
        """The predicate as SQL over two rows."""
        right = self.right.over(aliases) if isinstance(self.right, Operand) else literal_sql(self.right)
        return COMPARISONS[self.op](this=self.left.over(aliases), expression=right)

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The columns that it compares."""
        return (self.left, self.right) if isinstance(self.right, Operand) else (self.left,)

    @property
    def joins_one_column(self) -> bool:
        """True if it compares one column of both tuples (`t1.A op t2.A`)."""
        return not self.reads_one_tuple and len({operand.column for operand in self.operands}) == 1

    @property
    def reads_one_tuple(self) -> bool:
        """True if it does not read both tuples."""
        return not isinstance(self.right, Operand) or self.left.tuple_index == self.right.tuple_index


Sides: TypeAlias = tuple[tuple[BoundPredicate, ...], tuple[BoundPredicate, ...]] | None
"""Conditions that rows of a conflict meet, the one these, the other those; None: both meet the same."""


@dataclass(frozen=True)
class BoundConstraint:
    """A denial constraint over a known schema."""

    constraint: DenialConstraint
    predicates: tuple[BoundPredicate, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it reads, sorted."""
        return self.constraint.columns

    @cached_property
    def shape(self) -> BlockShape | None:
        """Its shape, if its conflicts need not be listed; see `block_shape`."""
        return block_shape(self.constraint)

    @property
    def row_conditions(self) -> tuple[tuple[BoundPredicate, ...], Sides]:
        """What both rows of a conflict must meet, by its shape; or what the one must meet, and what the other."""
        assert self.shape is not None, "it has a shape"
        first, second = (
            tuple(self.predicates[place] for place in places) for places in (self.shape.first, self.shape.second)
        )
        return (first, None) if self.shape.alike else ((), (first, second))

    @cached_property
    def signs(self) -> dict[str, frozenset[int]]:
        """The possible orders of the columns that it compares between its tuples; see `column_signs`."""
        return column_signs(self.constraint)

    def over(self, first: str, second: str) -> exp.Expr:
        """The violation condition: true exactly if rows of `first` and `second` satisfy every predicate."""
        return exp.and_(*(predicate.over((first, second)) for predicate in self.predicates), copy=False)


def never_missing(constraints: Sequence[BoundConstraint], schema: TableSchema) -> set[str]:
    """Return the columns in which no row lacks a value, as the schema or a constraint over one tuple declares."""
    declared = (never_null(bound.constraint) for bound in constraints)
    return {column.name for column in schema.columns if not column.nullable} | {name for name in declared if name}


def bind(
    database: Database, constraints: Sequence[DenialConstraint], schema: TableSchema
) -> tuple[BoundConstraint, ...]:
    """Type every comparison of every constraint. Names must already be the schema's (`load_constraints` sees to it).

    Raises
    ------
    ConstraintTypeError
        If two compared columns, or a column and a constant, have no common type, or a column that nobody has given a
        type is compared as more than text; the message names the constraint, both sides and both types, or the remedy.
    """
    columns = {column.name: column for column in schema.columns}
    _remember_literals(database, constraints, columns)
    return tuple(
        BoundConstraint(dc, tuple(_bind_predicate(database, dc, predicate, columns) for predicate in dc.predicates))
        for dc in constraints
    )


def _remember_literals(
    database: Database, constraints: Sequence[DenialConstraint], columns: Mapping[str, Column]
) -> None:
    """Let the database type all literals of many constraints at once: one query for each takes most of the time."""
    compared: dict[str, list[LiteralValue]] = {}
    for predicate in (each for dc in constraints for each in dc.predicates):
        kind = columns[predicate.left.column].type
        if kind is None or not isinstance(predicate.right, Constant):
            continue
        value, is_equality = predicate.right.value, not predicate.op.is_order
        if text_problem(predicate.left.column, kind, value) is None:
            compared.setdefault(equality_type(kind) if is_equality else kind, []).append(value)
    for kind, values in compared.items():
        if len(values) > 1:
            bind_literals(database, values, kind)  # the database remembers


def _bind_predicate(
    database: Database, dc: DenialConstraint, predicate: Predicate, columns: Mapping[str, Column]
) -> BoundPredicate:
    left, right, ordered = predicate.left, predicate.right, predicate.op.is_order
    left_type = _column_type(dc, columns[left.column])
    if isinstance(right, ColumnRef):
        compared = _told_types(columns[left.column], columns[right.column])
        _refuse_untyped(dc, compared, None, ordered=ordered)
        right_type = _column_type(dc, columns[right.column])
        kind = common_type(left_type, right_type)
        if kind is None or (ordered and not orders_alike(left_type, right_type)):
            advice = [f"; {typing_advice(column)}" for column in compared if column.is_untyped]
            advice.append(cast_advice((left.column, left_type), (right.column, right_type)))
            raise ConstraintTypeError(
                f"{dc.label}: cannot {'compare' if kind is None else 'order'} {left.column!r} "
                f"({type_words(left_type)}) with {right.column!r} ({type_words(right_type)})" + advice[0]
            )
        return BoundPredicate(
            Operand(left.tuple_index, left.column, left_type, kind),
            predicate.op,
            Operand(right.tuple_index, right.column, right_type, kind),
        )
    _refuse_untyped(dc, _told_types(columns[left.column]), right.value, ordered=ordered)
    problem = text_problem(left.column, left_type, right.value)
    if problem is not None:
        raise ConstraintTypeError(f"{dc.label}: {problem}")
    [bound] = bind_literals(database, [right.value], left_type if ordered else equality_type(left_type))
    if bound is None:
        raise ConstraintTypeError(
            f"{dc.label}: cannot compare {left.column!r} ({type_words(left_type)}) with the constant {right}"
        )
    return BoundPredicate(Operand(left.tuple_index, left.column, left_type, bound.type), predicate.op, bound)


def _refuse_untyped(
    dc: DenialConstraint, compared: Sequence[Column], value: LiteralValue | None, *, ordered: bool
) -> None:
    for column in compared:
        problem = untyped_problem(column, value, ordered=ordered)
        if problem is not None:
            raise ConstraintTypeError(f"{dc.label}: {problem}")


def _told_types(*compared: Column) -> list[Column]:
    """The columns compared; of text that is computed those that it is the text of."""
    return [
        source
        for column in compared
        for source in (column.text_of if isinstance(column, ComputedColumn) else (column,))
    ]


def _column_type(dc: DenialConstraint, column: Column) -> str:
    if column.type is None:
        raise ConstraintTypeError(
            f"{dc.label}: column {column.name!r} has type {column.declared_type}, which constraints cannot compare"
        )
    return column.type


_FIRST, _SECOND = "a", "b"


def self_conflict(constraints: Sequence[BoundConstraint], row: str) -> exp.Expr:
    """Condition under which one row violates a single-tuple constraint (FALSE if there is none)."""
    singles = [dc.over(row, row) for dc in constraints if dc.constraint.is_single_tuple]
    return exp.or_(*singles, copy=False) if singles else exp.false()


def not_alone(constraints: Sequence[BoundConstraint], row: str) -> list[exp.Expr]:
    """Condition, if there is one, under which one row violates no single-tuple constraint: those in the graph."""
    if not any(dc.constraint.is_single_tuple for dc in constraints):
        return []
    return [_is_not_true(self_conflict(constraints, row))]


class PairQuery:
    """A self-join that finds the pairs violating one constraint, each once.

    Attributes
    ----------
    violated, ascending : exp.Expr
        The constraint over them; whether the first ranks below the second.
    """

    first, second = _FIRST, _SECOND

    def __init__(self, dc: BoundConstraint, rank: str) -> None:
        self._dc = dc
        self._a = exp.column(rank, table=_FIRST, quoted=True)
        self._b = exp.column(rank, table=_SECOND, quoted=True)
        self._conditions: list[exp.Expr] = []
        self._ordered = False

    @property
    def violated(self) -> exp.Expr:
        """The constraint, the first row being its first tuple."""
        return self._dc.over(_FIRST, _SECOND)

    @property
    def ascending(self) -> exp.Expr:
        """The condition that the first row ranks below the second."""
        return self._a < self._b

    @property
    def distinct_rows(self) -> exp.Expr:
        """The condition that the rows are two."""
        return self._a.neq(self._b)

    def on(self, conditions: Sequence[exp.Expr], *, ordered: bool) -> PairQuery:
        """Join on these conditions; `ordered` says that they imply `ascending`."""
        self._conditions = list(conditions)
        self._ordered = ordered
        return self

    def edges(self, rows: exp.Table, position: int, earlier: Sequence[BoundConstraint]) -> exp.Select:
        """Return the query of (u, v, dc), without the pairs that violate an earlier constraint.

        Parameters
        ----------
        rows
            The table of the rows in canonical order.
        position
            Place of the constraint among all, which is the edge's `dc`.
        """
        u: exp.Expr = self._a.copy()
        v: exp.Expr = self._b.copy()
        if not self._ordered:
            u, v = exp.func("least", u, v), exp.func("greatest", u.copy(), v.copy())
        conditions = [*self._conditions, *_not_earlier(self._dc, earlier)]
        return filled_select("conflict_pairs", u=u, v=v, dc=position, rows=rows, violated=conditions)


def plain_pairs(dc: BoundConstraint, rank: str) -> PairQuery:
    """Join on the constraint itself.

    No pair comes twice: a symmetric constraint is asked with a.rank < b.rank; another one either cannot hold in both
    orientations (a strict comparison of one column with itself) or drops the second orientation explicitly.
    """
    pairs = PairQuery(dc, rank)
    if is_symmetric(dc.constraint):
        return pairs.on([pairs.violated, pairs.ascending], ordered=True)
    if _holds_in_one_orientation(dc):
        return pairs.on([pairs.violated], ordered=False)
    reverse = _is_not_true(dc.over(_SECOND, _FIRST))
    once = exp.paren(exp.or_(pairs.ascending, reverse))
    return pairs.on([pairs.violated, pairs.distinct_rows, once], ordered=False)


def coincidences(constraints: Sequence[BoundConstraint]) -> list[list[bool]]:
    """Return for each two constraints False if no pair of rows can violate both, else True.

    None can where their comparisons of some column contradict each other, in either order of the rows.
    """
    return [
        [not all(_contradict(one, other, swapped=way) for way in (False, True)) for other in constraints]
        for one in constraints
    ]


def _not_earlier(dc: BoundConstraint, earlier: Sequence[BoundConstraint]) -> list[exp.Expr]:
    """Conditions that exclude pairs of earlier constraints; none for those that contradict this one anyway."""
    conditions = []
    for other in earlier:
        orientations = [(_FIRST, _SECOND)] if is_symmetric(other.constraint) else [(_FIRST, _SECOND), (_SECOND, _FIRST)]
        possible = [
            other.over(*names) for names in orientations if not _contradict(dc, other, swapped=names[0] == _SECOND)
        ]
        if possible:
            conditions.append(_is_not_true(exp.or_(*possible)))
    return conditions


def _is_not_true(condition: exp.Expr) -> exp.Expr:
    return exp.Is(this=exp.paren(condition), expression=exp.true()).not_()


def _holds_in_one_orientation(dc: BoundConstraint) -> bool:
    return any(predicate.joins_one_column and predicate.op.is_strict_order for predicate in dc.predicates)


def _contradict(one: BoundConstraint, other: BoundConstraint, *, swapped: bool) -> bool:
    mine, theirs = one.signs, other.signs
    if swapped:
        theirs = {column: frozenset(-sign for sign in signs) for column, signs in theirs.items()}
    return any(column in theirs and not signs & theirs[column] for column, signs in mine.items())
