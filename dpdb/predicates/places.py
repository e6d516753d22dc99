"""The place of a literal among the values of a column, in the order by which the engine compares them.

Numbers are themselves, text is itself (compared by code point, as UTF-8 bytes are), values of enumerations are their
texts in an order of their own, and dates, times, UUIDs and bytes
are texts whose order by code point is theirs. Ledgers keep these keys: a key that was ever written keeps its form. The
other types (INTERVAL, BIT, TIME WITH TIME ZONE) have no order that is modelled.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from dpdb.predicates.attribute_sets import Key, ValueSet, canonical_number
from dpdb.predicates.meaning import UNSURE, Meaning, enclosed, exactly, listed, neighbours
from dpdb.predicates.nodes import Literal, Value
from dpdb.predicates.terms import enum_values, is_enum

__all__ = ["meaning", "place"]

_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_EXACT_NUMBERS = frozenset([*_INTEGERS, *(f"U{name}" for name in _INTEGERS)])


def meaning(literal: Literal, column_type: str) -> Meaning:
    """Say what a literal matches on a column: the one value that the engine read, or its neighbourhood.

    The comparison runs in the literal's type. Where that holds every value of the column's type exactly and in the same
    order, so is the answer; where it is DOUBLE and the column is not, the column's values are rounded first. Whatever
    else may come matches every value that is not NULL.
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
        return _is_exact_number(kind)  # chosen wide enough for both sides
    return (column_type, kind) == ("DATE", "TIMESTAMP")  # dates out of its range become NULL


def _is_exact_number(kind: str) -> bool:
    return kind in _EXACT_NUMBERS or kind.startswith("DECIMAL(")


def place(kind: str, value: Value) -> Key | None:
    """Return the key of a value as the engine shows it; None for a type whose order is not modelled.

    Keys are ordered as the values are, but those of enumerations, which are only equal as they are.
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
