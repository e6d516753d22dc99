"""Sets of values of one attribute: the values of a column that a predicate admits, with NULL as an atom of its own.

The values of a column are one dense total order (numbers by size with NaN greatest, text by code point). A set is kept
as the sorted *cuts* at which membership flips, so intervals, points, lists and their complements are one thing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, total_ordering
from typing import Any, TypeAlias

__all__ = ["NAN", "Cut", "Key", "ValueSet"]


@total_ordering
class _NaN:
    """SQL's NaN: equal to itself and greater than every other number, infinity included."""

    def __eq__(self, other: object) -> bool:
        return other is self

    def __gt__(self, other: object) -> bool:
        return other is not self

    def __hash__(self) -> int:
        return 0x7FF8

    def __repr__(self) -> str:
        return "NaN"


NAN = _NaN()

Key: TypeAlias = Any
"""A value as a key of the order: int, Fraction, an infinite float or NAN for numbers, str for text and dates."""

Cut: TypeAlias = tuple[Key, bool]
"""A place between values: just before the key (False) or just after it (True)."""


@dataclass(frozen=True)
class ValueSet:
    """A set of values of one attribute.

    Parameters
    ----------
    cuts
        Strictly increasing places at which membership flips.
    low
        Whether values below the first cut belong to the set.
    null
        Whether NULL belongs to the set.
    """

    cuts: tuple[Cut, ...] = ()
    low: bool = True
    null: bool = True

    @staticmethod
    def everything() -> ValueSet:
        """Every value and NULL."""
        return _EVERYTHING

    @staticmethod
    def nothing() -> ValueSet:
        """No value, not even NULL."""
        return _NOTHING

    @staticmethod
    def present() -> ValueSet:
        """Every value except NULL."""
        return _PRESENT

    @staticmethod
    def only_null() -> ValueSet:
        """NULL alone."""
        return _ONLY_NULL

    @staticmethod
    def points(values: Iterable[Key]) -> ValueSet:
        """Exactly the given values."""
        return ValueSet(tuple((value, side) for value in sorted(set(values)) for side in (False, True)), False, False)

    @staticmethod
    def below(value: Key, *, closed: bool) -> ValueSet:
        """All values up to `value`, with it if `closed`."""
        return ValueSet(((value, closed),), True, False)

    @staticmethod
    def above(value: Key, *, closed: bool) -> ValueSet:
        """All values from `value` on, with it if `closed`."""
        return ValueSet(((value, not closed),), False, False)

    @staticmethod
    def interval(low: Key, high: Key, *, closed_low: bool = True, closed_high: bool = True) -> ValueSet:
        """All values between two ends; empty when the ends cross.

        Parameters
        ----------
        low, high
            The ends.
        closed_low, closed_high
            Whether the end itself belongs to the set.
        """
        return ValueSet.above(low, closed=closed_low) & ValueSet.below(high, closed=closed_high)

    @staticmethod
    def union(sets: Sequence[ValueSet]) -> ValueSet:
        """Return the set of the values that belong to some of the sets."""
        return _halved(sets, _NOTHING, ValueSet.__or__)

    @staticmethod
    def intersection(sets: Sequence[ValueSet]) -> ValueSet:
        """Return the set of the values that belong to all of the sets."""
        return _halved(sets, _EVERYTHING, ValueSet.__and__)

    @property
    def is_empty(self) -> bool:
        """Return whether the set has neither a value nor NULL."""
        return not (self.cuts or self.low or self.null)

    @property
    def is_everything(self) -> bool:
        """Return whether every value and NULL belong to the set."""
        return self.low and self.null and not self.cuts

    @property
    def kind(self) -> str | None:
        """`number` or `text`, by the values of its cuts; None if it has no cuts."""
        if not self.cuts:
            return None
        return "text" if isinstance(self.cuts[0][0], str) else "number"

    def __and__(self, other: ValueSet) -> ValueSet:
        return _combine(self, other, lambda mine, theirs: mine and theirs)

    def __or__(self, other: ValueSet) -> ValueSet:
        return _combine(self, other, lambda mine, theirs: mine or theirs)

    def __invert__(self) -> ValueSet:
        return ValueSet(self.cuts, not self.low, not self.null)

    def __contains__(self, value: Key) -> bool:
        if value is None:
            return self.null
        key = canonical_number(value) if not isinstance(value, str) else value
        return self.low ^ (sum(cut <= (key, False) for cut in self.cuts) % 2 == 1)

    def without_values(self) -> ValueSet:
        """The smallest superset that tells only NULL from values: safe whatever the values mean."""
        return ValueSet((), bool(self.cuts) or self.low, self.null)

    def describe(self, attribute: str) -> str:
        """The set as a condition on `attribute`, in SQL."""
        return _words(self, attribute)

    @cached_property
    def _hash(self) -> int:
        return hash((self.cuts, self.low, self.null))

    def __hash__(self) -> int:
        return self._hash


