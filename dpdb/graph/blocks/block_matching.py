"""The maximum matching of the bipartite double cover of a block graph, as steps: 2 tau*.

Each row has a left and a right copy; two rows in conflict join the left copy of each with the right one of the other.

A crown settles most rows of a large table without a search for such a matching: what remains is small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpdb.graph import steps
from dpdb.graph.blocks.block_scans import all_present, minorities
from dpdb.graph.steps import Steps, ranges

if TYPE_CHECKING:
    from dpdb.graph.kernels.blocks import Blocks

Rows = NDArray[np.int32]


class Crown(NamedTuple):
    """What a crown leaves of a conflict graph: tau* is `heads` more than tau* of the graph of the rows `rest`.

    Attributes
    ----------
    heads : int
        Rows that a smallest fractional cover takes whole.
    rest : int64 (rows,)
        Ascending.
    """

    heads: int
    rest: NDArray[np.int64]


def crown(blocks: Blocks, cover: NDArray[np.bool_]) -> Steps[Crown]:
    """Find the largest crown between a vertex cover and the rows outside it.

    Match as many rows of the cover C as possible to rows outside it, which have no conflicts among themselves. Let D be
    the rows of C from which alternating paths come from a free row of C, and N(D) their neighbours outside C: these are
    the partners of rows of D, for a free one would have made the matching larger. The heads H are the other rows of C,
    the crown I the other rows outside it. A row of I has neighbours in H only, and H is matched into I. So a smallest
    fractional cover takes H whole and nothing of I: what any cover has on a row of H and its partner is 1 at least, and
    moving it to the row of H leaves each edge covered. tau* = |H| + tau*(D and N(D)).

    Source
    ------
    Crowns: Chor, Fellows and Juedes (2004); of fractional covers it is the persistency of Nemhauser and Trotter (1975).
    """
    matching = Matching(blocks, cover)
    yield from matching.start()
    covering = np.flatnonzero(cover).astype(np.int32)
    while True:
        free, visited = covering[matching.left[covering] < 0], cover.copy()
        if not (yield from matching.search(free, visited)):
            break
    outside = np.flatnonzero(visited & ~cover)
    unsettled = np.concatenate([free, matching.right[outside]])
    return Crown(covering.size - unsettled.size, np.sort(np.concatenate([unsettled, outside])))


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
    most = 2 * int(np.count_nonzero(cover))
    while np.count_nonzero(matching.left >= 0) < most:
        free = np.flatnonzero(matching.left < 0).astype(np.int32)
        if not (yield from matching.search(free, np.zeros(cover.size, np.bool_))):
            break
    return int(np.count_nonzero(matching.left >= 0))


class Matching:
    """A matching of the double cover of a block graph, growing.

    Attributes
    ----------
    left, right : int32 (rows,)
        The partners of the left and of the right copies, or -1.
    """

    def __init__(self, blocks: Blocks, cover: NDArray[np.bool_]) -> None:
        self._blocks = blocks
        self.left, self.right = np.full((2, blocks.group.shape[1]), -1, np.int32)
        self._cover = cover

    def start(self) -> Steps[None]:
        """Let each row of the vertex cover take a free partner outside it, on both sides."""
        from dpdb.graph.kernels.blocks import match_greedily

        gone, (none_left,) = self._cover.copy(), minorities(self._blocks)
        none_left.some[~self._blocks.listed] = 0  # minorities lie in the cover
        present = all_present(self._blocks)
        looks, row = np.empty(3, np.int64), 0
        while row < len(self._cover):
            row = match_greedily(
                self._blocks, self._cover, *present, none_left, gone, self.left, self.right, looks, row, steps.WORK
            )  # fmt: skip
            yield

    def search(self, roots: Rows, visited: NDArray[np.bool_]) -> Steps[bool]:
        """Search once from free left copies, and grow the matching along disjoint paths; returns whether any was found.

        Parameters
        ----------
        visited
            Rows whose right copies count as visited; updated.
        """
        from dpdb.graph.kernels.blocks import extend_matching, find_paths

        root, parent, queue = np.empty((3, len(self.left)), np.int32)
        queue[: roots.size], root[roots] = roots, np.arange(roots.size)
        end_of = np.full(roots.size, -1, np.int32)
        (unvisited,), present = minorities(self._blocks), all_present(self._blocks)
        state, looks = np.array([0, roots.size]), np.zeros(3, np.int64)
        while not find_paths(
            self._blocks, *present, unvisited, visited, self.right, root, parent, end_of, queue, state, looks,
            steps.WORK,
        ):  # fmt: skip
            yield
        for first, last in ranges(roots.size):
            extend_matching(self.left, self.right, parent, end_of, queue, first, last)
            yield
        return bool((end_of >= 0).any())
