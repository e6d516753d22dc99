"""Degrees of the whole conflict graph: the exact, unprojected counts. For owners and for evaluation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpdb.graph.edges import OrderedEdges, read_batches

__all__ = ["DegreeCounter", "DegreeSummary", "degree_summary", "degrees"]


@dataclass(frozen=True)
class DegreeSummary:
    """Exact counts of a conflict graph."""

    edge_count: int
    """I_MI without self-conflicts."""
    positive_degree_nodes: int
    """I_P without self-conflicts: nodes with at least one edge."""
    max_degree: int


class DegreeCounter:
    """Accumulates degrees batch by batch."""

    def __init__(self, node_count: int) -> None:
        self.degrees = np.zeros(node_count, dtype=np.int64)

    def add(self, u: NDArray[np.uint32], v: NDArray[np.uint32]) -> None:
        """Add one batch of edges."""
        from dpdb.graph.kernels.edge_scans import count_degrees

        count_degrees(u, v, self.degrees)

    def summary(self) -> DegreeSummary:
        """Summarize the edges added so far."""
        return DegreeSummary(
            edge_count=int(self.degrees.sum()) // 2,
            positive_degree_nodes=int(np.count_nonzero(self.degrees)),
            max_degree=int(self.degrees.max(initial=0)),
        )


def degrees(edges: OrderedEdges) -> NDArray[np.int64]:
    """Degree of every node, shape `(nodes,)`. The order of the edges does not matter."""
    return _count(edges).degrees


def degree_summary(edges: OrderedEdges) -> DegreeSummary:
    """Count edges, nodes with an edge, and the maximum degree.

    Node sensitivity is `nodes - 1` for the two degree counts, `nodes` for the positive-degree nodes: a new
    node may be adjacent to all others. That is unbounded, so none of them is ever released from here.
    """
    return _count(edges).summary()


def _count(edges: OrderedEdges) -> DegreeCounter:
    counter = DegreeCounter(edges.node_count)
    for u, v in read_batches(edges):
        counter.add(u, v)
    return counter
