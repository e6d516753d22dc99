"""`EdgeGraph`: the statistics of a conflict graph that is given as a stream of ordered edges."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from dpdb.graph.adjacency import Adjacency, adjacency_of
from dpdb.graph.edges import Batch, OrderedEdges, read_batches
from dpdb.graph.fractional_cover import twice_fractional_cover
from dpdb.graph.listed_scans import (
    DegreeSummary,
    ProjectedCounts,
    Projection,
    WitnessCount,
    degree_summary,
    greedy_cover_size,
    projected_counts,
    witness_counts,
)

__all__ = ["EdgeGraph"]


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
        self, projection_thetas: Sequence[int], witness_thetas: Sequence[int]
    ) -> tuple[tuple[ProjectedCounts, ...], tuple[int, ...]]:
        """Compute what all three measures need in one pass, and keep the adjacency for the fractional cover.

        Parameters
        ----------
        projection_thetas, witness_thetas
            See `projected_counts` and `witness_counts`, whose results are returned.
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
            if "adjacency" not in self.__dict__:
                kept.append((u, v))
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
