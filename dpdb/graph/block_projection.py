"""`BlockProjection`: the lists of a `BlockGraph` laid out for scans that may keep hundreds of millions of edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpdb.graph.block_constraint import BlockConstraint
from dpdb.graph.projection import ProjectedCounts

if TYPE_CHECKING:
    from dpdb.graph.kernels.block_projection import Candidates
    from dpdb.graph.kernels.blocks import Blocks

__all__ = ["BlockProjection"]


class BlockProjection:
    """Projects a block graph to one theta at a time; adds 12 bytes per row and constraint to `blocks`."""

    def __init__(self, constraints: Sequence[BlockConstraint], blocks: Blocks) -> None:
        self._constraints = constraints
        self._blocks = blocks
        self._slot_of = _slots(constraints, blocks.row.shape[0])
        self._members = self._candidates(blocks.members, blocks.starts)
        self._short = self._candidates(blocks.short, blocks.short_starts)

    def counts(self, theta: int) -> ProjectedCounts:
        """Count the projection's edges and positive-degree nodes, see `dpdb.graph.projected_counts`."""
        from dpdb.graph.kernels.block_projection import project

        return ProjectedCounts(theta, *project(self._blocks, self._slot_of, self._members, self._short, theta))

    def _candidates(self, rows: NDArray[np.int32], starts: NDArray[np.int32]) -> Candidates:
        from dpdb.graph.kernels.block_projection import Candidates

        slot, x, y = np.zeros((3, *rows.shape), np.int32)  # pages never written take no memory
        for k, constraint in enumerate(self._constraints):
            listed = rows[k, : starts[k, constraint.group_count]]
            slot[k, : listed.size] = self._slot_of[listed]
            x[k, : listed.size] = constraint.x[listed]
            if constraint.ordered:
                y[k, : listed.size] = constraint.y[listed]
        return Candidates(slot, x, y)


def _slots(constraints: Sequence[BlockConstraint], row_count: int) -> NDArray[np.int32]:
    """Place minority rows first, since most candidates are, and rows of one large group next to each other."""
    minority = np.zeros(row_count, np.bool_)
    group, most = np.zeros(row_count, np.int32), -1
    for constraint in constraints:
        minority |= constraint.minority
        inside = constraint.group >= 0
        sizes = np.bincount(constraint.group[inside], minlength=constraint.group_count)
        candidates = int(sizes[constraint.group[constraint.minority]].sum())
        if candidates > most:
            group, most = constraint.group, candidates
    slot_of = np.empty(row_count, np.int32)
    slot_of[np.lexsort((group, ~minority))] = np.arange(row_count, dtype=np.int32)
    return slot_of
