"""Reductions that keep the weight of a minimum weighted vertex cover up to a known constant."""

from __future__ import annotations

from dataclasses import dataclass, field

from dpdb.graph.exact.weighted_graph import WeightedGraph

__all__ = ["Reduced", "reduce_cover"]

_MAX_DEGREE = 32  # domination is tried at nodes with at most so many neighbours


@dataclass
class Reduced:
    """The steps of a reduction, which turn a cover of what is left into one of the whole graph."""

    paid: int = 0
    """The minimum cover of what is left weighs so much less."""
    taken: set[int] = field(default_factory=set)
    """Nodes of some minimum cover."""
    leaves: list[tuple[int, int]] = field(default_factory=list)
    """(leaf, neighbour), in the order of the steps: the leaf is in the cover if and only if its neighbour is not."""

    def completed(self, cover: set[int]) -> set[int]:
        """Return a cover of the whole graph, heavier by `paid`."""
        whole = cover | self.taken
        for leaf, neighbour in reversed(self.leaves):
            if neighbour not in whole:
                whole.add(leaf)
        return whole


def reduce_cover(graph: WeightedGraph) -> Reduced:
    """Shrink `graph` in place; return what was done.

    Rules: a node without neighbours is left out; a leaf lighter than its neighbour is charged at once and its
    weight taken off the neighbour; if all neighbours of u except v are neighbours of v, and v is no heavier
    than u, some minimum cover contains v (a cover without v contains u and all neighbours of v: swap u for
    v).
    """
    reduced = Reduced()
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
            reduced.paid += graph.weight[taken]
            reduced.taken.add(taken)
            waiting |= graph.remove(taken)
        elif len(near) == 1:
            (neighbour,) = near
            reduced.paid += graph.weight[node]
            reduced.leaves.append((node, neighbour))
            graph.weight[neighbour] -= graph.weight[node]
            graph.remove(node)
            waiting |= {neighbour} | graph.neighbours[neighbour]
    return reduced


def _dominating(graph: WeightedGraph, node: int) -> int | None:
    near = graph.neighbours[node]
    if len(near) > _MAX_DEGREE:
        return None
    for other in sorted(near):
        beyond = len(near) - 1
        if graph.weight[other] <= graph.weight[node] and len(near & graph.neighbours[other]) == beyond:
            return other
    return None
