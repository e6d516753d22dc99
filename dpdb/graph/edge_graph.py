"""`EdgeGraph`: the statistics of a conflict graph that is given as a stream of ordered edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from dpdb.graph.adjacency import Adjacency, adjacency_of
from dpdb.graph.edges import Batch, OrderedEdges, read_batches
from dpdb.graph.fractional_cover import twice_fractional_cover
from dpdb.graph.listed_scans import (
    DegreeCounter,
    DegreeSummary,
    ProjectedCounts,
    Projection,
    WitnessCount,
    degree_summary,
    greedy_cover_size,
    projected_counts,
    witness_counts,
)

__all__ = [
    "EdgeGraph",
    "ScanResult",
    "scan",
]


@dataclass(frozen=True, eq=False)
class ScanResult:
    """The results of one pass; those not requested are empty or None. Sensitivities: see each statistic."""

    projections: tuple[ProjectedCounts, ...]
    witnesses: tuple[int, ...]
    degrees: DegreeSummary | None
    adjacency: Adjacency | None


def scan(
    edges: OrderedEdges,
    *,
    projection_thetas: Sequence[int] = (),
    witness_thetas: Sequence[int] = (),
    degrees: bool = False,
    keep_adjacency: bool = False,
) -> ScanResult:
    """Compute the requested statistics in one pass.

    Parameters
    ----------
    edges
        The graph, in canonical order.
    projection_thetas, witness_thetas
        See `projected_counts` and `witness_counts`.
    degrees
        Also compute `degree_summary`.
    keep_adjacency
        Also keep the graph in memory (16 bytes per edge while building), for `fractional_cover` and others.

    Raises
    ------
    ParameterError
        A theta is not an integer or is below 1.
    """
    nodes = edges.node_count
    projection = Projection(nodes, projection_thetas)
    witness = WitnessCount(nodes, witness_thetas)
    counter = DegreeCounter(nodes)
    kept: list[Batch] = []
    for u, v in read_batches(edges):
        if projection_thetas:
            projection.add(u, v)
        if witness_thetas:
            witness.add(u, v)
        if degrees:
            counter.add(u, v)
        if keep_adjacency:
            kept.append((u, v))
    return ScanResult(
        projections=projection.counts(),
        witnesses=witness.counts(),
        degrees=counter.summary() if degrees else None,
        adjacency=Adjacency.of_batches(nodes, kept) if keep_adjacency else None,
    )


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
