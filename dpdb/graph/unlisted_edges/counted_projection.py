"""`CountedProjection`: projects a block graph to large thetas by its special rows, as steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from dpdb.graph import steps
from dpdb.graph.steps import THREADS, Steps, finished_all
from dpdb.graph.unlisted_edges.block_projection import BlockProjection, no_jumps
from dpdb.thresholds import COUNTED_WORK

if TYPE_CHECKING:
    from dpdb.compiled import Kernel
    from dpdb.graph.kernels.block_projection import Candidates
    from dpdb.graph.kernels.blocks import Blocks
    from dpdb.graph.kernels.counted_projection import Special

__all__ = ["CountedProjection"]

_SPANS = 6
"""Conflicts with plain rows are counted for 2^6 spans of ranks at most: 4 bytes each for every special row."""

_VECTOR = 16
"""Plain rows that are compared with a special one in the time of one of these."""


class CountedProjection:
    """Counts the edges of projections to thetas that no plain row's degree exceeds (`kernels.counted_projection`).

    Parameters
    ----------
    blocks : Blocks
        Of a graph without listed edges.
    projection : function
        Returns its lists laid out.
    degrees : int (rows,)
    """

    def __init__(self, blocks: Blocks, projection: Callable[[], BlockProjection], degrees: NDArray[np.int64]) -> None:
        self._blocks, self._projection, self._degrees = blocks, projection, degrees
        self.least_theta = int(degrees[~blocks.minority].max(initial=1))

    def is_faster(self, theta: int, most_edges: int) -> bool:
        """Return whether it is less work than a scan, which meets the edges that are kept, `most_edges` at most.

        Not before its kernels are loaded: loading takes as long as a scan of a small table.
        """
        made = "_special" in self.__dict__
        work = self._pairs + (0 if made else self._blocks.group.size)
        if theta < self.least_theta or not most_edges > COUNTED_WORK.at * work:
            return False
        from dpdb.graph.kernels.counted_projection import project_counted

        if not cast("Kernel", project_counted).loaded:
            return False
        return made or most_edges > COUNTED_WORK.at * (work + self._looks // _VECTOR)

    def edges(self, theta: int) -> Steps[int]:
        """Count the projection's edges, see `dpdb.graph.projected_counts`; the part common to all is made once."""
        return self._edges(theta, self._projection(), self._special, self._listed)

    def _edges(self, theta: int, projection: BlockProjection, special: Special, listed: Candidates) -> Steps[int]:
        from dpdb.graph.kernels.counted_projection import project_counted

        longs, shorts = no_jumps(self._blocks)
        listed_jumps = np.zeros((longs.shape[0], special.listed.shape[1] + 1), np.int32)
        degree_and_last, counted = np.zeros((2, special.rows.size, 2), np.int32)
        edges, at = 0, 0
        while at < special.rows.size:
            at, added = project_counted(
                self._blocks,
                projection.slot_of,
                projection.members,
                projection.short,
                listed,
                special,
                longs,
                shorts,
                listed_jumps,
                degree_and_last,
                counted,
                theta,
                at,
                steps.WORK,
            )
            edges += added
            yield
        return edges

    @cached_property
    def _rows(self) -> NDArray[np.int32]:
        return np.flatnonzero(self._blocks.minority).astype(np.int32)

    @cached_property
    def _pairs(self) -> int:
        """Number of listed pairs of special rows."""
        pairs, groups = 0, self._blocks.starts.shape[1] - 1
        for group, short_starts in zip(self._blocks.group, self._blocks.short_starts, strict=True):
            special = np.bincount(group[self._rows] + 1, minlength=groups + 1)[1:]
            pairs += int(special @ np.diff(short_starts))
        return pairs

    @cached_property
    def _looks(self) -> int:
        """Most comparisons of plain with special rows to count conflicts, in order constraints and the like."""
        blocks, looks = self._blocks, 0
        minorities = [rows[: ends[-1]] for rows, ends in zip(blocks.short, blocks.short_starts, strict=True)]
        how_many = np.bincount(np.concatenate(minorities), minlength=blocks.minority.size)
        for k, rows in enumerate(minorities):
            compared = rows if blocks.ordered[k] or blocks.both[k] else rows[how_many[rows] > 1]
            looks += int(np.diff(blocks.starts[k])[blocks.group[k, compared]].sum(dtype=np.int64))
        return looks

    @cached_property
    def _special(self) -> Special:
        from dpdb.graph.kernels.counted_projection import Special

        blocks, slot_of, rows = self._blocks, self._projection().slot_of, self._rows
        degree = np.empty(rows.size, np.int32)
        degree[slot_of[rows]] = self._degrees[rows]
        places = [self._places(k) for k in range(len(blocks.group))]
        listed, passed = np.zeros((2, len(places), max(own.size for own in places)), np.int32)
        place, starts = np.zeros((len(places), rows.size), np.int32), np.empty_like(blocks.starts)
        for k, own in enumerate(places):
            listed[k, : own.size] = blocks.members[k, own]
            place[k, slot_of[listed[k, : own.size]]] = np.arange(1, own.size + 1)
            passed[k, : own.size] = own - np.arange(own.size)
            starts[k] = np.searchsorted(own, blocks.starts[k])
        span = max(0, (blocks.minority.size - 1).bit_length() - _SPANS)
        plain, *others = finished_all([self._count_plain(span, part) for part in range(THREADS)])
        for other in others:
            plain += other
        return Special(rows, degree, listed, starts, place, passed, np.cumsum(plain, axis=0, dtype=np.int32), span)

    def _places(self, k: int) -> NDArray[np.intp]:
        """Find the special rows among a constraint's members."""
        members = int(self._blocks.starts[k, -1])
        return np.flatnonzero(self._projection().members.slot[k, :members] < self._rows.size)

    @cached_property
    def _listed(self) -> Candidates:
        return self._projection().candidates(self._special.listed, self._special.starts)

    def _count_plain(self, span: int, part: int) -> Steps[NDArray[np.int32]]:
        """Count for one of `THREADS` shares of the constraints."""
        from dpdb.graph.kernels.block_degrees import CHUNK, Chunk
        from dpdb.graph.kernels.plain_conflicts import count_plain

        blocks, projection = self._blocks, self._projection()
        plain = np.zeros((((blocks.minority.size - 1) >> span) + 2, self._rows.size), np.int32)
        for k in range(part, len(blocks.group), THREADS):
            earlier = np.flatnonzero(blocks.tested[k, :k])
            group, x, y = np.zeros((3, earlier.size + 1, CHUNK), np.int32)
            chunk = Chunk(group, x, y, np.zeros_like(earlier), np.empty(CHUNK, np.int64), np.empty(CHUNK, np.int32))
            rows, state = np.empty(CHUNK, np.int32), np.zeros(2, np.int64)
            while not count_plain(
                blocks, k, earlier, projection.members, projection.short, rows, chunk, plain, span, state, steps.WORK
            ):
                yield
        return plain
