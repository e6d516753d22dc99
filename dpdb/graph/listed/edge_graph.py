"""`EdgeGraph`: the statistics of a conflict graph that is given as a stream of ordered edges.

Statistics that read an edge more than once read adjacency lists. The fractional vertex cover is one: the linear
relaxation tau* of the repair measure, solved as a matching.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpdb.graph import steps
from dpdb.graph.grouping import sorted_by
from dpdb.graph.listed.listed_edges import (
    Batch,
    DegreeCounter,
    DegreeSummary,
    OrderedEdges,
    ProjectedCounts,
    Projection,
    WitnessCount,
    counted_degrees,
    degree_summary,
    greedy_cover_size,
    projected_counts,
    read_batches,
    witness_counts,
)
from dpdb.graph.steps import node_ranges


class EdgeGraph:
    """The same methods as `BlockGraph`, by scans of the edges."""

    def __init__(self, edges: OrderedEdges) -> None:
        self._edges = edges

    @property
    def node_count(self) -> int:
        """Number of rows."""
        return self._edges.node_count

    @cached_property
    def adjacency(self) -> Adjacency:
        """The graph in memory, 8 bytes per edge."""
        return adjacency_of(self._edges)

    def scan(
        self, projection_thetas: Sequence[int], witness_thetas: Sequence[int], *, keep: bool = True
    ) -> tuple[tuple[ProjectedCounts, ...], tuple[int, ...]]:
        """Compute what all three measures need in one pass, and keep the adjacency for the fractional cover.

        Parameters
        ----------
        projection_thetas, witness_thetas
            See `projected_counts` and `witness_counts`, whose results are returned.
        keep
            Whether a fractional cover will be asked.
        """
        projection, witness = (
            Projection(self.node_count, projection_thetas),
            WitnessCount(self.node_count, witness_thetas),
        )
        kept: list[Batch] = []  # 16 bytes per edge while the adjacency is built
        for u, v in read_batches(self._edges):
            if projection_thetas:
                projection.add(u, v)
            if witness_thetas:
                witness.add(u, v)
            if keep and "adjacency" not in self.__dict__:
                kept.append((u, v))
        if keep:
            self.__dict__.setdefault("adjacency", Adjacency.of_batches(self.node_count, kept))
        return projection.counts(), witness.counts()

    def degree_summary(self) -> DegreeSummary:
        """See `dpdb.graph.degree_summary`."""
        return degree_summary(self._edges)

    def projected_counts(self, thetas: Sequence[int]) -> tuple[ProjectedCounts, ...]:
        """See `dpdb.graph.projected_counts`."""
        return projected_counts(self._edges, thetas)

    def projected_edges(self, thetas: Sequence[int]) -> list[int]:
        """Count the projections' edges."""
        return [counts.edge_count for counts in self.projected_counts(thetas)]

    def witness_counts(self, thetas: Sequence[int]) -> tuple[int, ...]:
        """See `dpdb.graph.witness_counts`."""
        return witness_counts(self._edges, thetas)

    def greedy_cover_size(self) -> int:
        """See `dpdb.graph.greedy_cover_size`."""
        return greedy_cover_size(self._edges)

    def twice_fractional_cover(self) -> int:
        """See `dpdb.graph.twice_fractional_cover`."""
        return twice_fractional_cover(self.adjacency)


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Neighbours of node x: `neighbours[offsets[x]:offsets[x + 1]]`; every edge is in two lists."""

    offsets: NDArray[np.int64]
    neighbours: NDArray[np.uint32]

    @property
    def node_count(self) -> int:
        """Number of nodes, isolated ones included."""
        return len(self.offsets) - 1

    @property
    def edge_count(self) -> int:
        """Number of edges."""
        return len(self.neighbours) // 2

    @property
    def degrees(self) -> NDArray[np.int64]:
        """Degree of every node, shape `(nodes,)`."""
        return np.diff(self.offsets)

    def neighbours_of(self, node: int) -> NDArray[np.uint32]:
        """Neighbours of one node."""
        return self.neighbours[self.offsets[node] : self.offsets[node + 1]]

    def sorted(self) -> Adjacency:
        """Sort every list ascending, in linear time."""
        from dpdb.graph.kernels.listed_edges import sort_adjacency

        neighbours, cursor = np.empty_like(self.neighbours), self.offsets[:-1].copy()
        for first, last in node_ranges(self.offsets):
            sort_adjacency(self.offsets, self.neighbours, cursor, neighbours, first, last)
        return Adjacency(self.offsets, neighbours)

    def induced(self, kept: NDArray[np.int64]) -> Adjacency:
        """Induce the subgraph of the nodes `kept`; node i of the result is `kept[i]`."""
        from dpdb.graph.kernels.listed_edges import induce_adjacency

        label = np.full(self.node_count, -1, np.int64)
        label[kept] = np.arange(len(kept))
        offsets = np.zeros(len(kept) + 1, dtype=np.int64)
        most = np.concatenate([[0], np.cumsum(self.degrees[kept])])
        neighbours = np.empty(int(most[-1]), dtype=np.uint32)
        for first, last in node_ranges(most):
            induce_adjacency(self.offsets, self.neighbours, kept, label, offsets, neighbours, first, last)
        return Adjacency(offsets, neighbours[: offsets[-1]].copy())

    def independent_nodes(self, order: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Choose a maximal independent set: every node of `order` without a neighbour chosen before it."""
        from dpdb.graph.kernels.listed_edges import choose_independent

        chosen = np.zeros(self.node_count, np.bool_)
        for first, last in node_ranges(np.concatenate([[0], np.cumsum(self.degrees[order])])):
            choose_independent(self.offsets, self.neighbours, order, chosen, first, last)
        return chosen

    @classmethod
    def of_batches(cls, node_count: int, batches: Sequence[Batch]) -> Adjacency:
        """Build from checked batches that are held in memory."""
        counter = DegreeCounter(node_count)
        for u, v in batches:
            counter.add(u, v)
        return cls._filled(counter, batches)

    @classmethod
    def of_edges(cls, edges: OrderedEdges) -> Adjacency:
        """Build by two scans, without holding the edge list."""
        return cls._filled(counted_degrees(edges), read_batches(edges))

    @classmethod
    def _filled(cls, counter: DegreeCounter, batches: Iterable[Batch]) -> Adjacency:
        from dpdb.graph.kernels.listed_edges import fill_adjacency

        offsets = np.concatenate([[0], np.cumsum(counter.degrees)]).astype(np.int64)
        neighbours = np.empty(int(offsets[-1]), dtype=np.uint32)
        cursor = offsets[:-1].copy()
        for u, v in batches:
            fill_adjacency(u, v, cursor, neighbours)
        return cls(offsets, neighbours)


