"""Denial constraints -> sqlglot -> the conflict edges, as joins of the ranked tuple table with itself.

Every query stays a sqlglot tree until `Database` runs it. Joins are inner joins and no DISTINCT is needed: a pair is
reported by the first constraint it violates only, and by that constraint in one orientation only.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dpdb.constraints import Operator, is_symmetric
from dpdb.engine.binding import BoundConstraint, BoundPredicate

__all__ = ["edges_of", "may_coincide", "ordered_edges", "pair_count", "self_conflict", "violates_either_way"]

_FIRST, _SECOND = "a", "b"

# What an operator says of the order of its operands: below (-1), equal (0), above (+1).
_RELATIONS = {
    Operator.EQ: {0},
    Operator.NE: {-1, 1},
    Operator.LT: {-1},
    Operator.LE: {-1, 0},
    Operator.GT: {1},
    Operator.GE: {0, 1},
}


def self_conflict(constraints: Sequence[BoundConstraint], row: str) -> exp.Expr:
    """Condition under which one row violates a single-tuple constraint (FALSE if there is none)."""
    singles = [dc.over(row, row) for dc in constraints if dc.constraint.is_single_tuple]
    return exp.or_(*singles) if singles else exp.false()


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
    query = exp.select("u", "v", "dc").from_(union.subquery("edge"))
    return query.order_by(*order)


def edges_of(index: int, pairwise: Sequence[tuple[int, BoundConstraint]], tuples: exp.Table, rank: str) -> exp.Select:
    """Return the query of the edges whose first violated constraint is `pairwise[index]`.

    No pair comes twice: a symmetric constraint is asked with a.rank < b.rank; another one either cannot hold in both
    orientations (a strict comparison of one column with itself) or drops the second orientation explicitly.
    """
    position, dc = pairwise[index]
    a, b = exp.column(rank, table=_FIRST, quoted=True), exp.column(rank, table=_SECOND, quoted=True)
    conditions = [dc.over(_FIRST, _SECOND)]
    u: exp.Expr = a
    v: exp.Expr = b
    if is_symmetric(dc.constraint):
        conditions.append(exp.LT(this=a, expression=b))
    else:
        u, v = exp.func("least", a, b), exp.func("greatest", a, b)
        if not _holds_in_one_orientation(dc):
            conditions.append(exp.NEQ(this=a.copy(), expression=b.copy()))
            reverse = _is_not_true(dc.over(_SECOND, _FIRST))
            conditions.append(exp.paren(exp.or_(exp.LT(this=a.copy(), expression=b.copy()), reverse)))
    conditions += _not_earlier(dc, [earlier for _, earlier in pairwise[:index]])
    return (
        exp.select(exp.alias_(u.copy(), "u"), exp.alias_(v.copy(), "v"), exp.alias_(exp.convert(position), "dc"))
        .from_(exp.alias_(tuples.copy(), _FIRST, table=True))
        .join(exp.alias_(tuples.copy(), _SECOND, table=True), on=exp.and_(*conditions))
    )


def pair_count(dc: BoundConstraint, tuples: exp.Table, rank: str) -> exp.Expr:
    """Return the query that counts the pairs violating one constraint, whatever others they violate."""
    return exp.select(exp.Count(this=exp.Star())).from_(edges_of(0, [(0, dc)], tuples, rank).subquery("edge"))


def violates_either_way(dc: BoundConstraint, first: str, second: str) -> exp.Expr:
    """Condition under which the unordered pair violates a constraint."""
    if is_symmetric(dc.constraint):
        return dc.over(first, second)
    return exp.or_(dc.over(first, second), dc.over(second, first))


def may_coincide(dc: BoundConstraint, other: BoundConstraint) -> bool:
    """Whether one pair might violate both; False is certain, because their comparisons of some column contradict."""
    return not all(_contradict(dc, other, swapped=swapped) for swapped in (False, True))


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
    return exp.Not(this=exp.Is(this=exp.paren(condition), expression=exp.true()))


def _holds_in_one_orientation(dc: BoundConstraint) -> bool:
    return any(predicate.joins_one_column and predicate.op.is_strict_order for predicate in dc.predicates)


def _contradict(one: BoundConstraint, other: BoundConstraint, *, swapped: bool) -> bool:
    mine, theirs = _column_relations(one), _column_relations(other)
    if swapped:
        theirs = {column: {-sign for sign in signs} for column, signs in theirs.items()}
    return any(column in theirs and not signs & theirs[column] for column, signs in mine.items())


def _column_relations(dc: BoundConstraint) -> dict[str, set[int]]:
    """For each column that a constraint compares between its tuples: the possible orders of t1's value to t2's."""
    relations: dict[str, set[int]] = {}
    for predicate in dc.predicates:
        if predicate.joins_one_column:
            signs = _relation_of_first(predicate)
            relations[predicate.left.column] = relations.get(predicate.left.column, {-1, 0, 1}) & signs
    return relations


def _relation_of_first(predicate: BoundPredicate) -> set[int]:
    signs = _RELATIONS[predicate.op]
    return signs if predicate.left.tuple_index == 0 else {-sign for sign in signs}
