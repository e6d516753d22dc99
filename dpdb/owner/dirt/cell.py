"""`Cell`: how noise changes the cells of one type. Each kind of type has its own subclass."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = [
    "NAN_KEY",
    "Cell",
    "FloatCell",
    "Key",
    "Value",
    "pick",
]


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
    def below(self, key: Key, rng: np.random.Generator, *, close: bool = False) -> Value | None:
        """Draw a value below a key; return None if the type has none. The caller checks the value.

        Parameters
        ----------
        key
            The bound, of the same family.
        rng
            The source of randomness.
        close
            Whether to take a value next to the bound.
        """

    @abstractmethod
    def above(self, key: Key, rng: np.random.Generator, *, close: bool = False) -> Value | None:
        """Draw a value above a key; return None if the type has none. The caller checks the value.

        Parameters
        ----------
        key
            The bound, of the same family.
        rng
            The source of randomness.
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

    def below(self, key: Key, rng: np.random.Generator, *, close: bool = False) -> Value | None:
        if key == NAN_KEY or key[1] == math.inf:
            return 1000 * rng.random()
        return self._beyond(float(key[1]), -1, close, rng)

    def above(self, key: Key, rng: np.random.Generator, *, close: bool = False) -> Value | None:
        if key == NAN_KEY:
            return None
        return math.nan if key[1] == math.inf else self._beyond(float(key[1]), 1, close, rng)

    def _beyond(self, bound: float, sign: int, close: bool, rng: np.random.Generator) -> float:
        """Draw within |bound| + 1 of the bound; 1 - random() is never 0, and far out the distance exceeds rounding."""
        if close:
            return float(np.nextafter(self._type(bound), self._type(sign * math.inf)))
        return self._rounded(bound + sign * (abs(bound) + 1) * (1 - rng.random() * 0.99))

    def _rounded(self, value: float) -> float:
        with np.errstate(over="ignore"):
            return float(self._type(value))
