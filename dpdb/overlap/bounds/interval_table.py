"""A table of who covers what on one attribute, kept as intervals of atoms: memory and time are those of the intervals.

A dense table (atom, row) of 100,000 ranges has billions of cells; its intervals are 100,000. Both products that a dual
bound needs come from sums along the order: the weight on every atom by adding at the begin and taking away at the end
of each interval, the sum over a row's atoms as a difference of two running sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["IntervalTable"]


@dataclass(frozen=True, eq=False)
class IntervalTable:
    """Booleans (atom, row) of one attribute.

    Parameters
    ----------
    atoms
        Number of atoms.
    start, stop
        Intervals of atoms `start <= atom < stop`, none of them empty; those of one set are disjoint.
    owner
        The set that each interval is of.
    codes
        Per row the set that it has.
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

    def dense(self) -> NDArray[np.bool_]:
        """The table of booleans."""
        change = np.zeros((self.atoms + 1, self.sets), np.int8)
        change[self.start, self.owner] += 1
        change[self.stop, self.owner] -= 1
        inside = np.cumsum(change[:-1], axis=0, dtype=np.int8)
        return np.take(inside.view(np.bool_), self.codes, axis=1)
