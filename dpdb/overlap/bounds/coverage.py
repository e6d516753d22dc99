"""Sums over a table of who covers what, exact in 64-bit floats: dense for small tables, by bytes for large ones.

An attribute of a million values is kept as bits; a byte of eight rows is summed by one look-up in a table of 256, which
is faster than a dense product and takes a sixty-fourth of its memory.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpdb.overlap.bounds.interval_table import IntervalTable

__all__ = ["Coverage", "PackedTable", "coverage"]

MOST_DENSE_CELLS = 1_000_000

_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float64)


class PackedTable:
    """Booleans (atom, row) as bits, with the two products a search needs: `table @ x` and `x @ table`."""

    __array_ufunc__ = None  # an array on the left leaves the product to `__rmatmul__`

    def __init__(self, member: NDArray[np.bool_]) -> None:
        self.rows = member.shape[1]
        self.bytes = np.ascontiguousarray(np.packbits(member, axis=1).T)

    def take(self, atoms: NDArray[np.intp]) -> NDArray[np.float64]:
        """The dense table of some atoms."""
        return np.unpackbits(self.bytes[:, atoms].T, axis=1)[:, : self.rows].astype(np.float64)

    def __matmul__(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Per atom the weight of the rows that cover it."""
        padded = np.zeros(8 * len(self.bytes))
        padded[: self.rows] = weights
        sums = padded.reshape(-1, 8) @ _BITS.T
        total = np.zeros(self.bytes.shape[1])
        for table, column in zip(sums, self.bytes, strict=True):
            total += table[column]
        return total

    def __rmatmul__(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Per row the weight of the atoms it covers."""
        counts = np.array([np.bincount(column, weights, 256) for column in self.bytes])
        return np.asarray((counts @ _BITS).ravel()[: self.rows], np.float64)


Coverage: TypeAlias = NDArray[np.float64] | PackedTable | IntervalTable
"""A table (atom, row) that can be multiplied from both sides."""


def coverage(member: NDArray[np.bool_]) -> Coverage:
    """The table of booleans (atom, row) in the form that is fast for its size."""
    return member.astype(np.float64) if member.size <= MOST_DENSE_CELLS else PackedTable(member)
