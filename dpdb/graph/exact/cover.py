"""Minimum vertex cover: the repair measure itself (I_R), exact where feasible. For owners and evaluation."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpdb.graph.adjacency import Adjacency, adjacency_of
from dpdb.graph.edges import OrderedEdges
from dpdb.graph.exact.reductions import WeightedGraph
from dpdb.graph.fractional_cover import FractionalCover, fractional_cover
from dpdb.graph.grouping import sorted_by
from dpdb.graph.programs import CoverProgram
from dpdb.graph.solver import solve

__all__ = [
    "CoverBounds",
    "greedy_cover",
    "minimum_vertex_cover",
    "solve_cover",
]


def solve_cover(graph: WeightedGraph, time_limit: float) -> tuple[int, set[int]]:
    """Return a lower bound of the minimum cover weight, and a cover, of that weight if solved in time.

    Every edge lies in a clique C of the model, whose constraint `sum of x over C >= |C| - 1` is much stronger than its
    edges' constraints.
    """
    nodes = list(graph.neighbours)
    index = {node: i for i, node in enumerate(nodes)}
    cliques = _clique_edge_cover(graph)
    program = CoverProgram(
        weight=np.array([graph.weight[node] for node in nodes], dtype=np.float64),
        members=np.array([index[node] for clique in cliques for node in clique]),
        sizes=np.array([len(clique) for clique in cliques]),
    )
    found = solve(program, max(time_limit, 0.01))
    best = greedy_cover(graph)
    if found.x is not None:
        cover = {node for node, x in zip(nodes, found.x, strict=True) if x > 0.5}
        if _is_cover(graph, cover):
            best = min(cover, best, key=graph.weight_of)
    bound = found.lower
    lower = math.ceil(bound - 1e-6) if bound is not None and math.isfinite(bound) else 0
    return min(lower, graph.weight_of(best)), best


def greedy_cover(graph: WeightedGraph) -> set[int]:
    """Return a cover without redundant nodes: all but an independent set of low weighted degree."""
    independent: set[int] = set()
    for node in sorted(graph.neighbours, key=lambda x: (len(graph.neighbours[x]) / graph.weight[x], x)):
        if independent.isdisjoint(graph.neighbours[node]):
            independent.add(node)
    return set(graph.neighbours) - independent


def _clique_edge_cover(graph: WeightedGraph) -> list[list[int]]:
    # Maximal cliques, grown greedily, that together contain every edge.
    uncovered = {node: {other for other in near if other > node} for node, near in graph.neighbours.items()}
    cliques = []
    for node, pending in uncovered.items():
        while pending:
            clique = [node, min(pending)]
            common = graph.neighbours[clique[0]] & graph.neighbours[clique[1]]
            while common:
                fresh = common & pending
                clique.append(min(fresh or common))
                common &= graph.neighbours[clique[-1]]
            clique.sort()
            for i, member in enumerate(clique):
                uncovered[member].difference_update(clique[i + 1 :])
            cliques.append(clique)
    return cliques


def _is_cover(graph: WeightedGraph, cover: set[int]) -> bool:
    return all(node in cover or near <= cover for node, near in graph.neighbours.items())


_MAX_KERNEL_EDGES = 300_000  # of the graph after twins are merged: it is copied to Python sets
_MAX_COMPONENT_EDGES = 50_000  # of one connected integer program

_TOO_LARGE = "what remains after reduction is too large for the exact solver"
_TOO_LONG = "the time limit was reached"


@dataclass(frozen=True)
class CoverBounds:
    """Bounds of the minimum vertex cover size, and a cover."""

    lower: int
    """At least half of `twice_fractional_cover`, rounded up."""
    upper: int
    """Size of `cover`."""
    proved: bool
    """The bounds meet."""
    reason: str | None
    """The reason why they do not."""
    cover: NDArray[np.bool_] = field(compare=False, repr=False)
    """For each node whether it is in the cover; the cover is minimal: no node can be left out."""


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
    independent = _rounded(graph, fractional)
    if lower == _cover_size(independent):
        return CoverBounds(lower, lower, True, None, ~independent)
    core_nodes = np.flatnonzero(fractional.twice_weight == 1)
    core_lower, core_independent, reason = _solve_core(graph.induced(core_nodes), deadline)
    lower = max(lower, int(np.count_nonzero(fractional.twice_weight == 2)) + core_lower)
    if core_independent is not None:
        # All neighbours of a node of weight 0 have weight 1, so these and the core's are independent together.
        free = np.flatnonzero(fractional.twice_weight == 0)
        first = np.concatenate([free, core_nodes[core_independent]])
        found = graph.independent_nodes(np.concatenate([first, np.setdiff1d(np.arange(graph.node_count), first)]))
        independent = min(independent, found, key=_cover_size)
    upper = _cover_size(independent)
    proved = lower == upper
    return CoverBounds(lower, upper, proved, None if proved else reason, ~independent)


def _cover_size(independent: NDArray[np.bool_]) -> int:
    return int(np.count_nonzero(~independent))


def _rounded(graph: Adjacency, fractional: FractionalCover) -> NDArray[np.bool_]:
    """Return a maximal independent set; all other nodes are a cover. Round, or go by degree."""
    degrees = graph.degrees.astype(np.int32)
    orders = sorted_by((degrees, fractional.twice_weight.astype(np.int32))), sorted_by((degrees,))
    return min((graph.independent_nodes(order.astype(np.int64)) for order in orders), key=_cover_size)


def _solve_core(core: Adjacency, deadline: float) -> tuple[int, NDArray[np.int64] | None, str | None]:
    """Return a lower bound, an independent set of representatives of twins if one was found, and why it is not optimal.

    Twins have the same neighbours, so a maximal independent set has all of a class or none.
    """
    from dpdb.graph.adjacency import false_twin_classes
    from dpdb.graph.exact.reductions import reduce_cover

    representatives, sizes = false_twin_classes(core)
    merged = core.induced(representatives)
    if merged.edge_count > _MAX_KERNEL_EDGES:
        return 0, None, _TOO_LARGE
    graph = WeightedGraph.of_adjacency(merged, sizes.tolist())
    reduced = reduce_cover(graph)
    lower = reduced.paid
    cover: set[int] = set()
    reason = None
    for component in sorted(graph.components(), key=lambda part: part.edge_count):
        remaining = deadline - time.monotonic()
        if component.edge_count > _MAX_COMPONENT_EDGES or remaining <= 0:
            reason = _TOO_LARGE if remaining > 0 else _TOO_LONG
            cover |= greedy_cover(component)
            continue
        part_lower, part_cover = solve_cover(component, remaining)
        lower += part_lower
        cover |= part_cover
        if part_lower < component.weight_of(part_cover):
            reason = _TOO_LONG
    kept = np.setdiff1d(np.arange(merged.node_count), np.fromiter(reduced.completed(cover), np.int64))
    return lower, representatives[kept].astype(np.int64), reason
