"""When one constraint's violations are all violations of another, and when there are none: by predicates alone."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from dpdb.constraints import Constant, DenialConstraint, Operator, Predicate

__all__ = ["entails", "never_holds"]

# What an operator says of the order of its sides: below (-1), equal (0), above (+1).
_SIGNS = {
    Operator.EQ: frozenset({0}),
    Operator.NE: frozenset({-1, 1}),
    Operator.LT: frozenset({-1}),
    Operator.LE: frozenset({-1, 0}),
    Operator.GT: frozenset({1}),
    Operator.GE: frozenset({0, 1}),
}


def entails(special: DenialConstraint, general: DenialConstraint) -> bool:
    """Return True if every violation of `special` is one of `general`, whatever the table holds.

    Sufficient, not necessary: each predicate of `general`, with its tuples as they are or exchanged, follows from one
    of `special`. A pair that violates a `special` over two tuples has a row that violates a `general` over one.
    """
    given = [predicate.canonical() for predicate in special.predicates]

    def follows(wanted: Predicate) -> bool:
        return any(_implies(predicate, wanted.canonical()) for predicate in given)

    return any(all(map(follows, orientation.predicates)) for orientation in _orientations(general))


def _orientations(dc: DenialConstraint) -> list[DenialConstraint | _Swapped]:
    return [dc, _Swapped(dc)]


class _Swapped:
    """A constraint with t1 and t2 exchanged, also where it mentions one tuple only."""

    def __init__(self, dc: DenialConstraint) -> None:
        self.predicates = tuple(predicate.swapped() for predicate in dc.predicates)


def _implies(given: Predicate, wanted: Predicate) -> bool:
    if given.left != wanted.left:
        return False
    if given.right == wanted.right:
        return _SIGNS[given.op] <= _SIGNS[wanted.op]
    one, other = _number(given), _number(wanted)
    return one is not None and other is not None and _within(given.op, one, wanted.op, other)


def _number(predicate: Predicate) -> Fraction | None:
    right = predicate.right
    if not isinstance(right, Constant) or isinstance(right.value, (bool, str)):
        return None
    return Fraction(right.value) if isinstance(right.value, (int, Decimal)) else None


def _within(given: Operator, one: Fraction, wanted: Operator, other: Fraction) -> bool:
    """Return True if x `given` one makes x `wanted` other, for numbers that differ."""
    below, above = _SIGNS[given] <= {-1, 0}, _SIGNS[given] <= {0, 1}
    if below and one < other:
        return -1 in _SIGNS[wanted]
    if above and one > other:
        return 1 in _SIGNS[wanted]
    return False


def never_holds(dc: DenialConstraint) -> bool:
    """Return True if no two rows can satisfy all predicates, because those of two operands exclude one another."""
    predicates = [predicate.canonical() for predicate in dc.predicates]
    if any(predicate.left == predicate.right and 0 not in _SIGNS[predicate.op] for predicate in predicates):
        return True
    return any(_exclude(one, other) for k, one in enumerate(predicates) for other in predicates[k + 1 :])


def _exclude(one: Predicate, other: Predicate) -> bool:
    if one.left != other.left:
        return False
    if one.right == other.right:
        return not _SIGNS[one.op] & _SIGNS[other.op]
    first, second = _number(one), _number(other)
    if first is None or second is None or first == second:
        return False
    low, high = (one, other) if first < second else (other, one)
    return _SIGNS[low.op] <= {-1, 0} and _SIGNS[high.op] <= {0, 1}
