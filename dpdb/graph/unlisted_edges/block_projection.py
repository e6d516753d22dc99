"""`BlockProjection`: the lists of a `BlockGraph` laid out for scans that may keep hundreds of millions of edges."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpdb.graph import steps
from dpdb.graph.grouping import looked_up, sorted_by
from dpdb.graph.listed_scans import ProjectedCounts
from dpdb.graph.steps import Steps, called_all
from dpdb.graph.unlisted_edges.block_constraint import BlockConstraint
from dpdb.graph.unlisted_edges.listed_constraint import ListedConstraint

if TYPE_CHECKING:
    from dpdb.graph.kernels.block_projection import Candidates
    from dpdb.graph.kernels.blocks import Ahead, Blocks, Remaining

__all__ = ["BlockProjection", "minorities", "no_jumps", "rows_ahead"]

_AHEAD = 1024
"""Rows that a scan looks ahead: so few that hardly any of their groups ends before they are reached."""


class BlockProjection:
    """Projects a block graph to one theta at a time; adds 12 bytes per row and constraint to `blocks`."""

    def __init__(self, constraints: Sequence[BlockConstraint | ListedConstraint], blocks: Blocks) -> None:
        self._constraints = constraints
        self._blocks = blocks
        self.slot_of = _slots(blocks)
        self.members = self.candidates(blocks.members, blocks.starts)
        self.short = self.candidates(blocks.short, blocks.short_starts)

    def counts(self, theta: int) -> Steps[ProjectedCounts]:
        """Count the projection's edges and positive-degree nodes, see `dpdb.graph.projected_counts`."""
        from dpdb.graph.kernels.block_projection import project

        degree_and_last = np.zeros((len(self.slot_of), 2), np.int32)
        all_present, (left,) = no_jumps(self._blocks), minorities(self._blocks)
        row, edges = 0, 0
        while row < len(self.slot_of):
            row, added = project(
                self._blocks,
                self.slot_of,
                self.members,
                self.short,
                *all_present,
                left,
                rows_ahead(),
                degree_and_last,
                theta,
                row,
                steps.WORK,
            )
            edges += added
            yield
        return ProjectedCounts(theta, edges, int(np.count_nonzero(degree_and_last[:, 0])))

    def candidates(self, rows: NDArray[np.int32], starts: NDArray[np.int32]) -> Candidates:
        """Lay out lists of rows, constraint by constraint; the last group of each ends where `starts` says."""
        from dpdb.graph.kernels.block_projection import Candidates

        laid_out = Candidates(*np.zeros((3, *rows.shape), np.int32))  # pages never written take no memory
        sizes = (starts[k, constraint.group_count] for k, constraint in enumerate(self._constraints))
        called_all([partial(self._lay_out, k, rows[k, :size], laid_out) for k, size in enumerate(sizes)])
        return laid_out

    def _lay_out(self, k: int, listed: NDArray[np.int32], laid_out: Candidates) -> None:
        constraint = self._constraints[k]
        looked_up(self.slot_of, listed, laid_out.slot[k])
        looked_up(constraint.x, listed, laid_out.x[k])
        if constraint.ordered or constraint.both:
            looked_up(constraint.y, listed, laid_out.y[k])


def _slots(blocks: Blocks) -> NDArray[np.int32]:
    """Place minority rows first, since most candidates are, and rows of one large group next to each other."""
    sizes, short = (np.diff(table, axis=1).astype(np.int64) for table in (blocks.starts, blocks.short_starts))
    candidates = (sizes * short).sum(axis=1)
    group = blocks.group[np.argmax(candidates)] if candidates.size else np.zeros(blocks.minority.size, np.int32)
    slot_of = np.empty(group.size, np.int32)
    rows = sorted_by((group + np.int32(1), (~blocks.minority).astype(np.int32)))
    slot_of[rows] = np.arange(group.size, dtype=np.int32)
    return slot_of


def no_jumps(blocks: Blocks) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Make the jumps of the lists `members` and `short`, every place present; one more ends each list."""
    # Pages never written take no memory, and no time.
    longs, shorts = (np.zeros((len(each), each.shape[1] + 1), np.int32) for each in (blocks.members, blocks.short))
    return longs, shorts


def minorities(blocks: Blocks, wanted: int = 1) -> tuple[Remaining, ...]:
    """Make the minority rows of each group, all remaining, for one or several kinds of visits of a scan."""
    from dpdb.graph.kernels.blocks import Remaining

    count = blocks.short_starts[:, 1:] - blocks.short_starts[:, :-1]
    some = np.pad(np.where(count > 0, (1 << wanted) - 1, 0).astype(np.uint8), ((0, 0), (0, 1)))
    return tuple(Remaining(count.copy(), some, 1 << bit) for bit in range(wanted))


def rows_ahead() -> Ahead:
    """Make the scratch of a scan that looks ahead."""
    from dpdb.graph.kernels.blocks import Ahead

    return Ahead(np.zeros(_AHEAD, np.int32), np.zeros(_AHEAD, np.uint8))
