"""`Cell`: how noise changes the cells of one type. Each kind of type has its own subclass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

__all__ = ["NAN_KEY", "Cell", "Key", "Value", "pick"]

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

    Attributes
    ----------
    family : str
        Cells of one family compare with each other.
    """

    family: str

    def __init__(self, arrow: pa.DataType) -> None:
        self.arrow = arrow

    # -- Arrow to plain values and back -----------------------------------------------------------------------

    def plain(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return the column in an Arrow type whose Python values are plain and whose sort order is that of `key`."""
        return column

    def canonical(self, plain: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return a plain column in which values that compare equal are written alike."""
        return plain

    def values(self, plain: pa.Array | pa.ChunkedArray) -> list[Value | None]:
        """Return a plain column's values; equal ones are equal keys of a dict."""
        values: list[Value | None] = plain.to_pylist()
        return values

    def array(self, values: list[Value | None]) -> pa.Array:
        """Return plain values as an array of the plain type (by default `arrow` itself)."""
        return pa.array(values, self.arrow)

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
