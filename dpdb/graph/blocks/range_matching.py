"""2 tau* of a block graph whose groups are dense: a maximum matching over ranges of places, see its kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpdb.graph import steps
from dpdb.graph.blocks.block_constraint import BlockConstraint
from dpdb.graph.grouping import sorted_by
from dpdb.graph.steps import Steps
from dpdb.thresholds import COVERED_SHARE, LOOKS_PER_ROW

Ints = NDArray[np.int32]


def dense(constraints: Sequence[BlockConstraint], row_count: int) -> bool:
    """Return whether `range_matching` is faster than `block_matching.maximum_matching`. Changes time, never the result.

    The latter is fast where few rows cover all conflicts: matching each of these on both sides ends it at once. With
    more than half of the rows in the cover that cannot be, and its searches look at all rows that they meet, also at
    those without conflict: of an order rule's group that may be nearly all, for each row of the cover.
    """
    if any(constraint.both for constraint in constraints):
        return False  # its rows are no ranges
    concerned, cover = np.zeros((2, row_count), np.bool_)
    looks, members = 0.0, 0
    for constraint in constraints:
        concerned |= constraint.group >= 0
        cover |= constraint.minority
        members += int(np.count_nonzero(constraint.group >= 0))
        minority = (constraint.group if constraint.ordered else constraint.x)[constraint.minority]
        met = np.bincount(minority).astype(float)
        if constraint.ordered:
            met *= np.bincount(constraint.group[constraint.group >= 0])[: met.size]
        else:
            met *= met  # of the row's own class
        looks += float(met.sum())
    is_covered = np.count_nonzero(cover) > COVERED_SHARE.at * np.count_nonzero(concerned)
    return bool(is_covered or looks > LOOKS_PER_ROW.at * members)


def range_matching(constraints: Sequence[BlockConstraint], row_count: int) -> Steps[int]:
    """Size of a maximum matching of the bipartite double cover: 2 tau*, in O(rows log rows) per round.

    Cliques first: an order rule's groups fall into piles of rows that all conflict with one another, and a class rule's
    groups are matched across their classes, so that few rows stay free. Then rounds of augmenting paths from all free
    left copies. A round that finds none proves the matching maximum (Berge 1957).
    """
    matching = RangeMatching(constraints, row_count)
    yield from matching.start()
    while (yield from matching.grow()):
        pass
    return matching.size


class RangeMatching:
    """A matching of the double cover, growing; 24 bytes per row, and 52 per row and constraint."""

    def __init__(self, constraints: Sequence[BlockConstraint], row_count: int) -> None:
        self._constraints = constraints
        self._concerned = np.zeros(row_count, np.bool_)
        for constraint in constraints:
            self._concerned |= constraint.group >= 0
        self._left, self._right = np.full((2, row_count), -1, np.int32)

    @property
    def size(self) -> int:
        """Number of left copies that are matched."""
        return int(np.count_nonzero(self._left >= 0))

    def start(self) -> Steps[None]:
        """Lay out the ranges, and match within cliques, constraint after constraint."""
        from dpdb.graph.kernels.range_matching import Ranges

        count, row_count = len(self._constraints), self._left.size
        place = np.full((row_count, count), -1, np.int32)
        rows, y = np.zeros((2, count, row_count), np.int32)
        spans = np.zeros((count, row_count, 4), np.int32)
        for k, constraint in enumerate(self._constraints):
            keys = (constraint.y, constraint.x) if constraint.ordered else (constraint.x,)
            ordered = sorted_by((*keys, constraint.group))
            yield
            place[ordered, k] = np.arange(ordered.size, dtype=np.int32)
            rows[k, : ordered.size] = ordered
            if constraint.ordered:
                y[k, : ordered.size] = constraint.y[ordered]
            spans[k, : ordered.size] = _spans(constraint.group[ordered], constraint.x[ordered])
            yield
            free = ordered[self._left[ordered] < 0]
            if constraint.ordered:
                yield from self._start_in_piles(constraint, free)
            else:
                self._start_across_classes(constraint, free)
            yield
        self._ranges = Ranges(np.array([c.ordered for c in self._constraints], np.bool_), place, rows, y, spans)
        self._unseen, self._free = np.empty((2, count, 2, 2 * row_count), np.int32)

    def _start_in_piles(self, constraint: BlockConstraint, rows: Ints) -> Steps[None]:
        from dpdb.graph.kernels.range_matching import deal_piles

        starts = np.searchsorted(constraint.group[rows], np.arange(constraint.group_count + 1)).astype(np.int32)
        firsts, lasts = np.empty((2, rows.size), np.int32)
        state = np.zeros(4, np.int64)
        while not deal_piles(
            rows, starts, constraint.y, self._left, self._right, firsts, lasts, state, steps.WORK
        ):  # fmt: skip
            yield

    def _start_across_classes(self, constraint: BlockConstraint, rows: Ints) -> None:
        """Match all rows of a group unless one class has more than half of them, which then serves all others.

        `rows` come by group, then class. With `most` the size of the largest class, the row `most` places on, around
        the group, is of another class as long as `most` is at most half of the group.
        """
        if not rows.size:
            return
        group, begin, end = constraint.group[rows], *_runs(constraint.group[rows])
        _, first, last, _ = _spans(group, constraint.x[rows]).T
        heads = np.flatnonzero(begin == np.arange(rows.size))
        most = np.repeat(np.maximum.reduceat(last - first, heads), np.diff(np.append(heads, rows.size)))
        place, size = np.arange(rows.size), end - begin
        even = 2 * most <= size
        partner = rows[(begin + (place - begin + most) % size)[even]]
        self._left[rows[even]], self._right[partner] = partner, rows[even]
        # Groups with a majority: it is one class, so its first row's place is the same for all rows of the group.
        large = ~even & (last - first == most)
        others = np.flatnonzero(~even & ~large)
        start_of_large = np.zeros(rows.size, np.int64)
        start_of_large[begin[large]] = first[large]
        # The i-th of the others takes the majority's i-th row.
        own = others - begin[others] - np.where(others >= last[start_of_large[begin[others]]], most[others], 0)
        one, other = rows[others], rows[start_of_large[begin[others]] + own]
        self._left[one], self._right[one], self._left[other], self._right[other] = other, other, one, one

    def grow(self) -> Steps[int]:
        """Search once from all free left copies and augment along disjoint paths; returns how many."""
        from dpdb.graph.kernels.range_matching import search

        roots = np.flatnonzero(self._concerned & (self._left < 0)).astype(np.int32)
        if not roots.size:
            return 0
        yield from self._fill(self._unseen, self._right >= 0)
        yield from self._fill(self._free, self._right < 0)
        root, parent, queue = np.empty((3, self._left.size), np.int32)
        state = np.zeros(4, np.int64)
        while not search(
            self._ranges, self._unseen, self._free, self._left, self._right, roots, root, parent, queue, state,
            steps.WORK,
        ):  # fmt: skip
            yield
        return int(state[3])

    def _fill(self, trees: Ints, present: NDArray[np.bool_]) -> Steps[None]:
        from dpdb.graph.kernels.range_matching import fill_present

        state = np.zeros(3, np.int64)
        while not fill_present(self._ranges, present, trees, state, steps.WORK):
            yield


def _runs(values: Ints) -> tuple[Ints, Ints]:
    """Return for each place where its run of equal values begins and where it ends."""
    changes = np.flatnonzero(np.append(True, values[1:] != values[:-1])).astype(np.int32)
    bounds = np.append(changes, np.int32(values.size))
    return np.repeat(bounds[:-1], np.diff(bounds)), np.repeat(bounds[1:], np.diff(bounds))


def _spans(group: Ints, x: Ints) -> Ints:
    """Compute `Ranges.spans` of rows sorted by group, then x."""
    if not group.size:
        return np.empty((0, 4), np.int32)
    changes = np.append(True, (group[1:] != group[:-1]) | (x[1:] != x[:-1]))
    begin, end = _runs(group)
    first, last = _runs(np.cumsum(changes, dtype=np.int32))
    return np.stack([begin, first, last, end], axis=1)
