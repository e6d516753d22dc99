"""Cells whose values are whole numbers of steps: integers, decimals, booleans, dates, timestamps, times."""

# ruff: noqa: D102 - `Cell` documents the methods

from __future__ import annotations

import math
from abc import abstractmethod
from datetime import UTC, datetime, time
from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction

import numpy as np
import pyarrow as pa

from dpdb.owner.dirt.cell import NAN_KEY, Cell, Key, Value, pick

__all__ = ["BooleanCell", "DecimalCell", "InstantCell", "IntegerCell", "TimeCell"]

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

    def below(self, key: Key, rng: np.random.Generator, *, close: bool = False) -> Value | None:
        steps = self._steps(key)
        top = min(self.high, 0 if steps is None else math.ceil(steps) - 1)
        reach = 1 if close else self.reach
        return self.value(top - pick(rng, min(reach, top - self.low + 1))) if top >= self.low else None

    def above(self, key: Key, rng: np.random.Generator, *, close: bool = False) -> Value | None:
        steps = self._steps(key)
        bottom = max(self.low, 0 if steps is None else math.floor(steps) + 1)
        reach = 1 if close else self.reach
        return self.value(bottom + pick(rng, min(reach, self.high - bottom + 1))) if bottom <= self.high else None

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
