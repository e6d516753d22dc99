"""A small graph with integer node weights, for exact searches in pure Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dpdb.graph.adjacency import Adjacency

__all__ = ["WeightedGraph"]


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
