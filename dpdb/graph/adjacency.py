"""The conflict graph as adjacency lists, for statistics that read an edge more than once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpdb.graph.edges import Batch, OrderedEdges, read_batches
from dpdb.graph.listed_scans import DegreeCounter, counted_degrees
from dpdb.graph.steps import node_ranges

__all__ = ["Adjacency", "adjacency_of", "false_twin_classes"]


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
        from dpdb.graph.kernels.adjacency import sort_adjacency

        neighbours, cursor = np.empty_like(self.neighbours), self.offsets[:-1].copy()
        for first, last in node_ranges(self.offsets):
            sort_adjacency(self.offsets, self.neighbours, cursor, neighbours, first, last)
        return Adjacency(self.offsets, neighbours)

    def induced(self, kept: NDArray[np.int64]) -> Adjacency:
        """Induce the subgraph of the nodes `kept`; node i of the result is `kept[i]`."""
        from dpdb.graph.kernels.adjacency import induce_adjacency

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
        from dpdb.graph.kernels.adjacency import choose_independent

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
        from dpdb.graph.kernels.adjacency import fill_adjacency

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
