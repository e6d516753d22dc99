"""Minimum vertex cover: the repair measure itself (I_R), exact where feasible. For owners and evaluation."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from dpdb.graph.adjacency import Adjacency, adjacency_of
from dpdb.graph.edges import OrderedEdges
from dpdb.graph.exact.weighted_graph import WeightedGraph
from dpdb.graph.fractional_cover import FractionalCover, fractional_cover
from dpdb.graph.grouping import sorted_by

__all__ = ["CoverBounds", "minimum_vertex_cover"]

_MAX_KERNEL_EDGES = 300_000  # of the graph after twins are merged: it is copied to Python sets
_MAX_COMPONENT_EDGES = 50_000  # of one connected integer program

_TOO_LARGE = "what remains after reduction is too large for the exact solver"
_TOO_LONG = "the time limit was reached"


@dataclass(frozen=True)
class CoverBounds:
    """Bounds of the minimum vertex cover size."""

    lower: int
    """At least half of `twice_fractional_cover`, rounded up."""
    upper: int
    """Size of a vertex cover that was found."""
    proved: bool
    """The bounds meet."""
    reason: str | None
    """The reason why they do not."""


def minimum_vertex_cover(edges: OrderedEdges | Adjacency, *, time_limit: float = 10.0) -> CoverBounds:
    """Minimum vertex cover: fewest nodes that touch every edge.

    Half-integral solution, which settles every node of weight 0 or 1 (Nemhauser and Trotter 1975); false
    twins merged into one weighted node; reductions; then an integer program per connected component.
    Sensitivity 1, monotone (a cover without the new node plus that node is a cover); that holds for the
    minimum, not for these bounds, so nothing is released from here.

    Parameters
    ----------
    edges
        The graph; the order of its edges does not matter.
    time_limit
        Seconds for the integer programs. Above it, and above fixed size limits, the bounds are returned as
        they are.
    """
    deadline = time.monotonic() + time_limit
    graph = adjacency_of(edges)
    fractional = fractional_cover(graph)
    lower = -(-fractional.twice_size // 2)
    upper = _rounded_cover_size(graph, fractional)
    if lower == upper:
        return CoverBounds(lower, upper, True, None)
    core_lower, core_upper, reason = _solve_core(graph.induced(np.flatnonzero(fractional.twice_weight == 1)), deadline)
    settled = int(np.count_nonzero(fractional.twice_weight == 2))
    lower = max(lower, settled + core_lower)
    if core_upper is not None:
        upper = min(upper, settled + core_upper)
    proved = lower == upper
    return CoverBounds(lower, upper, proved, None if proved else reason)


def _rounded_cover_size(graph: Adjacency, fractional: FractionalCover) -> int:
    # All but a maximal independent set is a cover without redundant nodes: round, or go by degree.
    degrees = graph.degrees.astype(np.int32)
    orders = sorted_by((degrees, fractional.twice_weight.astype(np.int32))), sorted_by((degrees,))
    independent = (graph.independent_nodes(order.astype(np.int64)) for order in orders)
    return graph.node_count - max(int(np.count_nonzero(chosen)) for chosen in independent)


def _solve_core(core: Adjacency, deadline: float) -> tuple[int, int | None, str | None]:
    # Lower bound, upper bound if there is one, and why they may differ.
    from dpdb.graph.exact.cover_milp import greedy_cover_weight, solve_cover
    from dpdb.graph.exact.cover_reductions import reduce_cover
    from dpdb.graph.twins import false_twin_classes

    representatives, sizes = false_twin_classes(core)
    merged = core.induced(representatives)
    if merged.edge_count > _MAX_KERNEL_EDGES:
        return 0, None, _TOO_LARGE
    graph = WeightedGraph.of_adjacency(merged, sizes.tolist())
    lower = upper = reduce_cover(graph)
    reason = None
    for component in sorted(graph.components(), key=lambda part: part.edge_count):
        remaining = deadline - time.monotonic()
        if component.edge_count > _MAX_COMPONENT_EDGES or remaining <= 0:
            reason = _TOO_LARGE if remaining > 0 else _TOO_LONG
            upper += greedy_cover_weight(component)
            continue
        part_lower, part_upper = solve_cover(component, remaining)
        lower += part_lower
        upper += part_upper
        if part_lower < part_upper:
            reason = _TOO_LONG
    return lower, upper, reason
