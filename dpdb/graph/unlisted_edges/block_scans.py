"""Scans of a conflict graph that is given by blocks, as steps: the witness count and the maximum matching."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpdb.graph import steps
from dpdb.graph.steps import Steps, ranges
from dpdb.graph.unlisted_edges.block_projection import minorities, no_jumps, rows_ahead

if TYPE_CHECKING:
    from dpdb.graph.kernels.blocks import Blocks

__all__ = ["Matching", "maximum_matching", "witness_count"]


def witness_count(blocks: Blocks, theta: int) -> Steps[int]:
    """Count the rows that a greedy matching to theta copies of a neighbour covers (`kernels.blocks.witness`)."""
    from dpdb.graph.kernels.blocks import witness

    row_count = blocks.group.shape[1]
    uncovered, able = no_jumps(blocks), no_jumps(blocks)
    uncovered_left, able_left = minorities(blocks, 2)
    ahead = rows_ahead()
    covered, spent = np.zeros(row_count, np.bool_), np.zeros(row_count, np.bool_)
    used = np.zeros(row_count, np.int32)
    row = 0
    while row < row_count:
        row = witness(
            blocks, theta, *uncovered, *able, uncovered_left, able_left, ahead, covered, spent, used, row, steps.WORK
        )  # fmt: skip
        yield
    return int(np.count_nonzero(covered))


def maximum_matching(blocks: Blocks, cover: NDArray[np.bool_]) -> Steps[int]:
    """Size of a maximum matching of the bipartite double cover: 2 tau*.

    Greedy first: each row of the vertex cover takes a free partner outside it, on both sides. Then
    rounds of breadth-first search from all free left copies; a right copy is visited once a round and leaves the lists.
    A row not in conflict with the row that reads it stays, so a round may cost O(rows^2) in a large group, of an
    order constraint or with large classes: `range_matching` is for those. A round without an augmenting path proves the
    matching maximum (Berge); matching every cover row on both sides proves it at once (Koenig).
    """
    matching = Matching(blocks, cover)
    yield from matching.start()
    if matching.size < 2 * int(np.count_nonzero(matching.cover)):
        while (yield from matching.grow()):
            pass
    return matching.size


class Matching:
    """A matching of the double cover of a block graph, growing."""

    def __init__(self, blocks: Blocks, cover: NDArray[np.bool_]) -> None:
        self._blocks = blocks
        self._left, self._right = np.full((2, blocks.group.shape[1]), -1, np.int32)
        self.cover = cover

    @property
    def size(self) -> int:
        """Number of left copies that are matched."""
        return int(np.count_nonzero(self._left >= 0))

    def start(self) -> Steps[None]:
        """Let each row of the vertex cover take a free partner outside it, on both sides."""
        from dpdb.graph.kernels.blocks import match_greedily

        gone, (none_left,) = self.cover.copy(), minorities(self._blocks)
        none_left.some[~self._blocks.listed] = 0  # minorities lie in the cover
        present = no_jumps(self._blocks)
        looks, row = np.empty(1, np.int64), 0
        while row < len(self.cover):
            row = match_greedily(
                self._blocks, self.cover, *present, none_left, gone, self._left, self._right, looks, row, steps.WORK
            )  # fmt: skip
            yield

    def grow(self) -> Steps[int]:
        """Search once from all free left copies and grow the matching along disjoint paths; returns by how much."""
        from dpdb.graph.kernels.blocks import extend_matching, find_paths

        row_count = len(self._left)
        roots = np.flatnonzero(self._left < 0).astype(np.int32)
        root, parent, queue = np.empty((3, row_count), np.int32)
        end_of = np.full(row_count, -1, np.int32)
        root[roots] = roots
        queue[: roots.size] = roots
        visited, (left,), present = np.zeros(row_count, np.bool_), minorities(self._blocks), no_jumps(self._blocks)
        state, looks = np.array([0, roots.size]), np.empty(1, np.int64)
        while not find_paths(
            self._blocks, *present, left, rows_ahead(), visited, self._right, root, parent, end_of, queue, state, looks,
            steps.WORK,
        ):  # fmt: skip
            yield
        grown = 0
        for first, last in ranges(roots.size):
            grown += extend_matching(self._left, self._right, parent, end_of, queue, first, last)
            yield
        return grown
