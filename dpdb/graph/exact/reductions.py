"""A small graph with integer node weights, for exact searches in pure Python, and reductions of it.

Reductions of weighted graphs: one keeps the minimum weighted vertex cover, one counts maximal independent sets.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from dpdb.graph.adjacency import Adjacency

__all__ = ["Reduced", "WeightedGraph", "merge_twins", "reduce_cover"]


@dataclass(eq=False)
class WeightedGraph:
    """Neighbour sets and weights by node; nodes may be removed."""

    neighbours: dict[int, set[int]]
    weight: dict[int, int]

    @classmethod
    def of_adjacency(cls, graph: Adjacency, weights: list[int]) -> WeightedGraph:
        """Copy `graph`; `weights[node]` is the weight of a node."""
        neighbours = {node: set(graph.neighbours_of(node).tolist()) for node in range(graph.node_count)}
        return cls(neighbours, dict(enumerate(weights)))

    @property
    def edge_count(self) -> int:
        """Number of edges."""
        return sum(map(len, self.neighbours.values())) // 2

    def weight_of(self, nodes: set[int]) -> int:
        """Return the sum of the weights of some nodes."""
        return sum(self.weight[node] for node in nodes)

    def remove(self, node: int) -> set[int]:
        """Remove a node and return its neighbours."""
        del self.weight[node]
        near = self.neighbours.pop(node)
        for other in near:
            self.neighbours[other].discard(node)
        return near

    def components(self) -> Iterator[WeightedGraph]:
        """Split into connected components (sharing the neighbour sets)."""
        unseen = set(self.neighbours)
        while unseen:
            start = unseen.pop()
            members, frontier = [start], [start]
            while frontier:
                found = self.neighbours[frontier.pop()] & unseen
                unseen -= found
                members.extend(found)
                frontier.extend(found)
            members.sort()
            yield WeightedGraph(
                {node: self.neighbours[node] for node in members},
                {node: self.weight[node] for node in members},
            )


_MAX_DEGREE = 32  # domination is tried at nodes with at most this many neighbours


@dataclass
class Reduced:
    """The steps of a reduction, which turn a cover of the reduced graph into one of the whole graph."""

    paid: int = 0
    """The weight by which the minimum cover of the reduced graph is lighter."""
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
    """Shrink `graph` in place, its minimum cover lighter by a known weight; return the steps.

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


def merge_twins(graph: WeightedGraph) -> None:
    """Merge twins in place until none are left.

    The weight of a node is the number of maximal independent choices it stands for. False twins (same
    neighbours, not adjacent) are in together or out together: weights multiply. True twins (adjacent,
    otherwise same neighbours) replace one another: weights add up. So the sum over maximal independent sets
    of the product of weights stays. A graph without an induced path on four nodes (a cograph) shrinks to single nodes.
    """
    mark = {node: _mark(node) for node in graph.neighbours}
    open_key = {node: _combined(mark, near) for node, near in graph.neighbours.items()}
    owner: dict[int, int] = {}  # key of an open or closed neighbourhood -> a node that had it
    waiting = list(graph.neighbours)
    while waiting:
        node = waiting.pop()
        if node not in graph.neighbours:
            continue
        for true_twins in (False, True):
            key = open_key[node] ^ (mark[node] if true_twins else 0)
            twin = owner.get(key)
            if twin is None or twin == node or not _are_twins(graph, node, twin):
                owner[key] = node
                continue
            if true_twins:
                graph.weight[twin] += graph.weight[node]
            else:
                graph.weight[twin] *= graph.weight[node]
            for other in graph.remove(node):
                open_key[other] ^= mark[node]
                waiting.append(other)
            waiting.append(twin)
            break


def _mark(node: int) -> int:
    # Fixed, well-mixed bits: equal sets have equal keys, and candidates are compared in full.
    return int.from_bytes(hashlib.blake2b(node.to_bytes(8, "big"), digest_size=16).digest(), "big")


def _combined(mark: dict[int, int], nodes: set[int]) -> int:
    key = 0
    for node in nodes:
        key ^= mark[node]
    return key


def _are_twins(graph: WeightedGraph, node: int, other: int) -> bool:
    if other not in graph.neighbours:
        return False
    return graph.neighbours[node] - {other} == graph.neighbours[other] - {node}
