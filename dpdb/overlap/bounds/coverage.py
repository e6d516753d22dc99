"""Sums over the table of rows and the atoms they cover, exact in 64-bit floats: dense if small, by bytes if large.

An attribute of a million values is kept as bits; a byte of eight rows is summed by one look-up in a table of 256, which
is faster than a dense product and takes a sixty-fourth of its memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Coverage", "IntervalTable", "PackedTable", "coverage"]


@dataclass(frozen=True, eq=False)
class IntervalTable:
    """Booleans (atom, row) of one attribute, kept as intervals of atoms: memory and time are those of the intervals.

    A dense table of 100,000 ranges has billions of cells. Both products that a dual bound needs come from sums along
    the order: the weight on every atom by adding at the begin and taking away at the end of each interval, the sum
    over a row's atoms as a difference of two running sums.

    Parameters
    ----------
    atoms
        Number of atoms.
    start, stop
        Intervals of atoms `start <= atom < stop`, none of them empty; those of one set are disjoint.
    owner
        The set that each interval belongs to.
    codes
        The set of each row.
    """

    atoms: int
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    owner: NDArray[np.int64]
    codes: NDArray[np.int64]

    __array_ufunc__ = None  # an array on the left leaves the product to `__rmatmul__`

    @property
    def cells(self) -> int:
        """Size of the dense table."""
        return self.atoms * len(self.codes)

    @cached_property
    def sets(self) -> int:
        """Number of distinct sets."""
        return int(max(self.codes.max(initial=-1), self.owner.max(initial=-1))) + 1

    def __matmul__(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Per atom the weight of the rows that cover it; exact for integer-valued weights that sum below 2^53."""
        mass = np.bincount(self.codes, weights, self.sets)[self.owner]
        change = np.bincount(self.start, mass, self.atoms + 1) - np.bincount(self.stop, mass, self.atoms + 1)
        return np.asarray(np.cumsum(change)[: self.atoms])

    def __rmatmul__(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Per row the weight of the atoms it covers."""
        running = np.append(0.0, np.cumsum(weights))
        sums = np.bincount(self.owner, running[self.stop] - running[self.start], self.sets)
        return np.asarray(sums[self.codes])

    def covers(self, atom: int) -> NDArray[np.bool_]:
        """Per row whether it covers an atom."""
        found = np.zeros(self.sets, bool)
        found[self.owner[(self.start <= atom) & (atom < self.stop)]] = True
        return found[self.codes]

    def highest(self, mass: NDArray[np.float64]) -> NDArray[np.float64]:
        """Per row the largest mass of an atom that it covers; minus infinity for a row that covers none."""
        tops = np.full(self.sets, -np.inf)
        width = self.stop - self.start
        # Two overlapping stretches of a power of two cover an interval.
        level, power = mass, 1
        while power <= width.max(initial=0):
            these = np.flatnonzero((width >= power) & (width < 2 * power))
            ends = np.maximum(level[self.start[these]], level[self.stop[these] - power])
            np.maximum.at(tops, self.owner[these], ends)
            level, power = np.maximum(level[:-power], level[power:]), 2 * power
        return tops[self.codes]

    def by_set(self) -> NDArray[np.bool_]:
        """Booleans (set, atom)."""
        change = np.zeros((self.sets, self.atoms + 1), np.int8)
        change[self.owner, self.start] += 1
        change[self.owner, self.stop] -= 1
        return np.cumsum(change[:, :-1], axis=1, dtype=np.int8).view(np.bool_)

    def dense(self) -> NDArray[np.bool_]:
        """The table of booleans."""
        return np.take(self.by_set().T, self.codes, axis=1)


MOST_DENSE_CELLS = 1_000_000

_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float64)


class PackedTable:
    """Booleans (atom, row) as bits, with the two products a search needs: `table @ x` and `x @ table`."""

    __array_ufunc__ = None  # an array on the left leaves the product to `__rmatmul__`

    def __init__(self, member: NDArray[np.bool_]) -> None:
        self.rows = member.shape[1]
        self.bytes = np.ascontiguousarray(np.packbits(member, axis=1).T)

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
