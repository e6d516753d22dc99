"""A matching of greatest weight of a bipartite graph, node after node; see `dpdb.graph.weighted_matching`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpdb.compiled import kernel

__all__ = ["extend_matching"]

Numbers = NDArray[np.int64]

_FAR = 2**62


@kernel
def extend_matching(
    first: int,
    last: int,
    starts: Numbers,
    ends: Numbers,
    weights: Numbers,
    prices: Numbers,
    mates: Numbers,
    values: Numbers,
    holders: Numbers,
    reached: Numbers,
    parents: Numbers,
    seen: Numbers,
    passed: Numbers,
    heap: Numbers,
) -> None:
    """Add left nodes `first` to `last` (exclusive) to the graph, each by a shortest path (Dijkstra) in reduced weights.

    Parameters
    ----------
    starts, ends, weights
        The edges of left node k are those from `starts[k]` to `starts[k + 1]`: right nodes and weights of 1 or more.
    prices, mates : array (left nodes,)
        Of each left node its dual, and the right node that it is matched with or -1.
    values, holders : array (right nodes,)
        Of each right node its dual, and the left node that it is matched with or -1.
    reached, parents : array (right nodes,)
        Between two nodes all of `reached` is 2**62; `parents` is for use here.
    seen, passed : array (right nodes,)
        For use here.
    heap : array (2 * (edges + 1),)
        For use here: keys and nodes in turn.
    """
    for added in range(first, last):
        price = np.int64(0)
        for place in range(starts[added], starts[added + 1]):
            price = max(price, weights[place] - values[ends[place]])
        prices[added] = price
        # The path ends at a right node that is free (`free`), or where a left node becomes free again (`freed`).
        nearest, freed, free = price, np.int64(added), np.int64(-1)
        touched, done, size = 0, 0, 0
        node, distance = np.int64(added), np.int64(0)
        while True:
            for place in range(starts[node], starts[node + 1]):
                end = ends[place]
                further = distance + prices[node] + values[end] - weights[place]
                if further < nearest and further < reached[end]:
                    if reached[end] == _FAR:
                        seen[touched] = end
                        touched += 1
                    reached[end], parents[end] = further, node
                    child = size
                    size += 1
                    while child > 0 and heap[2 * ((child - 1) >> 1)] > further:
                        above = (child - 1) >> 1
                        heap[2 * child], heap[2 * child + 1] = heap[2 * above], heap[2 * above + 1]
                        child = above
                    heap[2 * child], heap[2 * child + 1] = further, end
            found = np.int64(-1)
            while size > 0 and found < 0:
                distance, end = heap[0], heap[1]
                size -= 1
                last_key, last_end = heap[2 * size], heap[2 * size + 1]
                top = 0
                while 2 * top + 1 < size:
                    child = 2 * top + 1
                    if child + 1 < size and heap[2 * child + 2] < heap[2 * child]:
                        child += 1
                    if heap[2 * child] >= last_key:
                        break
                    heap[2 * top], heap[2 * top + 1] = heap[2 * child], heap[2 * child + 1]
                    top = child
                heap[2 * top], heap[2 * top + 1] = last_key, last_end
                if distance == reached[end]:  # else it was reached again at less
                    found = end
            if found < 0 or distance >= nearest:
                break
            if holders[found] < 0:
                nearest, free = distance, found
                break
            passed[done] = found
            done += 1
            node = holders[found]
            if distance + prices[node] < nearest:
                nearest, freed = distance + prices[node], node
        prices[added] -= nearest
        for place in range(done):
            end = passed[place]
            if reached[end] < nearest:
                prices[holders[end]] -= nearest - reached[end]
                values[end] += nearest - reached[end]
        end = free
        if free < 0 and freed != added:
            end = mates[freed]
            mates[freed] = -1
        while end >= 0:
            node = parents[end]
            before = mates[node]
            holders[end], mates[node] = node, end
            end = before if node != added else np.int64(-1)
        for place in range(touched):
            reached[seen[place]] = _FAR
