"""Fewest rows to delete, exact: under one order constraint and its like from one sort, else by the heaviest matching.

From one sort the sensitivity is 1. A minimum vertex cover grows by 0 or 1 with one more row, whatever the graph. Here
it is the number of rows less that of a largest set without conflict, in O(n log n), where listing the conflicts is
quadratic.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Batches: TypeAlias = Iterable[tuple[NDArray[np.bool_], NDArray[np.int64]]]
"""Whether each number is the first one of its group, and the numbers."""
_Kind = TypeVar("_Kind", bound=np.signedinteger[Any])


def deletions_of_chain(batches: Batches, *, strict: bool) -> int:
    """Count the rows outside a longest non-decreasing (`strict`: increasing) subsequence of their group.

    Order constraint not(t1.a > t2.a & t1.b < t2.b): rows without conflict are a chain. By ascending a, then b, they are
    a longest non-decreasing subsequence of b. If equal a violate it, too (`>=`), rows of equal a come by descending b,
    so that it has one of them, or several of equal b. If equal b do, too, it must increase strictly. For `t1.b > t2.b`
    rows come by descending a.

    Parameters
    ----------
    batches
        The rows' values, sorted.
    """
    from dpdb.graph.kernels.deletions import extend_chain

    rows, tails, state = 0, np.zeros(16, np.int64), np.zeros(2, np.int64)
    for starts, values in batches:
        tails = _with_room(tails, int(state[0]) + values.size)
        extend_chain(values, starts, int(strict), tails, state)
        rows += values.size
    return rows - int(state.sum())


def deletions_of_cross(batches: Batches) -> int:
    """Count the rows outside a largest set of rows that meet in pairs; see `extend_depth`.

    One column against another, not(t1.x > t2.y): let row r with x_r <= y_r be the segment [x_r, y_r]. Two segments are
    in conflict iff they do not meet, and segments that meet in pairs have a point in common (Helly), so that a largest
    set of them is the greatest depth. A row u with x_u > y_u is in conflict with every other such row v: else x_u <=
    y_v < x_v <= y_u. And it is in conflict with all segments but those that hold [y_u, x_u], which meet in pairs. So at
    most one such row is left, with these segments. With `>=` for `>` the same holds of open segments, x_r < y_r. A
    missing x violates nothing, as if it were below all values; a missing y as if it were above them.

    Parameters
    ----------
    batches
        The two ends of each row, sorted: 2 * row, + 1 for the upper one.
    """
    from dpdb.graph.kernels.deletions import extend_depth

    ends, state = 0, np.zeros(4, np.int64)
    seen, tree = np.zeros(16, np.int32), np.zeros(17, np.int32)
    for starts, events in batches:
        seen = _with_room(seen, 1 + (int(events.max(initial=0)) >> 1))
        tree = _grown_tree(tree, int(state[0]) + events.size, int(state[1]))
        extend_depth(events, starts, seen, tree, state)
        ends += events.size
    return ends // 2 - int(state[2] + state[3])


def deletions_of_intervals(batches: Batches, *, reversed_go: bool) -> int:
    """Count the intervals outside a largest set of intervals that do not overlap.

    Overlapping intervals, not(t1.s < t2.e & t2.s < t1.e): of rows with s <= e that stay none may overlap, and the one
    that ends first leaves most room (greedy by end). A row with s > e overlaps those that hold [e, s], and no other
    such row: else s_1 < e_2 < s_2 < e_1 < s_1. If such rows are errors in themselves, they all go, and each counts 1.
    Else they stay: rows that do not overlap each other hold no two of them at once, so one that holds some is not worth
    them.

    Parameters
    ----------
    batches
        The two ends of each row, sorted, and numbered as `extend_disjoint` says.
    reversed_go : bool
        Whether intervals that end before they begin go in any case.
    """
    from dpdb.graph.kernels.deletions import extend_disjoint

    ends, state, seen = 0, np.zeros(4, np.int64), np.zeros(16, np.int64)
    for _, events in batches:
        seen = _with_room(seen, 1 + (int(events.max(initial=0)) >> 2))
        extend_disjoint(events, seen, int(not reversed_go), state)
        ends += events.size
    kept, turned = int(state[2]), int(state[3])
    return ends // 2 - kept - (0 if reversed_go else turned)


@cache
def load_one_sort() -> None:
    """Load the kernels of all of these before anything is spent."""
    starts, numbers = np.array([True, False]), np.arange(2)
    deletions_of_chain([(starts, numbers)], strict=False)
    deletions_of_cross([(starts, numbers)])
    deletions_of_intervals([(starts, numbers)], reversed_go=True)


def _with_room(array: NDArray[_Kind], size: int) -> NDArray[_Kind]:
    """Return an array of at least so many numbers that begins with these, and goes on with zeros."""
    if size <= array.size:
        return array
    larger = np.zeros(max(size, 2 * array.size - 1), array.dtype)
    larger[: array.size] = array
    return larger


def _grown_tree(tree: NDArray[_Kind], size: int, total: int) -> NDArray[_Kind]:
    """Grow a Fenwick tree of 1 + 2^k numbers, which sum up to `total`, to more than `size` of them."""
    while tree.size <= size:
        tree = _with_room(tree, 2 * tree.size - 1)
        tree[-1] = total
    return tree


Numbers = NDArray[np.int64]

_AT_ONCE = 100_000
"""Left nodes between two moments at which Ctrl-C is heard."""


def greatest_matching(left: Numbers, right: Numbers, weights: Numbers) -> int:
    """Return the weight of a matching of greatest weight. Private.

    Its time depends on the weights, its value does not depend on how it is found.

    Memory is in proportion to the edges, about 80 bytes for each that shares a node with another one.

    The matching is one of a bipartite graph, in whole numbers.

    By linear programming duality it weighs as much as the least sum of duals, one of each node and none below 0, such
    that those of the two ends of every edge are together at least its weight. Left nodes come one at a time. One more
    begins with the least dual that its edges allow, and is matched along a shortest path in what edges have left over,
    to a right node that is free, or to a left node that becomes free where that costs less. Then the duals on the way
    change as far as the path is long, so that every edge of the matching is tight and every node without partner has
    the dual 0: both weigh the same, and so each is best. Nothing is rounded: all numbers are sums and differences of
    weights.

    Parameters
    ----------
    left, right
        The nodes of each edge, from 0 on each side, or -1 for one of its own. No two edges have the same two nodes.
    weights
        1 or more; their sum is below 2**61.

    Source
    ------
    Kuhn (1955); by shortest paths Edmonds and Karp (1972), Galil (1986); of equal weights Hopcroft and Karp (1973).
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
    from dpdb.graph.kernels.deletions import extend_matching

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
