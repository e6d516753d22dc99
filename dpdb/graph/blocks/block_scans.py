"""Scans of a conflict graph that is given by blocks, as steps: projections and the witness count.

A projection may keep hundreds of millions of edges: for `BlockProjection` the lists of a `BlockGraph` are laid out for
that. To large thetas `CountedProjection` projects by the special rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpdb.graph import steps
from dpdb.graph.blocks.block_constraint import BlockConstraint, ListedConstraint
from dpdb.graph.grouping import looked_up, sorted_by
from dpdb.graph.listed.listed_edges import ProjectedCounts
from dpdb.graph.steps import THREADS, Steps, called_all, finished_all
from dpdb.thresholds import COUNTED_WORK

if TYPE_CHECKING:
    from dpdb.graph.kernels.block_projection import Candidates
    from dpdb.graph.kernels.blocks import Ahead, Blocks, Present, Remaining
    from dpdb.graph.kernels.counted_projection import Special

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
        jumps, (left,) = no_jumps(self._blocks), minorities(self._blocks)
        row, edges = 0, 0
        while row < len(self.slot_of):
            row, added = project(
                self._blocks,
                self.slot_of,
                self.members,
                self.short,
                *jumps,
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


def all_present(blocks: Blocks) -> tuple[Present, Present]:
    """Make the places of `members` and of `short`, every one present: a bit each, and four bytes for 64 of them."""
    from dpdb.graph.kernels.blocks import Present

    shapes = [(len(each), each.shape[1] // 64 + 1) for each in (blocks.members, blocks.short)]
    longs, shorts = (Present(np.zeros(shape, np.uint64), np.zeros(shape, np.int32)) for shape in shapes)
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


def witness_count(blocks: Blocks, theta: int) -> Steps[int]:
    """Count the rows that a greedy matching to theta copies of a neighbour covers (`kernels.blocks.witness`)."""
    from dpdb.graph.kernels.blocks import witness

    row_count = blocks.group.shape[1]
    uncovered, able = all_present(blocks), all_present(blocks)
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
    degrees : int (rows,)
    """

    def __init__(self, blocks: Blocks, projection: Callable[[], BlockProjection], degrees: NDArray[np.int64]) -> None:
        self._blocks, self._projection, self._degrees = blocks, projection, degrees
        self.least_theta = int(degrees[~blocks.minority].max(initial=1))

    def is_faster(self, theta: int, most_edges: int) -> bool:
        """Return whether it is less work than a scan, which meets the edges that are kept, `most_edges` at most."""
        made = "_special" in self.__dict__
        work = self._pairs + (0 if made else self._blocks.group.size)
        if theta < self.least_theta or not most_edges > COUNTED_WORK.at * work:
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
        from dpdb.graph.kernels.counted_projection import count_plain

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
