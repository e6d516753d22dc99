"""When one constraint's violations are all violations of another, and when there are none: by predicates alone."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from dpdb.constraints import Constant, DenialConstraint, Operator, Predicate

__all__ = ["entails", "never_holds"]


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
        return given.op.signs <= wanted.op.signs
    one, other = _number(given), _number(wanted)
    return one is not None and other is not None and _within(given.op, one, wanted.op, other)


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
    """Return True if no two rows can satisfy all predicates, because those of two operands exclude one another."""
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
