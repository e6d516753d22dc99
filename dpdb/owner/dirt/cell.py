"""`Cell`: how noise changes the cells of one type. Each kind of type has its own subclass.

Whole cells have values that are whole numbers of steps: integers, decimals, booleans, dates, timestamps, times. Text
compares by code point.
"""

from __future__ import annotations

import math
import string
from abc import ABC, abstractmethod
from datetime import UTC, datetime, time
from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# A cell as a plain Python value: int, float, Decimal, bool, str or bytes; never None. Dates and times are ints.
Value: TypeAlias = Any

# Keys compare as SQL does: (0, number, text or bytes), and NaN above everything.
Key: TypeAlias = tuple[int, Any]
NAN_KEY: Key = (1, 0)


def pick(rng: np.random.Generator, count: int) -> int:
    """Draw one of 0 .. count - 1; `count` is far below 2**53."""
    return int(rng.random() * count)


class Cell(ABC):
    """The cells of one Arrow type.

    Parameters
    ----------
    arrow : pyarrow.DataType
        The type; written cells have exactly this type.
    storage : pyarrow.DataType, optional
        The plain type, whose Python values are plain and whose sort order is that of `key`; by default `arrow` itself.

    Attributes
    ----------
    family : str
        Cells of one family compare with each other.
    """

    family: str

    def __init__(self, arrow: pa.DataType, storage: pa.DataType | None = None) -> None:
        self.arrow = arrow
        self._storage = storage or arrow

    # -- Arrow to plain values and back -----------------------------------------------------------------------

    def plain(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return the column in the plain type."""
        return column.cast(self._storage)

    def canonical(self, plain: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return a plain column in which values that compare equal are written alike."""
        return plain

    def values(self, plain: pa.Array | pa.ChunkedArray) -> list[Value | None]:
        """Return a plain column's values; equal ones are equal keys of a dict."""
        values: list[Value | None] = plain.to_pylist()
        return values

    def array(self, values: list[Value | None]) -> pa.Array:
        """Return plain values as an array of the plain type."""
        return pa.array(values, self._storage)

    # -- comparing --------------------------------------------------------------------------------------------

    @abstractmethod
    def key(self, value: Value) -> Key:
        """Return the key by which the value compares."""

    @abstractmethod
    def nearest(self, key: Key) -> Value | None:
        """Return the value of this type nearest to a key of the same family, or None if it is out of range."""

    @abstractmethod
    def constant(self, value: int | Decimal | bool | str) -> Key | None:
        """Return a constraint's constant as a key, or None if it is no value of this family."""

    # -- drawing ----------------------------------------------------------------------------------------------

    @abstractmethod
    def typo(self, value: Value, rng: np.random.Generator) -> Value:
        """Return another value that a slip of the pen could have made of `value`."""

    @abstractmethod
    def beyond(self, key: Key, sign: int, rng: np.random.Generator, *, close: bool = False) -> Value | None:
        """Draw a value below or above a key; return None if the type has none. The caller checks the value.

        Parameters
        ----------
        key
            The bound, of the same family.
        sign
            -1 for a value below it, 1 for one above.
        close
            Whether to take a value next to the bound.
        """


# ruff: noqa: D102 - `Cell` documents the methods


class FloatCell(Cell):
    """Floats of 32 or 64 bits. NaN equals NaN and is the largest number. A typo changes a digit."""

    family = "number"

    def __init__(self, arrow: pa.DataType) -> None:
        super().__init__(arrow)
        self._type = np.float32 if pa.types.is_float32(arrow) else np.float64

    def canonical(self, plain: pa.ChunkedArray) -> pa.ChunkedArray:
        return pc.add(plain, pa.scalar(0.0, self.arrow))  # -0.0 becomes 0.0: they are one value

    def values(self, plain: pa.Array | pa.ChunkedArray) -> list[Value | None]:
        # One NaN object, because a dict finds NaN by identity only.
        return [math.nan if value is not None and math.isnan(value) else value for value in plain.to_pylist()]

    def key(self, value: Value) -> Key:
        return NAN_KEY if math.isnan(value) else (0, value)

    def nearest(self, key: Key) -> Value | None:
        if key == NAN_KEY:
            return math.nan
        try:
            return self._rounded(float(key[1]))
        except OverflowError:
            return None

    def constant(self, value: int | Decimal | bool | str) -> Key | None:
        if isinstance(value, bool):
            return None
        try:
            return self.key(self._rounded(float(value)))
        except (ValueError, OverflowError):
            return None

    def typo(self, value: Value, rng: np.random.Generator) -> Value:
        text = str(self._type(value))
        mantissa = text.partition("e")[0]
        places = [at for at, character in enumerate(mantissa) if character.isdigit()]
        if not places:  # NaN or infinite
            return float(pick(rng, 10))
        while True:
            at = places[pick(rng, len(places))]
            changed = self._rounded(float(f"{text[:at]}{pick(rng, 10)}{text[at + 1 :]}"))
            if changed != value and math.isfinite(changed):
                return changed

    def beyond(self, key: Key, sign: int, rng: np.random.Generator, *, close: bool = False) -> Value | None:
        """Draw within |bound| + 1 of the bound; 1 - random() is never 0, and far out the distance exceeds rounding."""
        if key == NAN_KEY or key[1] == math.inf:
            return 1000 * rng.random() if sign < 0 else None if key == NAN_KEY else math.nan
        bound = float(key[1])
        if close:
            return float(np.nextafter(self._type(bound), self._type(sign * math.inf)))
        return self._rounded(bound + sign * (abs(bound) + 1) * (1 - rng.random() * 0.99))

    def _rounded(self, value: float) -> float:
        with np.errstate(over="ignore"):
            return float(self._type(value))


_EXACT = Context(prec=100)
_DAY = 86_400 * 10**9  # nanoseconds
_TICKS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_YEAR_1, _YEAR_10000 = -719_162, 2_932_897  # days
_LONGEST_SHIFT = 30  # days


class WholeCell(Cell):
    """Values that are `unit` times a whole number between `low` and `high`: here numbers. A typo changes a digit.

    `reach` is how many steps from a bound a random value may lie.
    """

    family = "number"
    unit: int | Fraction = 1
    low: int
    high: int
    reach: int = 1000

    def whole(self, value: Value) -> int:
        """Return the number of steps of a value."""
        return int(value)

    def value(self, whole: int) -> Value:
        """Return the value of a number of steps."""
        return whole

    def key(self, value: Value) -> Key:
        return (0, self.whole(value) * self.unit)

    def constant(self, value: int | Decimal | bool | str) -> Key | None:
        if isinstance(value, bool):
            return None
        try:
            return (0, Fraction(Decimal(value)))
        except (InvalidOperation, ValueError, OverflowError):  # not a number, NaN, infinite
            return None

    def typo(self, value: Value, rng: np.random.Generator) -> Value:
        return self.value(self._other_digit(self.whole(value), rng))

    def nearest(self, key: Key) -> Value | None:
        steps = self._steps(key)
        whole = self.low - 1 if steps is None else round(steps)
        return self.value(whole) if self.low <= whole <= self.high else None

    def beyond(self, key: Key, sign: int, rng: np.random.Generator, *, close: bool = False) -> Value | None:
        steps = self._steps(key)
        if sign < 0:
            first = min(self.high, 0 if steps is None else math.ceil(steps) - 1)
            room = first - self.low + 1
        else:
            first = max(self.low, 0 if steps is None else math.floor(steps) + 1)
            room = self.high - first + 1
        return self.value(first + sign * pick(rng, min(1 if close else self.reach, room))) if room > 0 else None

    def _steps(self, key: Key) -> Fraction | None:
        """Return a key in steps; None for NaN and infinities."""
        if key == NAN_KEY or (isinstance(key[1], float) and math.isinf(key[1])):
            return None
        return Fraction(key[1]) / self.unit

    def _other_digit(self, whole: int, rng: np.random.Generator) -> int:
        """Change one decimal digit within the range; some last digit always does."""
        digits = str(abs(whole))
        while True:
            at = pick(rng, len(digits))
            changed = int(f"{digits[:at]}{pick(rng, 10)}{digits[at + 1 :]}")
            changed = -changed if whole < 0 else changed
            if changed != whole and self.low <= changed <= self.high:
                return changed


class IntegerCell(WholeCell):
    """Integers of 8 to 64 bits."""

    def __init__(self, arrow: pa.DataType) -> None:
        super().__init__(arrow)
        limits = np.iinfo(arrow.to_pandas_dtype())
        self.low, self.high = int(limits.min), int(limits.max)


class DecimalCell(WholeCell):
    """Decimals of a fixed precision and scale."""

    def __init__(self, arrow: pa.DataType) -> None:
        small = arrow.bit_width < 128  # which Arrow cannot sort
        super().__init__(arrow, pa.decimal128(arrow.precision, arrow.scale) if small else arrow)
        self.unit = 1 / Fraction(10) ** arrow.scale
        self.high = 10**arrow.precision - 1
        self.low = -self.high
        self.reach = 1000 * 10 ** max(arrow.scale, 0)

    def whole(self, value: Value) -> int:
        return int(value.scaleb(self.arrow.scale, _EXACT))

    def value(self, whole: int) -> Value:
        return Decimal(whole).scaleb(-self.arrow.scale, _EXACT)


class BooleanCell(WholeCell):
    """Truth values. A typo flips."""

    family = "boolean"
    low, high = 0, 1

    def value(self, whole: int) -> Value:
        return bool(whole)

    def constant(self, value: int | Decimal | bool | str) -> Key | None:
        return (0, int(value)) if isinstance(value, bool) else None

    def typo(self, value: Value, rng: np.random.Generator) -> Value:  # noqa: ARG002 - there is one other value
        return not value


class _ClockCell(WholeCell):
    """Whole ticks of a clock, stored as integers; keys are nanoseconds."""

    def __init__(self, arrow: pa.DataType, storage: pa.DataType, tick: int) -> None:
        super().__init__(arrow, storage)
        self.unit = tick

    def constant(self, value: int | Decimal | bool | str) -> Key | None:
        if not isinstance(value, str):
            return None
        try:
            return (0, self._nanoseconds(value))
        except ValueError:
            return None

    @abstractmethod
    def _nanoseconds(self, text: str) -> int: ...


class InstantCell(_ClockCell):
    """Dates and timestamps, which compare with each other; without a zone they are UTC. A typo shifts by 1-30 days."""

    family = "date or timestamp"

    def __init__(self, arrow: pa.DataType) -> None:
        is_date = pa.types.is_date32(arrow)
        tick = _DAY if is_date else _TICKS[arrow.unit]
        super().__init__(arrow, pa.int32() if is_date else pa.int64(), tick)
        self._per_day = _DAY // tick
        self.low = max(_YEAR_1 * self._per_day, -(2**63) + 1)
        self.high = min(_YEAR_10000 * self._per_day, 2**63) - 1
        self.reach = _LONGEST_SHIFT * self._per_day

    def typo(self, value: Value, rng: np.random.Generator) -> Value:
        shift = (1 + pick(rng, _LONGEST_SHIFT)) * self._per_day * (1 if rng.random() < 0.5 else -1)
        return value + shift if self.low <= value + shift <= self.high else value - shift

    def _nanoseconds(self, text: str) -> int:
        stamp = datetime.fromisoformat(text)
        since = (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)) - _EPOCH
        return since.days * _DAY + (since.seconds * 10**6 + since.microseconds) * 1000


