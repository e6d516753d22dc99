"""`BlockProjection`: the lists of a `BlockGraph` laid out for scans that may keep hundreds of millions of edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpdb.graph import steps
from dpdb.graph.grouping import sorted_by
from dpdb.graph.projection import ProjectedCounts
from dpdb.graph.steps import Steps
from dpdb.graph.unlisted_edges.block_constraint import BlockConstraint
from dpdb.graph.unlisted_edges.listed_constraint import ListedConstraint

if TYPE_CHECKING:
    from dpdb.graph.kernels.block_projection import Candidates
    from dpdb.graph.kernels.blocks import Blocks

__all__ = ["BlockProjection", "minority_sizes", "no_jumps"]


class BlockProjection:
    """Projects a block graph to one theta at a time; adds 12 bytes per row and constraint to `blocks`."""

    def __init__(self, constraints: Sequence[BlockConstraint | ListedConstraint], blocks: Blocks) -> None:
        self._constraints = constraints
        self._blocks = blocks
        self._slot_of = _slots(constraints, blocks.group.shape[1])
        self._members = self._candidates(blocks.members, blocks.starts)
        self._short = self._candidates(blocks.short, blocks.short_starts)

    def counts(self, theta: int) -> Steps[ProjectedCounts]:
        """Count the projection's edges and positive-degree nodes, see `dpdb.graph.projected_counts`."""
        from dpdb.graph.kernels.block_projection import project

        degree_and_last = np.zeros((len(self._slot_of), 2), np.int32)
        all_present, left = no_jumps(self._blocks), minority_sizes(self._blocks)
        row, edges = 0, 0
        while row < len(self._slot_of):
            row, added = project(
                self._blocks,
                self._slot_of,
                self._members,
                self._short,
                *all_present,
                left,
                degree_and_last,
                theta,
                row,
                steps.WORK,
            )
            edges += added
            yield
        return ProjectedCounts(theta, edges, int(np.count_nonzero(degree_and_last[:, 0])))

    def _candidates(self, rows: NDArray[np.int32], starts: NDArray[np.int32]) -> Candidates:
        from dpdb.graph.kernels.block_projection import Candidates

        slot, x, y = np.zeros((3, *rows.shape), np.int32)  # pages never written take no memory
        for k, constraint in enumerate(self._constraints):
            listed = rows[k, : starts[k, constraint.group_count]]
            slot[k, : listed.size] = self._slot_of[listed]
            x[k, : listed.size] = constraint.x[listed]
            if constraint.ordered or constraint.both:
                y[k, : listed.size] = constraint.y[listed]
        return Candidates(slot, x, y)


def _slots(constraints: Sequence[BlockConstraint | ListedConstraint], row_count: int) -> NDArray[np.int32]:
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
    slot_of[sorted_by((group + np.int32(1), (~minority).astype(np.int32)))] = np.arange(row_count, dtype=np.int32)
    return slot_of


def no_jumps(blocks: Blocks) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Make the jumps of the lists `members` and `short`, every place present; one more ends each list."""
    # Pages never written take no memory, and no time.
    longs, shorts = (np.zeros((len(each), each.shape[1] + 1), np.int32) for each in (blocks.members, blocks.short))
    return longs, shorts


def minority_sizes(blocks: Blocks) -> NDArray[np.int32]:
    """Count the minority rows of each group."""
    return blocks.short_starts[:, 1:] - blocks.short_starts[:, :-1]
