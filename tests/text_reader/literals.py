"""The meaning of a WHERE clause's literal on a column: what `=` and `<>` may match, and its place in the order.

When the column's type is declared, the literal is read in that type. When it is not, the column may hold numbers, text,
dates, timestamps or booleans, and a meaning is wide enough for each of them: a quoted '1' also matches '1.0', 't' also
'true', a timestamp its whole day, and a number with more than six digits its whole single-precision neighbourhood. A
meaning is never narrower than what a database may match, so two releases never look disjoint when they can meet.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from fractions import Fraction

import numpy as np

from dpdb.predicates.value_sets import (
    NAN,
    UNSURE,
    Key,
    Meaning,
    ValueSet,
    canonical_number,
    enclosed,
    exactly,
    neighbours,
)

__all__ = ["ColumnType", "Literal", "LiteralKind", "column_type", "meanings"]


class LiteralKind(Enum):
    """The way a literal was written."""

    NUMBER = "number"
    TEXT = "text"
    BOOLEAN = "boolean"
    MOMENT = "moment"
    NULL = "null"


@dataclass(frozen=True)
class Literal:
    """A literal of a clause: how it was written and its text (without quotes)."""

    kind: LiteralKind
    text: str


class Reading(Enum):
    """The kinds of columns that are told apart."""

    UNKNOWN = "unknown"
    INTEGER = "integer"
    DECIMAL = "decimal"
    DOUBLE = "double"
    REAL = "real"
    BOOLEAN = "boolean"
    TEXT = "text"
    DATE = "date"
    TIMESTAMP = "timestamp"
    OPAQUE = "opaque"


@dataclass(frozen=True)
class ColumnType:
    """A declared column type: how its literals are read, and an exact number's digits before and after the point."""

    reading: Reading
    scale: int = 0
    whole: int = 0


UNKNOWN_TYPE = ColumnType(Reading.UNKNOWN)

_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INTEGER": 10, "INT": 10, "BIGINT": 19, "HUGEINT": 39}
_DIGITS |= {f"U{name}": digits for name, digits in _DIGITS.items()} | {"UBIGINT": 20, "UHUGEINT": 40}
_DECIMAL_DIGITS = 38  # what needs more is compared as DOUBLE
_REAL_DIGITS, _DOUBLE_DIGITS = 6, 15  # up to here different numbers stay different, and are read as the nearest

_TYPES = {
    **dict.fromkeys(["DOUBLE", "DOUBLE PRECISION", "FLOAT8"], Reading.DOUBLE),
    **dict.fromkeys(["FLOAT", "REAL", "FLOAT4"], Reading.REAL),
    **dict.fromkeys(["BOOLEAN", "BOOL"], Reading.BOOLEAN),
    **dict.fromkeys(["VARCHAR", "TEXT", "STRING"], Reading.TEXT),
    "DATE": Reading.DATE,
    **dict.fromkeys(["TIMESTAMP", "DATETIME"], Reading.TIMESTAMP),
}


def column_type(name: str | None) -> ColumnType:
    """Read a declared SQL type; one that is not known (enumerations, collated text, lists, ...) is opaque."""
    if name is None:
        return UNKNOWN_TYPE
    words = name.strip().upper()
    decimal = re.fullmatch(r"(?:DECIMAL|NUMERIC)(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?", words)
    if decimal:
        width, scale = (int(decimal[1]), int(decimal[2] or 0)) if decimal[1] else (18, 3)
        return ColumnType(Reading.DECIMAL, scale, width - scale)
    if words in _DIGITS:
        return ColumnType(Reading.INTEGER, 0, _DIGITS[words])
    return ColumnType(_TYPES.get(words, Reading.OPAQUE))


def meanings(literals: Sequence[Literal], column: ColumnType) -> list[Meaning]:
    """Return what literals may match on a column of type `column`; NULL literals never get here.

    They are brought to one type with each other, as in a list or BETWEEN: one that is a DOUBLE makes the others DOUBLE.
    """
    exact = _compared_exactly([number for literal in literals if (number := _numeral_of(literal.text))], column)
    return [_meaning(literal, column, exact=exact) for literal in literals]


def _meaning(literal: Literal, column: ColumnType, *, exact: bool) -> Meaning:
    if literal.kind is LiteralKind.BOOLEAN:
        return _boolean(literal.text == "true") if column.reading in _NUMERIC else UNSURE
    if literal.kind is LiteralKind.NUMBER:
        return _number(literal.text, column, exact=exact) if column.reading in _NUMERIC else UNSURE
    if column.reading is Reading.UNKNOWN:
        return _untyped_text(literal.text)
    if column.reading in (Reading.DATE, Reading.TIMESTAMP):
        return _moment(literal.text, column.reading)
    sure = literal.kind is not LiteralKind.MOMENT and column.reading is not Reading.OPAQUE
    return _quoted(literal.text, column, exact=exact) if sure else UNSURE


