"""Decide by predicates alone whether all violations of a constraint violate another, or whether it has none."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from dpdb.constraints import ColumnRef, Constant, DenialConstraint, Operator, Predicate

__all__ = ["Entailing", "entails", "never_holds"]


def entails(special: DenialConstraint, general: DenialConstraint) -> bool:
    """Return True if every violation of `special` is one of `general`, whatever the table holds.

    Sufficient, not necessary: each predicate of `general`, with its tuples as they are or exchanged, follows from one
    of `special`. A pair that violates a `special` over two tuples has a row that violates a `general` over one.
    """
    return Entailing(special).entails(Entailing(general))


class Entailing:
    """A constraint prepared for `entails`, for callers that compare many constraints with one another.

    Attributes
    ----------
    given : dict
        Its predicates by their left sides.
    wanted : tuple of two lists
        Its predicates, with t1 and t2 as they are and exchanged.
    """

    def __init__(self, dc: DenialConstraint) -> None:
        as_it_is = [_Compared(predicate) for predicate in dc.predicates]
        self.wanted = as_it_is, [_Compared(predicate.swapped()) for predicate in dc.predicates]
        self.given: dict[ColumnRef, list[_Compared]] = {}
        for predicate in as_it_is:
            self.given.setdefault(predicate.left, []).append(predicate)

    def entails(self, general: Entailing) -> bool:
        """Return the result of `entails` for the two constraints."""
        return any(all(map(self._implies, orientation)) for orientation in general.wanted)

    def _implies(self, wanted: _Compared) -> bool:
        return any(given.implies(wanted) for given in self.given.get(wanted.left, ()))


class _Compared:
    """A predicate with its sides in order, and the number on its right side, if there is a number."""

    def __init__(self, predicate: Predicate) -> None:
        canonical = predicate.canonical()
        self.left, self.op, self.right = canonical.left, canonical.op, canonical.right
        self.number = _number(canonical)

    def implies(self, wanted: _Compared) -> bool:
        """Return whether this predicate implies `wanted`, which has the same left side."""
        if self.right == wanted.right:
            return self.op.signs <= wanted.op.signs
        one, other = self.number, wanted.number
        return one is not None and other is not None and _within(self.op, one, wanted.op, other)


def _number(predicate: Predicate) -> Fraction | None:
    right = predicate.right
    if not isinstance(right, Constant) or isinstance(right.value, (bool, str)):
        return None
    return Fraction(right.value) if isinstance(right.value, (int, Decimal)) else None


def _within(given: Operator, one: Fraction, wanted: Operator, other: Fraction) -> bool:
    """Return True if x `given` one makes x `wanted` other, for numbers that differ."""
    below, above = given.signs <= {-1, 0}, given.signs <= {0, 1}
    if below and one < other:
        return -1 in wanted.signs
    if above and one > other:
        return 1 in wanted.signs
    return False


def never_holds(dc: DenialConstraint) -> bool:
    """Return True if no two rows can satisfy all predicates, because two on the same operands exclude one another."""
    predicates = [predicate.canonical() for predicate in dc.predicates]
    if any(predicate.left == predicate.right and 0 not in predicate.op.signs for predicate in predicates):
        return True
    return any(_exclude(one, other) for k, one in enumerate(predicates) for other in predicates[k + 1 :])


def _exclude(one: Predicate, other: Predicate) -> bool:
    if one.left != other.left:
        return False
    if one.right == other.right:
        return not one.op.signs & other.op.signs
    first, second = _number(one), _number(other)
    if first is None or second is None or first == second:
        return False
    low, high = (one, other) if first < second else (other, one)
    return low.op.signs <= {-1, 0} and high.op.signs <= {0, 1}
