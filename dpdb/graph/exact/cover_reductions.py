"""Reductions that keep the weight of a minimum weighted vertex cover up to a known constant."""

from __future__ import annotations

from dpdb.graph.exact.weighted_graph import WeightedGraph

__all__ = ["reduce_cover"]

_MAX_DEGREE = 32  # domination is tried at nodes with at most so many neighbours


def reduce_cover(graph: WeightedGraph) -> int:
    """Shrink `graph` in place; return what its minimum cover weighs less than before.

    Rules: a node without neighbours is left out; a leaf lighter than its neighbour is charged at once and its
    weight taken off the neighbour; if all neighbours of u except v are neighbours of v, and v is no heavier
    than u, some minimum cover contains v (a cover without v contains u and all neighbours of v: swap u for
    v).
    """
    paid = 0
    waiting = set(graph.neighbours)
    while waiting:
        node = waiting.pop()
        near = graph.neighbours.get(node)
        if near is None:
            continue
        if not near:
            graph.remove(node)
            continue
        taken = _dominating(graph, node)
        if taken is not None:
            paid += graph.weight[taken]
            waiting |= graph.remove(taken)
        elif len(near) == 1:
            (neighbour,) = near
            paid += graph.weight[node]
            graph.weight[neighbour] -= graph.weight[node]
            graph.remove(node)
            waiting |= {neighbour} | graph.neighbours[neighbour]
    return paid


def _dominating(graph: WeightedGraph, node: int) -> int | None:
    near = graph.neighbours[node]
    if len(near) > _MAX_DEGREE:
        return None
    for other in sorted(near):
        beyond = len(near) - 1
        if graph.weight[other] <= graph.weight[node] and len(near & graph.neighbours[other]) == beyond:
            return other
    return None