def _quoted(text: str, column: ColumnType, *, exact: bool) -> Meaning:
    """Quoted text on a column of text, of numbers or of booleans."""
    if column.reading is Reading.TEXT:
        return exactly(text)
    word = text.strip()
    if column.reading is Reading.BOOLEAN and word.lower() in _TRUE + _FALSE:
        return _boolean(word.lower() in _TRUE)
    if column.reading in (Reading.DOUBLE, Reading.REAL) and word.lower() in _SPECIAL_NUMBERS:
        return exactly(_SPECIAL_NUMBERS[word.lower()])
    return _number(word, column, exact=exact)


_NUMERIC = (
    Reading.UNKNOWN, Reading.INTEGER, Reading.DECIMAL, Reading.DOUBLE, Reading.REAL, Reading.BOOLEAN,
)  # fmt: skip
_SPECIAL_NUMBERS: dict[str, Key] = {
    "nan": NAN,
    **dict.fromkeys(["inf", "infinity"], math.inf),
    **dict.fromkeys(["-inf", "-infinity"], -math.inf),
}
_NUMBER = re.compile(r"([-+]?)(\d{0,60})(?:\.(\d{0,60}))?(?:[eE]([-+]?\d{1,3}))?")


def _boolean(value: bool) -> Meaning:
    """True matches whatever is not zero, because a database may compare as numbers or as booleans."""
    zero = ValueSet.points([0])
    not_zero = ValueSet.present() & ~zero
    if value:
        return Meaning(not_zero, ValueSet.present(), None, None)
    return Meaning(zero, not_zero, None, None)


@dataclass(frozen=True)
class _Numeral:
    """A number as it was written: digits before and after the point, all that are not leading zeros, exponent."""

    value: Fraction
    whole: int
    decimals: int
    digits: int
    has_exponent: bool


def _numeral_of(text: str) -> _Numeral | None:
    written = _NUMBER.fullmatch(text.strip())
    if not written or not (written[2] or written[3]):
        return None
    whole, decimals = written[2] or "", written[3] or ""
    digits = len((whole + decimals).lstrip("0"))
    return _Numeral(Fraction(text.strip()), len(whole), len(decimals), digits, bool(written[4]))


def _compared_exactly(numbers: Sequence[_Numeral], column: ColumnType) -> bool:
    """Return whether a column and all these numbers compare in a type that changes neither; else they may as DOUBLE."""
    if column.reading is Reading.DOUBLE:
        return all(number.digits <= _DOUBLE_DIGITS for number in numbers)
    if any(number.has_exponent for number in numbers):
        return False
    if column.reading in (Reading.REAL, Reading.UNKNOWN):
        return all(number.digits <= _REAL_DIGITS for number in numbers)
    decimals = max([column.scale, *(number.decimals for number in numbers)])
    written = max((number.whole for number in numbers), default=0)
    if decimals == 0 and column.whole <= _DIGITS["HUGEINT"]:
        return written < _DIGITS["HUGEINT"]
    return max(written, column.whole) + decimals <= _DECIMAL_DIGITS


def _number(text: str, column: ColumnType, *, exact: bool) -> Meaning:
    number = _numeral_of(text)
    if number is None:
        return UNSURE
    value = number.value
    if column.reading is Reading.UNKNOWN:
        plain = exact and (value == 0 or Fraction(1, 10**37) < abs(value) < 10**38)
        return enclosed(value, value) if plain else _single_precision(value)
    if column.reading is Reading.REAL:
        near = _to_float(value)
        with np.errstate(over="ignore"):
            return exactly(canonical_number(float(np.float32(near)))) if exact else _single_precision(value)
    if column.reading is Reading.DOUBLE:
        near = _to_float(value)
        return exactly(canonical_number(near)) if exact else enclosed(*neighbours(near))
    step = Fraction(1, 10**column.scale)
    low, high = math.floor(value / step) * step, math.ceil(value / step) * step
    if exact:
        return enclosed(low, high)
    ends = neighbours(_to_float(value))
    return enclosed(min(low, ends[0]), max(high, ends[1]))


def _to_float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _single_precision(value: Fraction) -> Meaning:
    """Everything that may be equal to `value` once rounded to single precision."""
    with np.errstate(over="ignore", under="ignore"):
        near = np.float32(_to_float(value))
        low, high = np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))
        return enclosed(float(low), float(high))


_ISO = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[ T](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,6}))?)?")


