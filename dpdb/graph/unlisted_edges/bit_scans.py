"""`BitScans`: scans of one order rule's graph with many conflicts per row, see the kernels."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpdb.graph import steps
from dpdb.graph.grouping import sort_into_groups
from dpdb.graph.projection import ProjectedCounts
from dpdb.graph.steps import Steps
from dpdb.graph.unlisted_edges.block_constraint import BlockConstraint
from dpdb.thresholds import BITS_PROJECT, BITS_WITNESS

if TYPE_CHECKING:
    from dpdb.graph.kernels.bit_scans import Column

__all__ = ["COLUMN", "BitScans"]

Ints = NDArray[np.int32]

WORDS = 64
COLUMN = 64 * WORDS
"""Rows that are candidates at a time."""

_LAY_OUT, _PROJECT, _WITNESS, _LIST_OF_KEPT, _LIST_OF_WITNESSES = 8_000_000, 50, 10, 25, 400
"""Nanoseconds, measured: of a column, of a row at it in either scan; of an edge in a list, and of a row on the way to
its witness, if all pairs are conflicts."""


class BitScans:
    """Scans the conflict graph of one order rule for one theta at a time.

    Groups do not meet, so each is scanned by itself. Work is (rows of the group)^2 / 64 words at most, whatever theta
    is, where the list of edges that are kept has rows x theta / 2; memory 4 MB for a thread, and 12 bytes per row.
    """

    def __init__(self, constraint: BlockConstraint) -> None:
        assert constraint.ordered
        rows, starts = sort_into_groups(constraint.group, constraint.group_count)
        self._groups = []
        for begin, end in pairwise(starts.tolist()):
            ours = rows[begin:end]
            x, y = (np.unique(codes[ours], return_inverse=True)[1] for codes in (constraint.x, constraint.y))
            self._groups.append((x.astype(np.int32), y.astype(np.int32)))

    def witness_count(self, theta: int) -> Steps[int]:
        """Count the rows that find a witness, see `dpdb.graph.witness_counts`."""
        count = 0
        for x, y in self._groups:
            count += yield from _witness(x, y, min(theta, x.size))
        return count

    def project_faster(self, theta: int, edge_count: int) -> bool:
        """Return whether `counts` is faster than following lists, on which a row meets what is no conflict, too.

        Changes time, never a result; so does `witness_faster`.
        """
        kept = sum(x.size * min(theta, x.size) for x, _ in self._groups) // 2
        lists = _LIST_OF_KEPT * kept * self._pairs // max(1, 2 * edge_count)
        return self._nanoseconds(_PROJECT) < BITS_PROJECT.at * lists

    def witness_faster(self, edge_count: int) -> bool:
        """Return whether `witness_count` is faster than following lists."""
        rows = sum(x.size for x, _ in self._groups)
        lists = _LIST_OF_WITNESSES * rows * self._pairs // max(1, 2 * edge_count)
        return self._nanoseconds(_WITNESS) < BITS_WITNESS.at * lists

    @property
    def _pairs(self) -> int:
        return sum(int(x.size) ** 2 for x, _ in self._groups)

    def _nanoseconds(self, per_row: int) -> int:
        return sum(-(-x.size // COLUMN) * (_LAY_OUT + per_row * x.size) for x, _ in self._groups)

    def counts(self, theta: int) -> Steps[ProjectedCounts]:
        """Count the projection's edges and positive-degree nodes, see `dpdb.graph.projected_counts`."""
        edges = positive = 0
        for x, y in self._groups:
            kept, degree = yield from _project(x, y, min(theta, x.size))
            edges += kept
            positive += int(np.count_nonzero(degree))
        return ProjectedCounts(theta, edges, positive)


def _project(x: Ints, y: Ints, theta: int) -> Steps[tuple[int, Ints]]:
    """Project one group; return how many edges are kept, and the degrees."""
    from dpdb.graph.kernels.bit_scans import project_column

    degree = np.zeros(x.size, np.int32)
    waiting = np.empty(0, np.int32)
    bits = max(1, (theta - 1).bit_length())
    edges = 0
    for first in range(0, x.size, COLUMN):
        column = _column(x, y, first)
        waiting = waiting[degree[waiting] < theta]
        waiting = np.append(waiting, np.arange(first, first + column.size, dtype=np.int32))
        start = (1 << bits) - theta
        planes = np.zeros((bits, WORDS), np.uint64)
        planes[[p for p in range(bits) if start >> p & 1]] = ~np.uint64(0)
        below, chosen = np.full(WORDS, ~np.uint64(0)), np.empty(WORDS, np.uint64)
        state = np.zeros(2, np.int64)
        yield
        while not project_column(column, x, y, waiting, theta, degree, below, planes, chosen, state, steps.WORK):
            yield
        edges += int(state[1])
    return edges, degree


def _witness(x: Ints, y: Ints, theta: int) -> Steps[int]:
    """Count the covered rows of one group."""
    from dpdb.graph.kernels.bit_scans import witness_column

    covered, used = np.zeros(x.size, np.bool_), np.zeros(x.size, np.int32)
    waiting = np.empty(0, np.int32)
    count = 0
    for first in range(0, x.size, COLUMN):
        column = _column(x, y, first)
        waiting = waiting[~covered[waiting] | (used[waiting] < theta)]
        waiting = np.append(waiting, np.arange(first, first + column.size, dtype=np.int32))
        uncovered, able = np.full((2, WORDS), ~np.uint64(0))
        state = np.zeros(2, np.int64)
        yield
        while not witness_column(
            column, x, y, waiting, theta, covered, used, uncovered, able, state, steps.WORK
        ):  # fmt: skip
            yield
        count += int(state[1])
    return count


def _column(x: Ints, y: Ints, first: int) -> Column:
    """Lay out the column of rows that begins at `first`."""
    from dpdb.graph.kernels.bit_scans import Column

    last = min(first + COLUMN, x.size)
    by_x, less_x = _prefixes(x, first, last)
    by_y, less_y = _prefixes(y, first, last)
    return Column(by_x, by_y, less_x, less_y, first, last - first)


def _prefixes(codes: Ints, first: int, last: int) -> tuple[NDArray[np.uint64], Ints]:
    """Compute `Column.by_x` and `Column.less_x`."""
    here = codes[first:last]
    order = np.argsort(here, kind="stable")
    sets = np.zeros((COLUMN + 1, WORDS), np.uint64)
    sets[np.arange(1, here.size + 1), order // 64] = np.uint64(1) << (order % 64).astype(np.uint64)
    np.bitwise_or.accumulate(sets, axis=0, out=sets)
    less = np.append(0, np.cumsum(np.bincount(here, minlength=int(codes.max()) + 1)))
    return sets, less.astype(np.int32)