_EVERYTHING = ValueSet()
_NOTHING = ValueSet((), False, False)
_PRESENT = ValueSet((), True, False)
_ONLY_NULL = ValueSet((), False, True)


def canonical_number(value: Any) -> Key:
    """A Python number as an order key: exact, NaN greatest, -0.0 equal to 0.0."""
    if isinstance(value, float):
        if math.isnan(value):
            return NAN
        if math.isinf(value):
            return value
        value = Fraction(value)
    if isinstance(value, Fraction) and value.denominator == 1:
        return int(value)
    return int(value) if isinstance(value, bool) else value


def _halved(sets: Sequence[ValueSet], of_none: ValueSet, combine: Callable[[ValueSet, ValueSet], ValueSet]) -> ValueSet:
    """Combine many sets, halving the list so that long ones stay cheap."""
    if len(sets) <= 1:
        return sets[0] if sets else of_none
    middle = len(sets) // 2
    return combine(_halved(sets[:middle], of_none, combine), _halved(sets[middle:], of_none, combine))


def _combine(one: ValueSet, two: ValueSet, rule: Callable[[bool, bool], bool]) -> ValueSet:
    """Sweep both cut lists from left to right and keep the cuts where `rule` flips.

    Numbers and text have no common order: then each set tells only whether it has NULL and whether it has values.
    """
    if one.cuts and two.cuts and one.kind != two.kind:
        one, two = one.without_values(), two.without_values()
    mine, theirs = one.low, two.low
    inside = low = rule(mine, theirs)
    cuts: list[Cut] = []
    left, right = one.cuts, two.cuts
    i = j = 0
    while i < len(left) or j < len(right):
        take_left = j == len(right) or (i < len(left) and left[i] <= right[j])
        take_right = i == len(left) or (j < len(right) and right[j] <= left[i])
        cut = left[i] if take_left else right[j]
        mine ^= take_left
        theirs ^= take_right
        i += take_left
        j += take_right
        if rule(mine, theirs) != inside:
            inside = not inside
            cuts.append(cut)
    return ValueSet(tuple(cuts), low, rule(one.null, two.null))


def literal_words(key: Key) -> str:
    """A key as a SQL literal."""
    if isinstance(key, str):
        return "'" + key.replace("'", "''") + "'"
    if isinstance(key, Fraction):
        return repr(float(key))
    return str(key)


def _pieces(values: ValueSet) -> list[tuple[Cut | None, Cut | None]]:
    """The maximal intervals of a set, each as its left and right cut (None: unbounded)."""
    ends: list[Cut | None] = [None, *values.cuts] if values.low else list(values.cuts)
    if len(ends) % 2:
        ends.append(None)
    return list(zip(ends[::2], ends[1::2], strict=True))


def _piece_words(attribute: str, left: Cut | None, right: Cut | None) -> str:
    if left and right and left[0] == right[0]:
        return f"{attribute} = {literal_words(left[0])}"
    words = []
    if left:
        words.append(f"{attribute} {'>' if left[1] else '>='} {literal_words(left[0])}")
    if right:
        words.append(f"{attribute} {'<=' if right[1] else '<'} {literal_words(right[0])}")
    return " and ".join(words)


def _words(values: ValueSet, attribute: str) -> str:
    if values.is_everything:
        return f"any {attribute}"
    if values.is_empty:
        return "nothing"
    if not values.cuts:
        return f"{attribute} is {'not null' if values.low else 'null'}"
    pieces = _pieces(values)
    alternatives = [_piece_words(attribute, left, right) for left, right in pieces[:4]]
    if len(pieces) > 4:
        alternatives.append(f"{len(pieces) - 4} more ranges of {attribute}")
    if values.null:
        alternatives.append(f"{attribute} is null")
    return " or ".join(alternatives)
