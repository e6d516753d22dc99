"""`EdgeGraph`: the statistics of a conflict graph that is given as a stream of ordered edges."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from dpdb.graph.adjacency import Adjacency, adjacency_of
from dpdb.graph.degrees import DegreeSummary, degree_summary
from dpdb.graph.edges import OrderedEdges
from dpdb.graph.fractional_cover import twice_fractional_cover
from dpdb.graph.one_scan import ScanResult, scan
from dpdb.graph.projection import ProjectedCounts, greedy_cover_size, projected_counts
from dpdb.graph.witness import witness_counts

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

    def scan(self, projection_thetas: Sequence[int], witness_thetas: Sequence[int]) -> ScanResult:
        """Compute what all three measures need in one pass, and keep the adjacency for the fractional cover."""
        result = scan(
            self._edges,
            projection_thetas=projection_thetas,
            witness_thetas=witness_thetas,
            keep_adjacency="adjacency" not in self.__dict__,
        )
        if result.adjacency is not None:
            self.__dict__["adjacency"] = result.adjacency
        return result

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
