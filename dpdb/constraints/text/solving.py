"""Sums over both tuples solved for one of them: `t1.a - t2.b > 60` is read as `t1.a > t2.b + 60`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

from dpdb.constraints.predicate import Operator

__all__ = ["solved"]

_Part = tuple[bool, exp.Expr]  # whether it is added, and what


def solved(
    operator: Operator, left: exp.Expr, right: exp.Expr, indices: Callable[[exp.Expr], frozenset[int]]
) -> tuple[Operator, exp.Expr, exp.Expr] | None:
    """Bring what belongs to the first tuple to the left, everything else to the right.

    Returns
    -------
    tuple or None
        Operator and both sides; None if some part is neither of one tuple nor constant (`abs(t1.a - t2.b)`).
    """
    parts = [*_parts(left, True, indices), *_parts(right, False, indices)]
    if any(len(indices(part)) > 1 for _, part in parts):
        return None
    mine = [part for part in parts if indices(part[1]) == {0}]
    theirs = [(not added, part) for added, part in parts if indices(part) == {1}]
    constants = [(not added, part) for added, part in parts if not indices(part) and not _is_zero(part)]
    if not any(added for added, _ in mine):
        operator, mine, theirs, constants = operator.flipped, _negated(mine), _negated(theirs), _negated(constants)
    if not any(added for added, _ in constants):  # so that `t2.b - t1.a > 60` is `t1.a > t2.b + 60`, but for the names
        return operator, _sum([*mine, *_negated(constants)]), _sum(theirs)
    return operator, _sum(mine), _sum([*theirs, *constants])


def _parts(tree: exp.Expr, added: bool, indices: Callable[[exp.Expr], frozenset[int]]) -> Iterator[_Part]:
    if isinstance(tree, exp.Paren) and len(indices(tree)) > 1:
        yield from _parts(tree.this, added, indices)
    elif isinstance(tree, (exp.Add, exp.Sub)) and (len(indices(tree)) > 1 or _is_sum_with_constant(tree, indices)):
        yield from _parts(tree.this, added, indices)
        yield from _parts(tree.expression, added is isinstance(tree, exp.Add), indices)
    elif isinstance(tree, exp.Neg) and len(indices(tree)) > 1:
        yield from _parts(tree.this, not added, indices)
    else:
        yield added, tree


def _is_sum_with_constant(tree: exp.Expr, indices: Callable[[exp.Expr], frozenset[int]]) -> bool:
    return not indices(tree.this) or not indices(tree.expression)


def _negated(parts: Sequence[_Part]) -> list[_Part]:
    return [(not added, part) for added, part in parts]


def _is_zero(part: exp.Expr) -> bool:
    return isinstance(part, exp.Literal) and not part.is_string and not str(part.this).strip("0.")


def _sum(parts: Sequence[_Part]) -> exp.Expr:
    """Write a sum that starts with a part that is added, where there is one."""
    first, *rest = sorted(parts, key=lambda part: not part[0])
    total = first[1].copy() if first[0] else exp.Neg(this=_atom(first[1]))
    for added, part in rest:
        total = exp.Add(this=total, expression=part.copy()) if added else exp.Sub(this=total, expression=_atom(part))
    return total


def _atom(part: exp.Expr) -> exp.Expr:
    return exp.paren(part) if isinstance(part, (exp.Add, exp.Sub, exp.Neg)) else part.copy()