def adjacency_of(edges: OrderedEdges | Adjacency) -> Adjacency:
    """Return `edges` itself if it is an adjacency already, else build one by two scans."""
    return edges if isinstance(edges, Adjacency) else Adjacency.of_edges(edges)


def false_twin_classes(graph: Adjacency) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the classes of nodes with equal neighbour sets, such as equal rows in a group that violates an FD.

    Returns
    -------
    representatives
        One node of every class, ascending, shape `(classes,)`.
    sizes
        Number of nodes in every class, shape `(classes,)`.
    """
    lists = graph.sorted()
    class_of: dict[bytes, int] = {}
    representatives: list[int] = []
    sizes: list[int] = []
    for node in range(graph.node_count):
        found = class_of.setdefault(lists.neighbours_of(node).tobytes(), len(sizes))
        if found == len(sizes):
            representatives.append(node)
            sizes.append(0)
        sizes[found] += 1
    return np.array(representatives, dtype=np.int64), np.array(sizes, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class FractionalCover:
    """An optimal half-integral vertex cover, in units of one half."""

    twice_size: int
    """2 tau*, the sum of `twice_weight`."""
    twice_weight: NDArray[np.uint8]
    """0, 1 or 2 for every node, shape `(nodes,)`; at least 2 in total on every edge."""


def twice_fractional_cover(edges: OrderedEdges | Adjacency) -> int:
    """Twice the fractional vertex cover number: 2 tau*, where tau* <= I_R <= 2 tau*.

    Sensitivity 2, monotone (change in [0, 2]): a new row adds one left and one right node to the double
    cover, and one more node changes a maximum matching by 0 or 1. The order of the edges does not matter.
    """
    return _match(adjacency_of(edges))[0]


def fractional_cover(edges: OrderedEdges | Adjacency) -> FractionalCover:
    """An optimal fractional vertex cover with weights 0, 1/2 and 1.

    Some minimum vertex cover contains every node of weight 1 and none of weight 0 (Nemhauser and Trotter).

    2 tau*(G) is the size of a maximum matching of the bipartite double cover of G, and an optimal solution with weights
    0, 1/2, 1 follows from Koenig's theorem (Nemhauser and Trotter 1975).
    """
    size, partner, reached = _match(adjacency_of(edges))
    twice_weight = (~reached).astype(np.uint8)
    twice_weight[partner[reached & (partner >= 0)]] += 1
    return FractionalCover(size, twice_weight)


def _match(graph: Adjacency) -> tuple[int, NDArray[np.int32], NDArray[np.bool_]]:
    # Size of the matching, right partner of every left copy (or -1), and Koenig's set of left copies.
    degrees = graph.degrees
    mate = np.full((2, graph.node_count), -1, dtype=np.int32)
    order = sorted_by((degrees.astype(np.int32),)).astype(np.int64)  # nodes with few neighbours choose first
    start_matching(graph, order, mate)
    level = complete_matching(graph, mate)
    partner = mate[0]
    # Isolated nodes cost nothing: they are reached, like every other unmatched left copy.
    return int(np.count_nonzero(partner >= 0)), partner, (level >= 0) | (degrees == 0)


def start_matching(graph: Adjacency, order: NDArray[np.int64], mate: NDArray[np.int32]) -> None:
    """Match greedily, see `kernels.listed_edges.match_greedily`.

    Parameters
    ----------
    order
        Order in which left copies are served, shape `(nodes,)`.
    mate
        Shape `(2, nodes)`, all -1: partners of left copies, partners of right copies. Filled in.
    """
    from dpdb.graph.kernels.listed_edges import match_greedily

    choices = np.stack([graph.degrees, graph.degrees]).astype(np.int32)
    first = np.argwhere(choices == 1).astype(np.int32)
    single = np.empty((2 * graph.node_count + 1, 2), dtype=np.int32)
    single[: len(first)] = first
    state = np.array([len(first), 0])
    while not match_greedily(graph.offsets, graph.neighbours, order, mate, choices, single, state, steps.WORK):
        pass


def complete_matching(graph: Adjacency, mate: NDArray[np.int32]) -> NDArray[np.int32]:
    """Make the matching `mate` maximum, in phases of shortest augmenting paths.

    Returns levels, shape `(nodes,)`: at least 0 exactly for the left copies reachable by an alternating path from an
    unmatched left copy that has neighbours (Koenig's set).
    """
    from dpdb.graph.kernels.listed_edges import NO_LEVEL, augment, find_levels

    offsets, neighbours = graph.offsets, graph.neighbours
    queue, path = np.empty(graph.node_count, np.int32), np.empty(graph.node_count, np.int32)
    while True:
        roots = np.flatnonzero((mate[0] < 0) & (graph.degrees > 0))
        level = np.full(graph.node_count, -1, np.int32)
        level[roots] = 0
        queue[: len(roots)] = roots
        search = np.array([0, len(roots), NO_LEVEL])
        while not find_levels(offsets, neighbours, mate[1], level, queue, search, steps.WORK):
            pass
        if search[2] == NO_LEVEL:
            return level
        cursor, state = offsets[:-1].copy(), np.zeros(2, np.int64)
        while not augment(
            offsets, neighbours, mate, level, cursor, path, queue, len(roots), int(search[2]), state, steps.WORK
        ):
            pass
