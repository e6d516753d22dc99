"""`ListedConstraint`: a constraint without blocks in a graph of blocks, the only kind whose conflicts are listed.

To the scans it looks like a block constraint in which each row is alone in its group and of the majority, and its
neighbours are the minority: what they enumerate from a majority row is then its list.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpdb.graph.adjacency import Adjacency, adjacency_of
from dpdb.graph.edges import OrderedEdges

__all__ = ["ListedConstraint", "by_edges"]

Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class ListedConstraint:
    """The conflicts of one constraint that violate none before it.

    Attributes
    ----------
    near : Adjacency
        With sorted lists.
    ordered, both, group, group_count, x, y, minority
        As of a `BlockConstraint`. All rows differ in x, so that listed pairs are in conflict.
    """

    near: Adjacency
    ordered = False
    both = False

    @cached_property
    def group(self) -> Codes:
        """Numbers of the rows that have neighbours."""
        connected = self.near.degrees > 0
        return np.where(connected, np.cumsum(connected) - 1, -1).astype(np.int32)

    @property
    def group_count(self) -> int:
        """Number of rows that have neighbours."""
        return int(self.group.max(initial=-1)) + 1

    @cached_property
    def x(self) -> Codes:
        """Each row is a class of its own."""
        return np.arange(self.near.node_count, dtype=np.int32)

    @property
    def y(self) -> Codes:
        """As x."""
        return self.x

    @cached_property
    def minority(self) -> NDArray[np.bool_]:
        """No row."""
        return np.zeros(self.near.node_count, np.bool_)

    @cached_property
    def pairs(self) -> NDArray[np.int64]:
        """The conflicts (u, v), u < v, each as one number `u * rows + v`, ascending."""
        count = self.near.node_count
        first = np.repeat(np.arange(count, dtype=np.int64), self.near.degrees)
        second = self.near.neighbours.astype(np.int64)
        ascending = first < second
        return np.asarray(first[ascending] * count + second[ascending])

    def uncovered(self, covered: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Choose rows so that each conflict has a row among them or among the covered ones.

        Of the other rows those of fewest conflicts are left out first, as long as no two of them are in conflict.
        """
        degrees = self.near.degrees
        order = np.flatnonzero(~covered & (degrees > 0))
        order = order[np.argsort(degrees[order], kind="stable")]
        chosen = ~self.near.independent_nodes(order)
        chosen[covered | (degrees == 0)] = False
        return chosen


def by_edges(edges: OrderedEdges) -> ListedConstraint:
    """Build from the conflicts of a constraint that violate none before it; their order does not matter."""
    return ListedConstraint(adjacency_of(edges).sorted())
