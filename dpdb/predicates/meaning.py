"""The meaning of a literal: what comparisons with it may match on a column, as value sets that are never too small."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpdb.constraints import Operator
from dpdb.predicates.attribute_sets import Key, ValueSet, canonical_number

__all__ = ["UNSURE", "Meaning", "enclosed", "exactly", "listed", "neighbours"]


@dataclass(frozen=True)
class Meaning:
    """The values that comparisons with one literal may match on one column.

    `low` and `high` enclose the literal in the column's order and are equal when its place is exact; None means that
    its place is not known and a range covers every value that is not NULL, unless `listed` names all values of the
    column, each with its side of the literal (-1, 0 or 1): of an enumeration, whose order is not that of the keys.
    """

    equal: ValueSet
    unequal: ValueSet
    low: Key | None
    high: Key | None
    listed: tuple[tuple[int, Key], ...] | None = None

    @property
    def understood(self) -> bool:
        """Return whether the literal restricts anything at all."""
        return self != UNSURE

    def compare(self, operator: Operator) -> ValueSet:
        """Values for which `column operator literal` may be true."""
        if operator is Operator.EQ:
            return self.equal
        if operator is Operator.NE:
            return self.unequal
        if self.listed is not None:
            return ValueSet.points(key for side, key in self.listed if side in operator.signs)
        if self.low is None:
            return ValueSet.present()
        closed = 0 in operator.signs or self.low != self.high
        if -1 in operator.signs:
            return ValueSet.below(self.high, closed=closed)
        return ValueSet.above(self.low, closed=closed)


UNSURE = Meaning(ValueSet.present(), ValueSet.present(), None, None)


def exactly(key: Key) -> Meaning:
    """The literal is one value of the column."""
    point = ValueSet.points([key])
    return Meaning(point, ValueSet.present() & ~point, key, key)


def listed(key: Key, values: Sequence[Key]) -> Meaning:
    """The literal is one of the column's values, which are few and in an order of their own."""
    place = values.index(key)
    sides = tuple(((other > place) - (other < place), value) for other, value in enumerate(values))
    point = ValueSet.points([key])
    return Meaning(point, ValueSet.present() & ~point, None, None, sides)


def enclosed(low: Key, high: Key) -> Meaning:
    """The literal may be any value from `low` to `high`."""
    low, high = canonical_number(low), canonical_number(high)
    if low == high:
        return exactly(low)
    return Meaning(ValueSet.interval(low, high), ValueSet.present(), low, high)


def neighbours(near: float) -> tuple[float, float]:
    """The ends of what a DOUBLE stands for where numbers of another type are rounded to one before a comparison.

    Two neighbours on either side: converting a number of 128 bits or a decimal takes up to three roundings (both halves
    and their sum; digits, power of ten and quotient), each off by half the distance between neighbours.
    """
    low = math.nextafter(math.nextafter(near, -math.inf), -math.inf)
    return low, math.nextafter(math.nextafter(near, math.inf), math.inf)