class TimeCell(_ClockCell):
    """Times of day. A typo shifts by 1-59 minutes, around midnight."""

    family = "time"
    low = 0

    def __init__(self, arrow: pa.DataType) -> None:
        tick = _TICKS[arrow.unit]
        super().__init__(arrow, pa.int32() if arrow.bit_width == 32 else pa.int64(), tick)
        self.high = _DAY // tick - 1
        self.reach = _DAY // tick // 24

    def typo(self, value: Value, rng: np.random.Generator) -> Value:
        return (value + (1 + pick(rng, 59)) * 60 * 10**9 // int(self.unit)) % (self.high + 1)

    def _nanoseconds(self, text: str) -> int:
        clock = time.fromisoformat(text)
        return ((clock.hour * 60 + clock.minute) * 60 + clock.second) * 10**9 + clock.microsecond * 1000


_CHARACTERS = string.ascii_letters + string.digits


class TextCell(Cell):
    """Text. A typo inserts, deletes, replaces or swaps a character; it never empties the text."""

    family = "text"
    wide = pa.large_string()

    def __init__(self, arrow: pa.DataType) -> None:
        super().__init__(arrow, self.wide)

    def key(self, value: Value) -> Key:
        return (0, value)

    def nearest(self, key: Key) -> Value | None:
        return key[1]

    def constant(self, value: int | Decimal | bool | str) -> Key | None:
        return None if isinstance(value, bool) else (0, str(value))

    def typo(self, value: Value, rng: np.random.Generator) -> Value:
        while True:
            changed = _typo(value, self._letter(rng), rng)
            if changed != value:
                return changed

    def beyond(self, key: Key, sign: int, rng: np.random.Generator, *, close: bool = False) -> Value | None:
        """Draw a proper prefix, the longest one if it shall be close; or append one character, close in any case."""
        if sign > 0:
            return key[1] + self._letter(rng)
        length = len(key[1])
        return key[1][: length - 1 if close else pick(rng, length)] if length else None

    def _letter(self, rng: np.random.Generator) -> Value:
        return _CHARACTERS[pick(rng, len(_CHARACTERS))]


class BytesCell(TextCell):
    """Bytes of any length. A typo inserts, deletes, replaces or swaps a byte."""

    family = "bytes"
    wide = pa.large_binary()

    def constant(self, value: int | Decimal | bool | str) -> Key | None:
        # As SQL reads a blob; escapes are not supported.
        return (0, value.encode()) if isinstance(value, str) and value.isascii() and "\\" not in value else None

    def _letter(self, rng: np.random.Generator) -> Value:
        return bytes([pick(rng, 256)])


def _typo(value: Value, letter: Value, rng: np.random.Generator) -> Value:
    """Make one slip, which may leave the text as it is; works on text and on bytes."""
    kind = pick(rng, 4)
    if kind == 0 or not value:
        at = pick(rng, len(value) + 1)
        return value[:at] + letter + value[at:]
    if kind == 1:
        at = pick(rng, len(value))
        return value[:at] + letter + value[at + 1 :]
    if len(value) < 2:  # nothing to swap, and deleting would empty it
        return value
    if kind == 2:
        at = pick(rng, len(value))
        return value[:at] + value[at + 1 :]
    at = pick(rng, len(value) - 1)
    return value[:at] + value[at + 1 : at + 2] + value[at : at + 1] + value[at + 2 :]
