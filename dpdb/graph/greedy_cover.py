"""Greedy vertex cover in canonical edge order (paper A, Algorithm 5, without its noise)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpdb.graph.edges import OrderedEdges, read_batches

__all__ = ["GreedyCover", "greedy_cover_size"]


class GreedyCover:
    """The greedy cover, built batch by batch in canonical order."""

    def __init__(self, node_count: int) -> None:
        self._covered = np.zeros(node_count, dtype=np.bool_)
        self.size = 0

    def add(self, u: NDArray[np.uint32], v: NDArray[np.uint32]) -> None:
        """Add one batch of edges, in order."""
        from dpdb.graph.kernels.greedy_cover import cover_greedily

        self.size += cover_greedily(u, v, self._covered)


def greedy_cover_size(edges: OrderedEdges) -> int:
    """Size of the vertex cover that takes both ends of every edge not yet covered, in canonical order.

    At least the minimum vertex cover and at most twice it. Sensitivity 2, monotone (change 0 or 2;
    Proposition 3): it is twice the edge count of the projection at theta = 1, whose change is in [0, 1].
    """
    cover = GreedyCover(edges.node_count)
    for u, v in read_batches(edges):
        cover.add(u, v)
    return cover.size
