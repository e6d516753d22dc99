"""Statistics of listed edges by one ordered scan: degrees, projections and witness counts.

Edge-addition projection pi_theta: paper A, Algorithm 1; Day, Li and Lyu, SIGMOD 2016. Witness count W_theta: how many
nodes find a neighbour that vouches for their being in a conflict, where each may vouch for theta others; new here
(PRIVACY.md), the statistic behind the default `problematic`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpdb.graph.edges import OrderedEdges, read_batches
from dpdb.graph.steps import ranges
from dpdb.graph.thetas import bounded_theta, check_thetas

__all__ = [
    "DegreeCounter",
    "DegreeSummary",
    "ProjectedCounts",
    "Projection",
    "WitnessCount",
    "counted_degrees",
    "degree_summary",
    "greedy_cover_size",
    "projected_counts",
    "witness_counts",
]


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


def degree_summary(edges: OrderedEdges) -> DegreeSummary:
    """Count edges, nodes with an edge, and the maximum degree.

    Node sensitivity is `nodes - 1` for the two degree counts, `nodes` for the positive-degree nodes: a new
    node may be adjacent to all others. That is unbounded, so none of them is ever released from here.
    """
    return counted_degrees(edges).summary()


def counted_degrees(edges: OrderedEdges) -> DegreeCounter:
    """Count the degrees in one pass; the order of the edges does not matter."""
    counter = DegreeCounter(edges.node_count)
    for u, v in read_batches(edges):
        counter.add(u, v)
    return counter


@dataclass(frozen=True)
class ProjectedCounts:
    """Counts of the projection of a conflict graph to maximum degree theta."""

    theta: int
    edge_count: int
    """Node sensitivity theta, monotone."""
    positive_degree_nodes: int
    """Node sensitivity theta + 1, not monotone (paper A's Lemma 1 says theta, which is false)."""


class _ByTheta:
    """One number per node for each theta, counted batch by batch in canonical order."""

    def __init__(self, node_count: int, thetas: Sequence[int]) -> None:
        self._node_count, self._thetas = node_count, check_thetas(thetas)
        bounds = {bounded_theta(theta, node_count) for theta in self._thetas}
        self._numbers = {theta: np.zeros(node_count, np.uint32) for theta in sorted(bounds)}


class Projection(_ByTheta):
    """Projections to every theta: the degrees of the nodes in each."""

    def add(self, u: NDArray[np.uint32], v: NDArray[np.uint32]) -> None:
        """Add one batch of edges, in order."""
        from dpdb.graph.kernels.edge_scans import project

        for first, last in ranges(len(u), len(self._numbers)):
            for theta, degree in self._numbers.items():
                project(u[first:last], v[first:last], theta, degree)

    def counts(self) -> tuple[ProjectedCounts, ...]:
        """Count the projections of the edges added so far, one entry per given theta."""
        found = {
            theta: (int(degree.sum(dtype=np.int64)) // 2, int(np.count_nonzero(degree)))
            for theta, degree in self._numbers.items()
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


class WitnessCount(_ByTheta):
    """Witness counts for every theta: how many others each node covers, and which nodes are covered."""

    def __init__(self, node_count: int, thetas: Sequence[int]) -> None:
        super().__init__(node_count, thetas)
        self._covered = {theta: np.zeros(node_count, np.bool_) for theta in self._numbers}

    def add(self, u: NDArray[np.uint32], v: NDArray[np.uint32]) -> None:
        """Add one batch of edges, in order."""
        from dpdb.graph.kernels.edge_scans import witness

        for first, last in ranges(len(u), len(self._numbers)):
            for theta, covers in self._numbers.items():
                witness(u[first:last], v[first:last], theta, covers, self._covered[theta])

    def counts(self) -> tuple[int, ...]:
        """Count covered nodes among the edges added so far, one entry per given theta."""
        found = {theta: int(np.count_nonzero(covered)) for theta, covered in self._covered.items()}
        return tuple(found[bounded_theta(each, self._node_count)] for each in self._thetas)


def witness_counts(edges: OrderedEdges, thetas: Sequence[int]) -> tuple[int, ...]:
    """Witness count W_theta for every theta, in one pass.

    For each edge (u, v) in canonical order: if v is uncovered and u covers fewer than theta nodes, u covers
    v; then the same with the roles exchanged. W_theta is the number of covered nodes; it equals the number of
    positive-degree nodes once theta reaches the maximum degree.

    Sensitivity theta + 1, monotone (change in [0, theta + 1]): this is a greedy matching in a fixed order
    between nodes and theta copies of every node, and one new vertex of a bipartite graph changes a greedy
    matching by one alternating path, 0 or +1; a new row brings 1 + theta vertices.

    Parameters
    ----------
    edges
        The graph, in canonical order.
    thetas
        Capacities, at least 1, in any order, duplicates allowed, of any size.

    Returns
    -------
    tuple of int
        One count per theta, in the order of `thetas`.

    Raises
    ------
    ParameterError
        A theta is not an integer or is below 1.
    """
    count = WitnessCount(edges.node_count, thetas)
    if thetas:
        for u, v in read_batches(edges):
            count.add(u, v)
    return count.counts()
