"""Edge-addition projection pi_theta (paper A, Algorithm 1; Day, Li and Lyu, SIGMOD 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpdb.graph.edges import OrderedEdges, read_batches
from dpdb.graph.steps import ranges
from dpdb.graph.thetas import bounded_theta, check_thetas

__all__ = ["ProjectedCounts", "Projection", "greedy_cover_size", "projected_counts"]


@dataclass(frozen=True)
class ProjectedCounts:
    """Counts of the projection of a conflict graph to maximum degree theta."""

    theta: int
    edge_count: int
    """Node sensitivity theta, monotone."""
    positive_degree_nodes: int
    """Node sensitivity theta + 1, not monotone (paper A's Lemma 1 says theta, which is false)."""


class Projection:
    """Projections to every theta, built batch by batch in canonical order."""

    def __init__(self, node_count: int, thetas: Sequence[int]) -> None:
        self._node_count, self._thetas = node_count, check_thetas(thetas)
        bounds = {bounded_theta(theta, node_count) for theta in self._thetas}
        self._degrees = {theta: np.zeros(node_count, np.uint32) for theta in sorted(bounds)}

    def add(self, u: NDArray[np.uint32], v: NDArray[np.uint32]) -> None:
        """Add one batch of edges, in order."""
        from dpdb.graph.kernels.edge_scans import project

        for first, last in ranges(len(u), len(self._degrees)):
            for theta, degree in self._degrees.items():
                project(u[first:last], v[first:last], theta, degree)

    def counts(self) -> tuple[ProjectedCounts, ...]:
        """Count the projections of the edges added so far, one entry per given theta."""
        found = {
            theta: (int(degree.sum(dtype=np.int64)) // 2, int(np.count_nonzero(degree)))
            for theta, degree in self._degrees.items()
        }
        return tuple(ProjectedCounts(each, *found[bounded_theta(each, self._node_count)]) for each in self._thetas)


def projected_counts(edges: OrderedEdges, thetas: Sequence[int]) -> tuple[ProjectedCounts, ...]:
    """Project the graph to every theta and count, in one pass: keep (u, v) iff both degrees are below theta.

    Sensitivity: let a node x arrive. The kept sets differ by at most theta alternating paths (added, dropped,
    added, ...), each starting with an edge at x, since dropping or adding an edge frees or fills one place
    at its far end. A path adds as many edges as it drops, or one more: edges change by [0, theta]. Inner
    nodes keep their degree, only x and the far ends change: positive-degree nodes change by
    [-(theta - 1), theta + 1]. A hub arriving on theta isolated nodes attains theta + 1.

    Edges never fall as theta grows: room for one more edge at one node is likewise one alternating path from there,
    which adds as many edges as it drops, or one more.

    Parameters
    ----------
    edges
        The graph, in canonical order (the order matters).
    thetas
        Degree bounds, at least 1, in any order, duplicates allowed, of any size.

    Returns
    -------
    tuple of ProjectedCounts
        One per theta, in the order of `thetas`.

    Raises
    ------
    ParameterError
        A theta is not an integer or is below 1.
    """
    projection = Projection(edges.node_count, thetas)
    if thetas:
        for u, v in read_batches(edges):
            projection.add(u, v)
    return projection.counts()


def greedy_cover_size(edges: OrderedEdges) -> int:
    """Size of the vertex cover that takes both ends of every edge not yet covered, in canonical order.

    These edges are the projection at theta = 1 (paper A, Algorithm 5, without its noise). At least the minimum vertex
    cover and at most twice it. Sensitivity 2, monotone (change 0 or 2; Proposition 3): twice an edge count whose change
    is in [0, 1].
    """
    return 2 * projected_counts(edges, [1])[0].edge_count
