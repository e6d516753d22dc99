"""The place of a literal among the values of a column, and the values that comparisons may match, never too few.

Numbers are themselves, text is itself (compared by code point, as UTF-8 bytes are), values of enumerations are their
texts in an order of their own, and dates, times, UUIDs and bytes are texts whose order by code point is theirs.
Ledgers keep these keys: a key that was ever written keeps its form. The other types (INTERVAL, BIT, TIME WITH TIME
ZONE) have no order that is modelled.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from dpdb.constraints import Operator
from dpdb.predicates.attribute_sets import Key, ValueSet, canonical_number
from dpdb.predicates.nodes import Literal, Value
from dpdb.predicates.terms import enum_values, is_enum

__all__ = ["UNSURE", "Meaning", "enclosed", "exactly", "listed", "meaning", "neighbours", "place"]


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


_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_EXACT_NUMBERS = frozenset([*_INTEGERS, *(f"U{name}" for name in _INTEGERS)])


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
    return kind in _EXACT_NUMBERS or kind.startswith("DECIMAL(")


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
    "TIMESTAMP_NS": lambda text: _moment(text, digits=9),
    "TIME": _time_of_day,
    "UUID": str.lower,
    "BLOB": _bytes,
}
