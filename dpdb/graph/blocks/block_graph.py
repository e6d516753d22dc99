"""`BlockGraph`: a conflict graph kept as rows, not edges, wherever a constraint has blocks.

Its statistics equal, value for value, those of the edge stream in canonical order; memory is O(rows x constraints), and
about 70 bytes for each conflict of a constraint that has no blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpdb.graph import steps
from dpdb.graph.blocks.block_constraint import BlockConstraint, ListedConstraint, Lists, by_class
from dpdb.graph.blocks.block_degrees import block_degrees
from dpdb.graph.blocks.block_scans import BlockProjection, witness_count
from dpdb.graph.blocks.range_matching import dense, range_matching
from dpdb.graph.listed.edge_graph import Adjacency, adjacency_of
from dpdb.graph.listed.listed_edges import Batch, DegreeSummary, ProjectedCounts, check_thetas
from dpdb.graph.steps import THREADS, finished, finished_all, ranges

if TYPE_CHECKING:
    from dpdb.graph.blocks.block_scans import CountedProjection
    from dpdb.graph.kernels.blocks import Blocks

BATCH = 1_000_000


class BlockGraph:
    """The conflict graph of several block constraints (implements `OrderedEdges`).

    Parameters
    ----------
    node_count : int
        Rows, numbered by canonical rank.
    constraints : sequence of BlockConstraint or ListedConstraint
        In order of their positions.
    tested : bool array (constraints, constraints), optional
        `tested[k, j]` False asserts that no pair violates both k and j < k; True is always right.
    """

    def __init__(
        self,
        node_count: int,
        constraints: Sequence[BlockConstraint | ListedConstraint],
        tested: NDArray[np.bool_] | None = None,
    ) -> None:
        self._node_count = node_count
        self._constraints = tuple(constraints)
        count = len(self._constraints)
        self._listed = {k: c for k, c in enumerate(self._constraints) if isinstance(c, ListedConstraint)}
        self._tested = np.ones((count, count), np.bool_) if tested is None else tested.copy()
        self._tested[:, list(self._listed)] = False  # listed conflicts are looked up where they matter
        self._covering_theta = max(1, node_count)  # smallest theta known at which W is the problematic rows

    @cached_property
    def adjacency(self) -> Adjacency:
        """The graph in memory, 8 bytes per edge: for small graphs only."""
        return adjacency_of(self)

    @property
    def node_count(self) -> int:
        """Number of rows."""
        return self._node_count

    def batches(self) -> Iterator[Batch]:
        """Enumerate the edges (u, v) in canonical order."""
        for u, v, _ in self.labelled_batches():
            yield u, v

    def labelled_batches(self) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint16]]]:
        """Enumerate the edges with the position of the first violated constraint among this graph's."""
        from dpdb.graph.kernels.blocks import fill_edges

        row, k, place = 0, 0, -1
        while self._constraints and row < self._node_count:
            u, v = np.empty(BATCH, np.uint32), np.empty(BATCH, np.uint32)
            dc = np.empty(BATCH, np.uint16)
            filled = 0
            while row < self._node_count and filled < BATCH:
                filled, row, k, place = fill_edges(self.blocks, row, k, place, u, v, dc, filled, steps.WORK)
            kept = self._first_met(u[:filled], v[:filled], dc[:filled])
            if kept.any():
                yield u[:filled][kept], v[:filled][kept], dc[:filled][kept]

    def _first_met(self, u: NDArray[np.uint32], v: NDArray[np.uint32], dc: NDArray[np.uint16]) -> NDArray[np.bool_]:
        """Mark the edges that no other listed constraint has."""
        kept = np.ones(u.size, np.bool_)
        pairs = u.astype(np.int64) * self._node_count + v
        for k, constraint in self._listed.items():
            if constraint.pairs.size:
                places = np.searchsorted(constraint.pairs, pairs)
                kept &= (dc == k) | (constraint.pairs[np.minimum(places, constraint.pairs.size - 1)] != pairs)
        return kept

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """Exact degrees, without looking at most edges one by one."""
        with_blocks = {k: c for k, c in enumerate(self._constraints) if isinstance(c, BlockConstraint)}
        total = block_degrees(self.blocks, with_blocks, self._tested)
        for k in self._listed:
            for ends in self._only_listed(k):
                total += np.bincount(ends, minlength=self._node_count)
        return total

    def _only_listed(self, k: int) -> Iterator[NDArray[np.int64]]:
        """Give the ends of the listed conflicts of constraint k that violate none with blocks after it."""
        pairs = self._listed[k].pairs
        for first, last in ranges(pairs.size):
            u, v = np.divmod(pairs[first:last], self._node_count)
            only = np.ones(u.size, np.bool_)
            for constraint in self._constraints[k + 1 :]:
                if isinstance(constraint, BlockConstraint):
                    only &= ~constraint.violated(u, v)
            yield np.concatenate([u[only], v[only]])

    def degree_summary(self) -> DegreeSummary:
        """Edges, positive-degree nodes and maximum degree."""
        degrees = self.degrees
        return DegreeSummary(int(degrees.sum()) // 2, int(np.count_nonzero(degrees)), int(degrees.max(initial=0)))

    def projected_counts(self, thetas: Sequence[int]) -> tuple[ProjectedCounts, ...]:
        """See `dpdb.graph.projected_counts`. A theta that no degree exceeds projects nothing away: no scan."""
        asked = check_thetas(thetas)
        summary = self.degree_summary()
        found = {
            theta: ProjectedCounts(theta, summary.edge_count, summary.positive_degree_nodes)
            for theta in asked
            if theta >= summary.max_degree
        }
        scanned = sorted(set(asked) - set(found), reverse=True)  # the longest scans first: threads end together
        if scanned:
            counts = finished_all([self.projection.counts(theta) for theta in scanned])
            found.update(zip(scanned, counts, strict=True))
        return tuple(found[theta] for theta in asked)

    def projected_edges(self, thetas: Sequence[int]) -> list[int]:
        """Count the projections' edges alone: often without meeting most of them."""
        distinct = sorted(set(check_thetas(thetas)), reverse=True)
        counted = [theta for theta in distinct if self._counted_faster(theta)]
        edges = dict(zip(counted, finished_all([self._counted.edges(theta) for theta in counted]), strict=True))
        scanned = [theta for theta in distinct if theta not in edges]
        edges.update((counts.theta, counts.edge_count) for counts in self.projected_counts(scanned))
        return [edges[theta] for theta in thetas]

    def _counted_faster(self, theta: int) -> bool:
        if self._listed or theta >= self.degree_summary().max_degree:
            return False
        return self._counted.is_faster(theta, self.most_projected_edges(theta))

    def most_projected_edges(self, theta: int) -> int:
        """Return an upper bound of the projection's edges: each has an end in the cover, which keeps theta at most."""
        covering = self.degrees[self.cover]
        return min(self.degree_summary().edge_count, int(np.minimum(covering, theta).sum()))

    def witness_counts(self, thetas: Sequence[int]) -> tuple[int, ...]:
        """See `dpdb.graph.witness_counts`.

        W grows with theta (one more copy of a charger only adds to what a greedy matching in a fixed order covers) and
        never exceeds the problematic rows: once it reaches them, larger thetas need no scan.
        """
        found = {theta: self.problematic_count for theta in thetas if theta >= self._covering_theta}
        ascending = sorted(set(thetas) - set(found))
        while ascending:
            now, ascending = ascending[:THREADS], ascending[THREADS:]
            counts = finished_all([witness_count(self.blocks, min(theta, self._node_count)) for theta in now])
            found.update(zip(now, counts, strict=True))
            if counts[-1] == self.problematic_count:
                self._covering_theta = min(self._covering_theta, now[-1])
                found.update(dict.fromkeys(ascending, counts[-1]))
                break
        return tuple(found[theta] for theta in thetas)

    @cached_property
    def problematic_count(self) -> int:
        """Positive-degree nodes: the union of the constraints' conflicting rows, no edge looked at."""
        in_conflict = np.zeros(self._node_count, np.bool_)
        for constraint in self._constraints:
            in_conflict |= constraint.group >= 0
        return int(np.count_nonzero(in_conflict))

    def greedy_cover_size(self) -> int:
        """See `dpdb.graph.greedy_cover_size`: the greedy cover is both ends of the edges of pi_1."""
        return 2 * self.projected_counts([1])[0].edge_count

    def twice_fractional_cover(self) -> int:
        """See `dpdb.graph.twice_fractional_cover`."""
        if self._is_dense:
            return self._maximum_matching()
        from dpdb.graph.blocks.block_matching import crown

        heads, rest = finished(crown(self.blocks, self.cover))
        return 2 * heads + (self._among(rest)._maximum_matching() if rest.size else 0)

    def _maximum_matching(self) -> int:
        if self._is_dense:
            return finished(range_matching(self._with_blocks, self._node_count))
        from dpdb.graph.blocks.block_matching import maximum_matching

        return finished(maximum_matching(self.blocks, self.cover))

    @cached_property
    def _is_dense(self) -> bool:
        return not self._listed and dense(self._with_blocks, self._node_count)

    def _among(self, rows: NDArray[np.int64]) -> BlockGraph:
        return BlockGraph(rows.size, [constraint.of_rows(rows) for constraint in self._constraints], self._tested)

    def with_partners(self, rows: NDArray[np.bool_]) -> BlockGraph:
        """Return the graph with a further row for each of some rows, in conflict with that row alone.

        Raises
        ------
        NotImplementedError
            If conflicts are listed: without them the cover of the result could be taken for that of all rows.
        """
        if self._listed:
            raise NotImplementedError("partners of rows whose conflicts are listed")
        chosen = np.flatnonzero(rows)
        pair = np.full(self._node_count, -1, np.int32)
        pair[chosen] = np.arange(chosen.size, dtype=np.int32)
        pairs = by_class([np.append(pair, pair[chosen])], None, self._node_count + chosen.size)
        longer = [constraint.with_more_rows(chosen.size) for constraint in self._with_blocks]
        return BlockGraph(self._node_count + chosen.size, [*longer, pairs])

    @cached_property
    def cover(self) -> NDArray[np.bool_]:
        """A vertex cover: the minorities, and the further rows that the listed edges need."""
        cover = np.zeros(self._node_count, np.bool_)
        for constraint in self._constraints:
            cover |= constraint.minority
        for constraint in self._listed.values():
            cover |= constraint.uncovered(cover)
        return cover

    @cached_property
    def projection(self) -> BlockProjection:
        """The lists laid out for projections."""
        return BlockProjection(self._constraints, self.blocks)

    @cached_property
    def _counted(self) -> CountedProjection:
        from dpdb.graph.blocks.block_scans import CountedProjection

        return CountedProjection(self.blocks, lambda: self.projection, self.degrees)

    @property
    def _with_blocks(self) -> list[BlockConstraint]:
        return [constraint for constraint in self._constraints if isinstance(constraint, BlockConstraint)]

    @cached_property
    def blocks(self) -> Blocks:
        """The arrays that scans read."""
        from dpdb.graph.kernels.blocks import Blocks

        with_y = [k for k, constraint in enumerate(self._constraints) if constraint.ordered or constraint.both]
        y_at = np.zeros(len(self._constraints), np.int64)
        y_at[with_y] = np.arange(len(with_y))
        lists = Lists.of(self._constraints, self._node_count)
        minority = np.zeros(self._node_count, np.bool_)
        for constraint in self._constraints:
            minority |= constraint.minority
        blocks = Blocks(
            ordered=np.array([c.ordered for c in self._constraints], np.bool_),
            both=np.array([c.both for c in self._constraints], np.bool_),
            listed=np.array([k in self._listed for k in range(len(self._constraints))], np.bool_),
            group=_stacked([c.group for c in self._constraints], self._node_count),
            x=_stacked([c.x for c in self._constraints], self._node_count),
            y=_stacked([self._constraints[k].y for k in with_y], self._node_count),
            y_at=y_at,
            place=lists.place,
            members=lists.members,
            starts=lists.starts,
            short=lists.short,
            short_starts=lists.short_starts,
            minority=minority,
            tested=self._tested,
        )
        self._constraints = tuple(
            replace(c, group=blocks.group[k], x=blocks.x[k], y=blocks.y[y_at[k]] if k in with_y else blocks.x[k])
            if isinstance(c, BlockConstraint)
            else c
            for k, c in enumerate(self._constraints)
        )  # the same arrays, held once
        return blocks


def _stacked(arrays: Sequence[NDArray[np.int32]], rows: int) -> NDArray[np.int32]:
    """Make a table of arrays; without a copy where they are the rows of one."""
    if not arrays:
        return np.zeros((0, rows), np.int32)
    table = arrays[0].base
    if not isinstance(table, np.ndarray) or table.shape != (len(arrays), rows) or table.dtype != np.int32:
        return np.stack(arrays)
    same = all(one.ctypes.data == other.ctypes.data for one, other in zip(arrays, table, strict=True))
    return table if same and table.flags.c_contiguous else np.stack(arrays)
