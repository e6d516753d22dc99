"""False twins: nodes with the same neighbours, such as equal rows in a group that violates an FD."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpdb.graph.adjacency import Adjacency

__all__ = ["false_twin_classes"]


def false_twin_classes(graph: Adjacency) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the classes of nodes with equal neighbour sets.

    Returns
    -------
    representatives
        One node of every class, ascending, shape `(classes,)`.
    sizes
        Number of nodes in every class, shape `(classes,)`.
    """
    lists = graph.sorted()
    class_of: dict[bytes, int] = {}
    representatives: list[int] = []
    sizes: list[int] = []
    for node in range(graph.node_count):
        found = class_of.setdefault(lists.neighbours_of(node).tobytes(), len(sizes))
        if found == len(sizes):
            representatives.append(node)
            sizes.append(0)
        sizes[found] += 1
    return np.array(representatives, dtype=np.int64), np.array(sizes, dtype=np.int64)
