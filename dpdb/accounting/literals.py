"""What a literal of a WHERE clause may mean on a column: what `=` and `<>` may match, and its place in the order.

When the column's type is declared, the literal is read in that type. When it is not, the column may hold numbers, text,
dates, timestamps or booleans, and a meaning is wide enough for each of them: a quoted '1' also matches '1.0', 't' also
'true', a timestamp its whole day, and a number with more than six digits its whole single-precision neighbourhood. A
meaning is never narrower than what a database may match, so two releases never look disjoint when they can meet.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from fractions import Fraction

import numpy as np

from dpdb.accounting.attribute_sets import NAN, Key, ValueSet, canonical_number

__all__ = ["ColumnType", "Literal", "LiteralKind", "Meaning", "column_type", "meaning"]


class LiteralKind(Enum):
    """How a literal was written."""

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
    """A declared column type: how its literals are read, and the scale of a decimal."""

    reading: Reading
    scale: int = 0


UNKNOWN_TYPE = ColumnType(Reading.UNKNOWN)

_INTEGERS = ["TINYINT", "SMALLINT", "INTEGER", "INT", "BIGINT", "HUGEINT"]

_TYPES = {
    **dict.fromkeys(_INTEGERS + [f"U{name}" for name in _INTEGERS], Reading.INTEGER),
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
    decimal = re.fullmatch(r"(?:DECIMAL|NUMERIC)(?:\(\s*\d+\s*(?:,\s*(\d+)\s*)?\))?", words)
    if decimal:
        return ColumnType(Reading.DECIMAL, int(decimal[1] or (0 if "(" in words else 3)))
    return ColumnType(_TYPES.get(words, Reading.OPAQUE))


@dataclass(frozen=True)
class Meaning:
    """What comparisons with one literal may match on one column.

    `low` and `high` enclose the literal in the column's order and are equal when its place is exact; None means that
    its place is not known and a range covers every value that is not NULL.
    """

    equal: ValueSet
    unequal: ValueSet
    low: Key | None
    high: Key | None

    @property
    def understood(self) -> bool:
        """Whether the literal restricts anything at all."""
        return self != UNSURE

    def compare(self, operator: str) -> ValueSet:
        """Values for which `column operator literal` may be true."""
        if operator == "=":
            return self.equal
        if operator == "<>":
            return self.unequal
        if self.low is None:
            return ValueSet.present()
        closed = operator in ("<=", ">=") or self.low != self.high
        if operator in ("<", "<="):
            return ValueSet.below(self.high, closed=closed)
        return ValueSet.above(self.low, closed=closed)


UNSURE = Meaning(ValueSet.present(), ValueSet.present(), None, None)


def _exact(key: Key) -> Meaning:
    point = ValueSet.points([key])
    return Meaning(point, ValueSet.present() & ~point, key, key)


def _between(low: Key, high: Key) -> Meaning:
    low, high = canonical_number(low), canonical_number(high)
    if low == high:
        return _exact(low)
    return Meaning(ValueSet.interval(low, high), ValueSet.present(), low, high)


def meaning(literal: Literal, column: ColumnType) -> Meaning:
    """What `literal` may match on a column of type `column`; NULL literals never get here."""
    if column.reading is Reading.OPAQUE:
        return UNSURE
    if literal.kind in (LiteralKind.BOOLEAN, LiteralKind.NUMBER):
        if column.reading not in _NUMERIC:
            return UNSURE
        return (
            _boolean(literal.text == "true") if literal.kind is LiteralKind.BOOLEAN else _number(literal.text, column)
        )
    if column.reading is Reading.UNKNOWN:
        return _untyped_text(literal.text)
    if column.reading in (Reading.DATE, Reading.TIMESTAMP):
        return _moment(literal.text, column.reading)
    return UNSURE if literal.kind is LiteralKind.MOMENT else _quoted(literal.text, column)


def _quoted(text: str, column: ColumnType) -> Meaning:
    """Quoted text on a column of text, of numbers or of booleans."""
    if column.reading is Reading.TEXT:
        return _exact(text)
    word = text.strip()
    if column.reading is Reading.BOOLEAN and word.lower() in _TRUE + _FALSE:
        return _boolean(word.lower() in _TRUE)
    if column.reading in (Reading.DOUBLE, Reading.REAL) and word.lower() in _SPECIAL_NUMBERS:
        return _exact(_SPECIAL_NUMBERS[word.lower()])
    return _number(word, column)


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


def _number(text: str, column: ColumnType) -> Meaning:
    written = _NUMBER.fullmatch(text)
    if not written or not (written[2] or written[3]):
        return UNSURE
    value = Fraction(text)
    digits = len(((written[2] or "") + (written[3] or "")).lstrip("0"))
    if column.reading is Reading.UNKNOWN:
        plain = digits <= 6 and (value == 0 or Fraction(1, 10**37) < abs(value) < 10**38)
        return _between(value, value) if plain else _neighbourhood(value, np.float32)
    if column.reading in (Reading.DOUBLE, Reading.REAL):
        kind = np.float32 if column.reading is Reading.REAL else np.float64
        with np.errstate(over="ignore"):
            return _exact(canonical_number(float(kind(_to_float(value)))))
    if written[4] or digits > 38:  # a DOUBLE literal: the column is compared as DOUBLE
        return _neighbourhood(value, np.float64)
    step = Fraction(1, 10**column.scale)
    return _between(math.floor(value / step) * step, math.ceil(value / step) * step)


def _to_float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _neighbourhood(value: Fraction, kind: type[np.float32] | type[np.float64]) -> Meaning:
    """Everything that may be equal to `value` once rounded to the given precision."""
    with np.errstate(over="ignore", under="ignore"):
        near = kind(_to_float(value))
        return _between(float(np.nextafter(near, kind(-np.inf))), float(np.nextafter(near, kind(np.inf))))


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
        return _exact(f"{day} {instant:%H:%M:%S.%f}")
    if ":" not in text:
        return _exact(day)
    # a timestamp on a DATE column: the day it falls on may or may not be included by a range
    return Meaning(ValueSet.points([day]), ValueSet.present(), day, day + "\0")


_TRUE = ("true", "t", "1", "yes", "y", "on")
_FALSE = ("false", "f", "0", "no", "n", "off")
_LAST = "\U0010ffff"
_UUID = re.compile(r"\{?[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}\}?")
_DATE_LIKE = re.compile(r"[-+]?(\d{1,6})[-/\\ ](\d{1,2})[-/\\ ](\d{1,2})(?!\d)(.*)", re.DOTALL)
_SPECIAL = re.compile(r"[-+]?(inf|infinity|nan|epoch)", re.IGNORECASE)


def _untyped_text(text: str) -> Meaning:
    """Quoted text on a column of unknown type: every spelling that some type takes for the same value."""
    for reader in (_truth_word, _numeral, _iso_moment, _uuid):
        spellings = reader(text)
        if spellings:
            day = text[:10] if reader is _iso_moment else None
            if day == text:
                return _exact(text)
            itself = ValueSet.present() & ~ValueSet.points([text])
            return Meaning(ValueSet.points({text, *spellings}), itself, day, day and day + _LAST)
    return UNSURE if _may_be_something_else(text.strip()) else _exact(text)


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
    written = _NUMBER.fullmatch(text.strip())
    if not written or not (written[2] or written[3]):
        return None
    value = Fraction(text.strip())
    return {_rounded(value), _rounded(Fraction(math.floor(value))), _rounded(Fraction(math.ceil(value)))}


def _iso_moment(text: str) -> set[str] | None:
    """The day of a strictly written date or timestamp."""
    return {text[:10]} if _instant(text) else None


def _uuid(text: str) -> set[str] | None:
    word = text.strip()
    return {re.sub(r"[-{}]", "", word).lower()} if _UUID.fullmatch(word) else None


def _rounded(value: Fraction) -> str:
    """One name for all numbers that single precision cannot tell apart."""
    with np.errstate(over="ignore", under="ignore"):
        return f"≈{float(np.float32(_to_float(value))) + 0.0!r}"


def _may_be_something_else(word: str) -> bool:
    """Whether some column type reads this text in a way that is not modelled: odd dates, times, huge numbers."""
    if _SPECIAL.match(word) or re.fullmatch(r"[-+]?[\d_.,]*\d[\d_.,]*([eE][-+]?\d+)?|0[xXbBoO][\da-fA-F_]+", word):
        return True
    if re.match(r"\d{1,3}:\d", word):
        return True
    date = _DATE_LIKE.fullmatch(word)
    return bool(date) and int(date[2]) <= 12 and int(date[3]) <= 31  # type: ignore[index]
