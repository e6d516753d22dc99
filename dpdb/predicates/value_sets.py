"""Sets of values of one attribute that a predicate admits, and the places of literals among these values.

NULL is an atom of its own. The values of a column are one dense total order (numbers by size with NaN greatest, text by
code point). A set is kept as the sorted *cuts* at which membership flips, so intervals, points, lists and their
complements are one thing.

Of the values that a comparison with a literal may match there are never too few. Keys are their places: numbers are
themselves, text is itself (compared by code point, as UTF-8 bytes are), values of enumerations are their texts in an
order of their own, and dates, times, UUIDs and bytes are texts whose order by code point is theirs. Ledgers keep these
keys: a key that was ever written keeps its form. The other types (INTERVAL, BIT, TIME WITH TIME ZONE) have no order
that is modelled.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, total_ordering
from typing import Any, TypeAlias

from dpdb.constraints import Operator
from dpdb.predicates.nodes import Literal, Value
from dpdb.predicates.terms import IN_NANOSECONDS, WHOLE, enum_values, is_enum


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
        if self.is_everything:
            return f"any {attribute}"
        if self.is_empty:
            return "nothing"
        if not self.cuts:
            return f"{attribute} is {'not null' if self.low else 'null'}"
        pieces = _pieces(self)
        alternatives = [_piece_words(attribute, left, right) for left, right in pieces[:4]]
        if len(pieces) > 4:
            alternatives.append(f"{len(pieces) - 4} more ranges of {attribute}")
        if self.null:
            alternatives.append(f"{attribute} is null")
        return " or ".join(alternatives)

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
    """The ends of the interval of numbers of another type that may be rounded to a DOUBLE before a comparison.

    Two neighbours on either side: converting a number of 128 bits or a decimal takes up to three roundings (both halves
    and their sum; digits, power of ten and quotient), each off by half the distance between neighbours.
    """
    low = math.nextafter(math.nextafter(near, -math.inf), -math.inf)
    return low, math.nextafter(math.nextafter(near, math.inf), math.inf)


def meaning(literal: Literal, column_type: str) -> Meaning:
    """Return the meaning of a literal on a column: the one value that the engine read, or its neighbourhood.

    The comparison runs in the literal's type. Where that holds every value of the column's type exactly and in the same
    order, so is the answer; where it is DOUBLE and the column is not, the column's values are rounded first. In all
    other cases every value that is not NULL matches.
    """
    if is_enum(column_type):
        return _of_enum(literal, column_type)
    key = place(literal.type, literal.value)
    if key is None:
        return UNSURE
    if literal.type == column_type or _holds_exactly(literal.type, column_type):
        return exactly(key)
    if literal.type == "DOUBLE" and _is_exact_number(column_type):
        return enclosed(*neighbours(float(literal.value)))
    return UNSURE


def _of_enum(literal: Literal, column_type: str) -> Meaning:
    """Compare with a literal as text, for equality, or as a value of the enumeration.

    The keys are the texts, as they always were in ledgers; ranges list them, for they have another order.
    """
    key, values = place(literal.type, literal.value), enum_values(column_type)
    if literal.type not in (column_type, "VARCHAR"):
        return UNSURE
    if key not in values:
        return Meaning(ValueSet.nothing(), ValueSet.present(), None, None)
    return listed(key, values) if literal.type == column_type else replace(exactly(key), low=None, high=None)


def _holds_exactly(kind: str, column_type: str) -> bool:
    """Return whether `kind`, chosen as a comparison's type, has every value of the column's type (or NULL for it)."""
    if _is_exact_number(column_type):
        return _is_exact_number(kind)  # the comparison's type is wide enough for both sides
    return (column_type, kind) == ("DATE", "TIMESTAMP")  # dates out of its range become NULL


def _is_exact_number(kind: str) -> bool:
    return kind in WHOLE or kind.startswith("DECIMAL(")


def place(kind: str, value: Value) -> Key | None:
    """Return the key of a value as the engine shows it; None for a type whose order is not modelled.

    Keys are ordered as the values are; keys of enumerations are equal as the values are, but not ordered so.
    """
    if is_enum(kind):
        return str(value)
    if kind in ("FLOAT", "DOUBLE", "BOOLEAN") or _is_exact_number(kind):
        return canonical_number(Fraction(value) if isinstance(value, Decimal) else value)
    return _PLACES[kind](str(value)) if kind in _PLACES else None


# -- texts in order -------------------------------------------------------------------------------------------

_MOMENT = re.compile(r"(\d+)(-\d\d-\d\d)( \(BC\))?(?: (\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?)?(?:\+00)?")
_TIME = re.compile(r"(\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?")
_MOST_YEARS = 10**7  # more than DATE and TIMESTAMP reach in either direction


def _moment(text: str, digits: int = 6) -> Key | None:
    """Key of a date or timestamp, in UTC: `2024-01-31`, `2024-01-31 12:00:00.000000`.

    Years before 1 come first, counted from the far past; years of five digits and more come after 9999. The engine's
    own `-infinity` lies before and `infinity` behind all of them, as texts too: `-` < `/` < digits < `:` < letters.
    """
    if text in ("infinity", "-infinity"):
        return text
    written = _MOMENT.fullmatch(text)
    if written is None:
        return None
    year, day, before_christ, time, fraction = written.groups()
    if before_christ:
        year = f"/{_MOST_YEARS - int(year):07d}"
    elif int(year) > 9999:
        year = f":{int(year):07d}"
    return f"{year}{day}" + (f" {time}.{(fraction or '').ljust(digits, '0')}" if time else "")


def _time_of_day(text: str) -> Key | None:
    written = _TIME.fullmatch(text)
    return None if written is None else f"{written[1]}.{(written[2] or '').ljust(6, '0')}"


def _bytes(hexadecimal: str) -> Key:
    """The bytes as DuckDB reads them from text; every byte takes four characters, so their order stays."""
    return re.sub("(..)", r"\\x\1", hexadecimal.upper())


_PLACES: dict[str, Callable[[str], Key | None]] = {
    "VARCHAR": str,
    "DATE": _moment,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP WITH TIME ZONE"), _moment),
    **dict.fromkeys(IN_NANOSECONDS, lambda text: _moment(text, digits=9)),
    "TIME": _time_of_day,
    "UUID": str.lower,
    "BLOB": _bytes,
}
