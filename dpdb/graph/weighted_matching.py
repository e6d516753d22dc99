"""A matching of greatest weight of a bipartite graph, in whole numbers.

By linear programming duality it weighs as much as the least sum of duals, one of each node and none below 0, such that
those of the two ends of every edge are together at least its weight. Left nodes come one at a time. One more begins
with the least dual that its edges allow, and is matched along a shortest path in what edges have left over, to a right
node that is free, or to a left node that becomes free where that costs less. Then the duals on the way change as far as
the path is long, so that every edge of the matching is tight and every node without partner has the dual 0: both weigh
the same, and so each is best. Nothing is rounded: all numbers are sums and differences of weights.

Source
------
Kuhn (1955); by shortest paths Edmonds and Karp (1972), Galil (1986); of equal weights Hopcroft and Karp (1973).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["greatest_matching", "load_greatest_matching"]

Numbers = NDArray[np.int64]

_AT_ONCE = 100_000
"""Left nodes between two moments at which Ctrl-C is heard."""


def greatest_matching(left: Numbers, right: Numbers, weights: Numbers) -> int:
    """Return the weight of a matching of greatest weight. Private.

    Its time depends on the weights, its value does not depend on how it is found.

    Memory is in proportion to the edges, about 80 bytes for each that shares a node with another one.

    Parameters
    ----------
    left, right
        The nodes of each edge, from 0 on each side, or -1 for one of its own. No two edges have the same two nodes.
    weights
        1 or more; their sum is below 2**61.
    """
    left, right = _with_own(left), _with_own(right)
    alone = (np.bincount(left)[left] == 1) & (np.bincount(right)[right] == 1) if left.size else np.zeros(0, np.bool_)
    total = int(weights[alone].sum())
    left, right, weights = _numbered(left[~alone]), _numbered(right[~alone]), weights[~alone]
    if left.size:
        total += _largest(left, right) if weights.max() == 1 else _heaviest(left, right, weights)
    return total


def _largest(left: Numbers, right: Numbers) -> int:
    """Where all edges weigh 1, Hopcroft and Karp's way is faster in the worst case."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    graph = csr_array((np.ones(left.size, np.int8), (left, right)))
    return int(np.count_nonzero(maximum_bipartite_matching(graph, perm_type="column") >= 0))


def _heaviest(left: Numbers, right: Numbers, weights: Numbers) -> int:
    from dpdb.graph.kernels.weighted_matching import extend_matching

    order = np.argsort(left, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(left))])
    rights = int(right.max()) + 1
    lefts = starts.size - 1
    prices, mates = np.zeros(lefts, np.int64), np.full(lefts, -1, np.int64)
    values, holders = np.zeros(rights, np.int64), np.full(rights, -1, np.int64)
    reached = np.full(rights, 2**62, np.int64)
    parents, seen, passed = (np.zeros(rights, np.int64) for _ in range(3))
    heap = np.zeros(2 * (left.size + 1), np.int64)
    ends, weighed = right[order], weights[order]
    for first in range(0, lefts, _AT_ONCE):
        last = min(first + _AT_ONCE, lefts)
        extend_matching(
            first, last, starts, ends, weighed, prices, mates, values, holders, reached, parents, seen, passed, heap
        )
    return int(prices.sum() + values.sum())


@cache
def load_greatest_matching() -> None:
    """Load its kernel, and scipy, before anything is spent."""
    for weight in (1, 2):
        greatest_matching(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([1, 1, weight]))


def _with_own(nodes: Numbers) -> Numbers:
    own = nodes < 0
    return np.where(own, int(nodes.max(initial=-1)) + np.cumsum(own), nodes)


def _numbered(nodes: Numbers) -> Numbers:
    """Number nodes anew, so that none is without an edge."""
    there = np.zeros(int(nodes.max(initial=-1)) + 1, np.int64)
    there[nodes] = 1
    return (np.cumsum(there) - 1)[nodes]
