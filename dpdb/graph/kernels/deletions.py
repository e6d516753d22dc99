"""Largest sets of rows without conflict, and matchings of greatest weight; see `dpdb.graph.exact.deletions`.

The sets are found while sorted rows or values pass by: each kernel takes one batch after another, and keeps in its
arrays what it has to know of those before. A matching of a bipartite graph is found node after node.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpdb.compiled import kernel

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]

_END, _POINT = 1, 2  # kinds of ends of intervals


@kernel
def extend_chain(values: Numbers, starts: Flags, strict: int, tails: Numbers, state: Numbers) -> None:
    """Extend the longest non-decreasing (`strict`: increasing) subsequences of groups by more values.

    Parameters
    ----------
    values, starts : array (values,)
        The values in order, and whether each is the first one of its group.
    tails : int64 (at least as many as there will be values in a group,)
        The least last value of a subsequence of each length in this group, ascending.
    state : int64 (2,)
        Length of the longest one in this group, and the sum of those in the groups before.
    """
    length, total = state[0], state[1]
    for place in range(values.shape[0]):
        value = values[place]
        if starts[place]:
            total += length
            length = 0
        if length == 0 or tails[length - 1] < value or (strict == 0 and tails[length - 1] == value):
            tails[length] = value
            length += 1
            continue
        low, size = 0, length  # the first tail that is not below (not strict: that is above) is one of these
        while size > 1:
            half = size >> 1
            probe = tails[low + half - 1]
            low += half if (probe < value) | ((strict == 0) & (probe == value)) else 0
            size -= half
        tails[low] = value
    state[0], state[1] = length, total


@kernel
def extend_depth(
    events: Numbers, starts: Flags, seen: NDArray[np.int32], tree: NDArray[np.int32], state: Numbers
) -> None:
    """Extend the largest sets of rows that meet in pairs by more ends, where rows are segments.

    An end is 2 * row, + 1 for the upper one. A row whose lower end comes first is a segment, open between its ends. Two
    of these miss each other if one is closed before the other is opened. Of rows whose upper end comes first, at most
    one is in such a set, and with it segments that are open from its upper to its lower end.

    Parameters
    ----------
    events, starts : array (ends,)
        The ends in order, and whether each is the first one of its group.
    seen : int32 (rows,)
        Zero before; of a row with one end so far 1 + the number of the segments of its group that opened before it, of
        a segment, and the same times -1 of another row.
    tree : int32 (at least 1 + the segments of a group,)
        Zeros before: Fenwick tree of the segments that are open, in the order in which they opened.
    state : int64 (4,)
        Segments that opened in this group, those that are open, the size of the largest set in this group, and the sum
        of those in the groups before.
    """
    opened, depth, best, total = state[0], state[1], state[2], state[3]
    for place in range(events.shape[0]):
        row, upper = events[place] >> 1, events[place] & 1
        if starts[place]:
            total += best
            opened, depth, best = np.int64(0), np.int64(0), np.int64(0)
        before = np.int64(seen[row])
        change = np.int64(0)
        if upper == 0 and before == 0:
            opened, depth, change = opened + 1, depth + 1, np.int64(1)
            seen[row] = opened
            best = max(best, depth)
        elif upper == 0:  # of the segments that were open at its upper end, those that still are
            at, still = -before - 1, np.int64(1)
            while at > 0:
                still += tree[at]
                at &= at - 1
            best = max(best, still)
        elif before == 0:
            seen[row] = -opened - 1
        else:
            depth, change = depth - 1, np.int64(-1)
        at = np.int64(seen[row])
        while change != 0 and at < tree.shape[0]:
            tree[at] += change
            at += at & -at
    state[0], state[1], state[2], state[3] = opened, depth, best, total


@kernel
def extend_disjoint(events: Numbers, seen: Numbers, stay: int, state: Numbers) -> None:
    """Keep, of the intervals whose ends come by, those that begin after all that they must not overlap.

    An end is 4 * row, + 0 or 3 for its beginning, + 1 for its end, + 2 for the end of one without length. An interval
    is reversed if its end comes first. One that is not overlaps it iff it begins before and ends after both.

    Parameters
    ----------
    events : int64 (ends,)
        In order; all of a group one after another.
    seen : int64 (rows,)
        Zero before; of a row with one end so far the place of that, and the same times -1 if the interval is reversed.
    stay : int
        Whether reversed intervals stay (1), and those that overlap one go, or do not count (0).
    state : int64 (4,)
        Ends that came by, the place up to which an interval that is kept must not have begun, how many are kept, and
        how many were reversed.
    """
    place, barrier, kept, turned = state[0], state[1], state[2], state[3]
    for event in range(events.shape[0]):
        place += 1
        row, kind = events[event] >> 2, events[event] & 3
        before = seen[row]
        if kind == _POINT:
            kept += 1
            barrier = place
        elif kind == _END and before == 0:
            seen[row] = -place
        elif kind == _END and before > barrier:
            kept += 1
            barrier = place
        elif kind != _END and before == 0:
            seen[row] = place
        elif kind != _END:
            turned += 1
            if stay == 1:
                barrier = max(barrier, -before)
    state[0], state[1], state[2], state[3] = place, barrier, kept, turned


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
