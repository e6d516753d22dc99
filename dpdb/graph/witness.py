"""Witness count W_theta: how many nodes find a neighbour that vouches for their being in a conflict.

Each node may vouch for theta others. New here (PRIVACY.md); the statistic behind the default `problematic`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpdb.graph.edges import OrderedEdges, read_batches
from dpdb.graph.steps import ranges
from dpdb.graph.thetas import bounded_theta, check_thetas

__all__ = ["WitnessCount", "witness_counts"]


class WitnessCount:
    """Witness counts for every theta, built batch by batch in canonical order."""

    def __init__(self, node_count: int, thetas: Sequence[int]) -> None:
        self._node_count, self._thetas = node_count, check_thetas(thetas)
        bounds = {bounded_theta(theta, node_count) for theta in self._thetas}
        self._covers = {theta: np.zeros(node_count, np.uint32) for theta in sorted(bounds)}
        self._covered = {theta: np.zeros(node_count, np.bool_) for theta in self._covers}

    def add(self, u: NDArray[np.uint32], v: NDArray[np.uint32]) -> None:
        """Add one batch of edges, in order."""
        from dpdb.graph.kernels.edge_scans import witness

        for first, last in ranges(len(u), len(self._covers)):
            for theta, covers in self._covers.items():
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
