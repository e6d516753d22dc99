"""An overlap problem in numbers: rows (boxes of queries), attributes, and the atoms each row covers; and its answer.

An atom is a set of values of one attribute that no predicate tells apart. A point of the domain is one atom per
attribute, and a row covers it when it covers every one of those atoms.

The answer, a `Bound`, is a lower and an upper bound, and a row of the domain that reaches the lower one. The bounds
read the problem as a `Relaxation`: weights, and per attribute the atoms that each row covers, in any form. Sums over
the table of rows and the atoms they cover are exact in 64-bit floats: dense if small, by bytes if large.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpdb.errors import ParameterError

MOST_WEIGHT = 2**50
"""Largest total weight: below it, sums of weights are exact in 64-bit integers and in 64-bit floats."""


@dataclass(frozen=True)
class Attribute:
    """One attribute, reduced to the atoms that the rows tell apart.

    Parameters
    ----------
    codes
        Per row the pattern it has on this attribute, -1 for every atom.
    patterns
        Booleans (pattern, atom).
    describe
        Words for an atom, by its index.
    """

    name: str
    codes: NDArray[np.int32]
    patterns: NDArray[np.bool_]
    describe: Callable[[int], str] = field(compare=False)


@dataclass(frozen=True)
class Instance:
    """Rows with weights over attributes; `origin` says to which query a row belongs.

    The rows of one query are disjoint boxes, so a point meets at most one of them.
    """

    weights: NDArray[np.int64]
    origin: NDArray[np.int64]
    queries: int
    attributes: tuple[Attribute, ...]

    def covering(self, atoms: Sequence[int]) -> NDArray[np.int64]:
        """The queries that cover the point with these atoms, ascending."""
        covered = np.ones(len(self.weights), bool)
        for attribute, atom in zip(self.attributes, atoms, strict=True):
            column = np.append(attribute.patterns[:, atom], True)
            covered &= column[attribute.codes]
        return np.unique(self.origin[covered])

    def describe(self, atoms: Sequence[int]) -> dict[str, str]:
        """Words for a point: one condition per attribute that any row restricts."""
        return {
            attribute.name: attribute.describe(atom) for attribute, atom in zip(self.attributes, atoms, strict=True)
        }

    def query_weights(self) -> NDArray[np.int64]:
        """Weight per query (0 for a query without rows)."""
        weights = np.zeros(self.queries, np.int64)
        weights[self.origin] = self.weights
        return weights


def check_weights(weights: Sequence[int] | NDArray[np.int64] | None, queries: int) -> NDArray[np.int64]:
    """Weights as an array; ones by default.

    Raises
    ------
    ParameterError
        A weight is negative or not an integer, there are not as many weights as queries, or their total is too large.
    """
    if weights is None:
        return np.ones(queries, np.int64)
    if len(weights) != queries:
        raise ParameterError(f"got {len(weights)} weights for {queries} queries; give one weight per query")
    exact = [int(weight) for weight in weights]
    for given, weight in zip(weights, exact, strict=True):
        if given != weight or weight < 0:
            raise ParameterError(f"weights are charges in whole units and cannot be {given!r}; round them up first")
    if sum(exact) > MOST_WEIGHT:
        raise ParameterError(f"the weights sum to {sum(exact)}, above {MOST_WEIGHT}; use a coarser unit of charge")
    return np.array(exact, np.int64)


@dataclass(frozen=True)
class Witness:
    """A row region and the queries that all cover it."""

    region: dict[str, str]
    queries: tuple[int, ...]

    def describe(self) -> str:
        """Return the region in words; attributes that it does not restrict are left out."""
        words = [text for text in self.region.values() if not text.startswith("any ")]
        return " and ".join(f"({text})" if " or " in text else text for text in words) or "every row"


@dataclass(frozen=True)
class Bound:
    """Bounds on a maximum overlap: `lower <= overlap <= upper`, whatever interrupted the search.

    Parameters
    ----------
    lower
        Charge collected by the witness.
    upper
        The charge that is safe.
    witness
        A row region that collects `lower`; None when there are no queries.
    method
        Name of the method that the caller chose.
    """

    lower: int
    upper: int
    witness: Witness | None = None
    method: str = field(default="auto", compare=False)

    @property
    def optimal(self) -> bool:
        """Return whether both bounds meet."""
        return self.lower == self.upper


class Deadline:
    """A moment after which a search stops and returns its best bounds so far."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.end - time.monotonic())

    @property
    def passed(self) -> bool:
        """Return whether it is time to stop."""
        return time.monotonic() >= self.end

    def share(self, fraction: float) -> Deadline:
        """A deadline after a fraction of the time left."""
        return Deadline(self.left * fraction)


class Columns(Protocol):
    """The atoms of one attribute among the rows it restricts, its `users`."""

    @property
    def users(self) -> NDArray[np.int64]:
        """Rows it restricts, ascending."""

    @property
    def matrix(self) -> Coverage:
        """The table (atom, row) of the atoms that each row covers, for sums."""

    @property
    def size(self) -> int:
        """Number of atoms."""

    def covers(self, atom: int) -> NDArray[np.bool_]:
        """Per user whether it covers an atom."""


FamilyT = TypeVar("FamilyT", bound=Columns)


@dataclass(frozen=True)
class Relaxation(Generic[FamilyT]):
    """Rows with weights over attributes; `constant` is collected everywhere."""

    weights: NDArray[np.int64]
    constant: int
    families: tuple[FamilyT, ...]

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.weights)

    @property
    def total(self) -> int:
        """Sum of all weights and the constant: the cost without parallel composition."""
        return self.constant + int(self.weights.sum())

    @cached_property
    def used(self) -> NDArray[np.bool_]:
        """Booleans (row, family): whether the family restricts the row."""
        used = np.zeros((self.size, len(self.families)), bool)
        for column, family in enumerate(self.families):
            used[family.users, column] = True
        return used


@dataclass(frozen=True, eq=False)
class IntervalTable:
    """Booleans (atom, row) of one attribute, kept as intervals of atoms: memory and time are those of the intervals.

    A dense table of 100,000 ranges has billions of cells. Both products that a dual bound needs come from sums along
    the order: the weight on every atom by adding at the begin and taking away at the end of each interval, the sum
    over a row's atoms as a difference of two running sums.

    Parameters
    ----------
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
    """Booleans (atom, row) as bits, with the two products a search needs: `table @ x` and `x @ table`.

    An attribute of a million values is kept as bits; a byte of eight rows is summed by one look-up in a table of 256,
    which is faster than a dense product and takes a sixty-fourth of its memory.
    """

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
