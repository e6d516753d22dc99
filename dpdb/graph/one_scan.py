"""Several statistics of one graph from a single pass over its edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpdb.graph.adjacency import Adjacency
from dpdb.graph.degrees import DegreeCounter, DegreeSummary
from dpdb.graph.edges import Batch, OrderedEdges, read_batches
from dpdb.graph.projection import ProjectedCounts, Projection
from dpdb.graph.witness import WitnessCount

__all__ = ["ScanResult", "scan"]


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
