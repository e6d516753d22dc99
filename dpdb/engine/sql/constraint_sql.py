"""Denial constraints -> sqlglot -> the conflict edges, as joins of the ranked tuple table with itself.

Every query stays a sqlglot tree until `Database` runs it. Joins are inner joins and no DISTINCT is needed: a pair is
reported by the first constraint it violates only, and by that constraint in one orientation only.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dpdb.constraints import is_symmetric
from dpdb.engine.sql.bind import BoundConstraint

__all__ = [
    "PairQuery",
    "coincidences",
    "not_alone",
    "plain_pairs",
    "self_conflict",
]

_FIRST, _SECOND = "a", "b"


def self_conflict(constraints: Sequence[BoundConstraint], row: str) -> exp.Expr:
    """Condition under which one row violates a single-tuple constraint (FALSE if there is none)."""
    singles = [dc.over(row, row) for dc in constraints if dc.constraint.is_single_tuple]
    return exp.or_(*singles) if singles else exp.false()


def not_alone(constraints: Sequence[BoundConstraint], row: str) -> list[exp.Expr]:
    """Condition, if there is one, under which one row violates no single-tuple constraint: those in the graph."""
    if not any(dc.constraint.is_single_tuple for dc in constraints):
        return []
    return [_is_not_true(self_conflict(constraints, row))]


class PairQuery:
    """A self-join that finds the pairs violating one constraint, each once.

    Attributes
    ----------
    first, second : str
        Aliases of the two rows.
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
        earlier
            Constraints whose pairs are left out.
        """
        u: exp.Expr = self._a.copy()
        v: exp.Expr = self._b.copy()
        if not self._ordered:
            u, v = exp.func("least", u, v), exp.func("greatest", u.copy(), v.copy())
        conditions = [*self._conditions, *_not_earlier(self._dc, earlier)]
        return (
            exp.select(exp.alias_(u, "u"), exp.alias_(v, "v"), exp.alias_(exp.convert(position), "dc"))
            .from_(exp.alias_(rows.copy(), _FIRST, table=True))
            .join(exp.alias_(rows.copy(), _SECOND, table=True), on=exp.and_(*conditions))
        )


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
