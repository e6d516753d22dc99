"""The query graph (paper B, section 5): an edge between two rows that overlap, attribute by attribute."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpdb.overlap.reductions import Problem

__all__ = ["components", "overlap_graph"]

MOST_DENSE_ATOMS = 20_000
"""Up to here a matrix product finds the overlapping pairs of an attribute; beyond, bits are faster."""


def overlap_graph(problem: Problem) -> NDArray[np.bool_]:
    """Adjacency matrix: True where two different rows share a point (Proposition 3).

    Small attributes first; when few pairs are left undecided, only those are compared.
    """
    size = problem.size
    graph = np.ones((size, size), bool)
    pairs: tuple[NDArray[np.intp], NDArray[np.intp]] | None = None
    packed, starts = problem.bits
    for family, start in zip(problem.families, starts, strict=True):
        end = start + -(-len(family.atoms) // 8)
        if pairs is None and np.count_nonzero(graph) * int(end - start) < 4 * len(family.users) ** 2:
            one, two = np.nonzero(np.triu(graph, 1))
            pairs = one, two
        if pairs is None and len(family.atoms) > MOST_DENSE_ATOMS:
            for row in family.users.tolist():
                graph[row, family.users] &= (packed[family.users, start:end] & packed[row, start:end]).any(axis=1)
        elif pairs is None:
            table = family.member.T.astype(np.float32)
            graph[np.ix_(family.users, family.users)] &= (table @ table.T) > 0
        else:
            block = np.ascontiguousarray(packed[:, start:end])
            meets = (block[pairs[0]] & block[pairs[1]]).any(axis=1)
            pairs = (pairs[0][meets], pairs[1][meets])
    if pairs is not None:
        graph = np.zeros((size, size), bool)
        graph[pairs] = True
        graph |= graph.T
    np.fill_diagonal(graph, False)
    return graph


def components(graph: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
    """Connected components as ascending row indices: no point is covered by rows of two of them."""
    left = np.ones(len(graph), bool)
    found = []
    while left.any():
        reached = np.zeros(len(graph), bool)
        frontier = np.array([int(left.argmax())])
        reached[frontier] = True
        while len(frontier):
            near = graph[frontier].any(axis=0) & ~reached
            frontier = np.flatnonzero(near)
            reached |= near
        left &= ~reached
        found.append(np.flatnonzero(reached))
    return found