def _instant(text: str) -> datetime | None:
    """A strictly written ISO date or timestamp without zone; None for anything else."""
    written = _ISO.fullmatch(text)
    if not written:
        return None
    try:
        parts = [int(part or 0) for part in written.groups()[:6]]
        return datetime(*parts, microsecond=int((written[7] or "").ljust(6, "0")))  # type: ignore[arg-type, misc]
    except ValueError:
        return None


def _moment(text: str, reading: Reading) -> Meaning:
    instant = _instant(text.strip())
    if instant is None:
        return UNSURE
    day = instant.strftime("%Y").rjust(4, "0") + instant.strftime("-%m-%d")
    if reading is Reading.TIMESTAMP:
        return exactly(f"{day} {instant:%H:%M:%S.%f}")
    if ":" not in text:
        return exactly(day)
    # a timestamp on a DATE column: the day it falls on may or may not be included by a range
    return Meaning(ValueSet.points([day]), ValueSet.present(), day, day + "\0")


_TRUE = ("true", "t", "1", "yes", "y", "on")
_FALSE = ("false", "f", "0", "no", "n", "off")
_LAST = "\U0010ffff"
_UUID = re.compile(r"\{?[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}\}?")
_DATE_LIKE = re.compile(r"[-+]?(\d{1,6})[-/\\ ](\d{1,2})[-/\\ ](\d{1,2})(?!\d)(.*)", re.DOTALL)
_SPECIAL = re.compile(r"[-+]?(inf|infinity|nan|epoch)", re.IGNORECASE)
_UNIT = "us|usec|ms|msec|micro|milli|s|sec|m|min|h|hr|hour|d|day|w|week|mon|month|quarter|y|yr|year|dec|decade|c|cent"
_INTERVAL = re.compile(rf"[-+]?\d[\d.]*\s*({_UNIT}|\w*second|minute|century|centuries|millenni\w*)s?\b", re.IGNORECASE)


def _untyped_text(text: str) -> Meaning:
    """Quoted text on a column of unknown type: every spelling that some type takes for the same value."""
    for reader in (_truth_word, _numeral, _iso_moment, _uuid):
        spellings = reader(text)
        if spellings:
            if spellings == {text}:
                return exactly(text)
            equal, itself = ValueSet.points({text, *spellings}), ValueSet.present() & ~ValueSet.points([text])
            if reader is _iso_moment:
                return Meaning(equal, itself, min(spellings), max(spellings) + _LAST)
            return Meaning(equal, itself, None, None)
    return UNSURE if _may_be_something_else(text.strip()) else exactly(text)


def _truth_word(text: str) -> set[str] | None:
    """Spellings of the same boolean; the digits 1 and 0 are left to `_numeral`."""
    word = text.strip().lower()
    if word not in _TRUE + _FALSE or word.isdigit():
        return None
    truth = word in _TRUE
    names = _TRUE if truth else _FALSE
    return {*names, *map(str.upper, names), *map(str.title, names), _rounded(Fraction(int(truth)))}


def _numeral(text: str) -> set[str] | None:
    """Names of the number, and of the whole numbers a cast may round it to."""
    number = _numeral_of(text)
    if number is None:
        return None
    return {
        _rounded(number.value),
        _rounded(Fraction(math.floor(number.value))),
        _rounded(Fraction(math.ceil(number.value))),
    }


def _iso_moment(text: str) -> set[str] | None:
    """The day of a strictly written date or timestamp, and the next one if whole seconds round up to it."""
    instant = _instant(text)
    if instant is None:
        return None
    half = timedelta(seconds=0.5)
    return {text[:10], (min(instant, datetime.max - half) + half).isoformat()[:10]}


def _uuid(text: str) -> set[str] | None:
    word = text.strip()
    return {re.sub(r"[-{}]", "", word).lower()} if _UUID.fullmatch(word) else None


def _rounded(value: Fraction) -> str:
    """One name for all numbers that single precision cannot tell apart."""
    with np.errstate(over="ignore", under="ignore"):
        return f"≈{float(np.float32(_to_float(value))) + 0.0!r}"


def _may_be_something_else(word: str) -> bool:
    """Return whether some column type reads this text in a way that is not modelled: odd dates, times, huge numbers."""
    if _SPECIAL.match(word) or re.fullmatch(r"[-+]?[\d_.,]*\d[\d_.,]*([eE][-+]?\d+)?|0[xXbBoO][\da-fA-F_]+", word):
        return True
    if re.match(r"\d{1,3}:\d", word) or _INTERVAL.match(word) or "\\" in word:  # times, intervals, bytes
        return True
    date = _DATE_LIKE.fullmatch(word)
    return bool(date) and int(date[2]) <= 12 and int(date[3]) <= 31  # type: ignore[index]
