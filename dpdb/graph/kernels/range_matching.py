"""Maximum matching of the double cover of a block graph whose groups are dense: conflicts as ranges of places.

For each constraint, rows lie at places in the order of (group, x, y). The partners of a row are those of its group with
another x (class rules), or with smaller x and greater y, or greater x and smaller y (order rules): so a partner is
found in O(log n) by a maximum tree over places, however many rows do not conflict. A copy that is taken leaves the
trees.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpdb.compiled import kernel
from dpdb.graph.kernels.blocks import next_present

Ints = NDArray[np.int32]
State = NDArray[np.int64]

FREE = -1
_ABSENT = np.int32(-(2**31))  # below all values of a tree

_TURN = 16  # the cost of a turn of `search`, in rows read in order

_GROUP, _EQUAL, _ABOVE, _END = 0, 1, 2, 3  # columns of `Ranges.spans`


class Ranges(NamedTuple):
    """Arrays of all constraints.

    Attributes
    ----------
    ordered : bool (constraints,)
    place : int32 (rows, constraints)
        The row's place; -1 if it conflicts with no row through this constraint.
    row, y : int32 (constraints, rows)
        The row at each place, and its y.
    spans : int32 (constraints, rows, 4)
        Of the row at each place: where its group begins, where the rows of equal x begin and end, where the group ends.
    """

    ordered: NDArray[np.bool_]
    place: Ints
    row: Ints
    y: Ints
    spans: Ints


# -- which rows are present: a tree of the greatest y and one of the greatest -y, or jumps over places -------------


@kernel
def fill_present(ranges: Ranges, present: NDArray[np.bool_], trees: Ints, state: State, work: int) -> bool:
    """Fill the trees with the rows that are present; returns whether all are filled.

    Parameters
    ----------
    present : bool (rows,)
        Whether a row is present.
    trees : int32 (constraints, 2, 2 rows)
        Order rules: the leaf of place p is at rows + p, node i has the children 2i and 2i + 1. Class rules:
        `trees[k, 0]` has the jumps of `blocks` to the next present place.
    state : int64 (3,)
        Constraint, leaves that are done, nodes that are done.
    work : int
        Leaves and nodes to fill before the kernel returns.
    """
    rows = ranges.place.shape[0]
    k, place, nodes = state[0], state[1], state[2]
    while k < ranges.ordered.shape[0]:
        ordered, ups, downs = ranges.ordered[k], trees[k, 0], trees[k, 1]
        while place <= rows and work > 0:
            here = False
            if place < rows:
                # Places without a row of this constraint have spans of length zero.
                here = ranges.spans[k, place, _END] > 0 and present[ranges.row[k, place]]
            if not ordered:
                ups[place] = 0 if here or place == rows else 1
            elif place < rows:
                ups[rows + place] = ranges.y[k, place] if here else _ABSENT
                downs[rows + place] = -ranges.y[k, place] if here else _ABSENT
            place += 1
            work -= 1
        while ordered and nodes < rows - 1 and work > 0:
            node = rows - 1 - nodes
            ups[node] = max(ups[2 * node], ups[2 * node + 1])
            downs[node] = max(downs[2 * node], downs[2 * node + 1])
            nodes += 1
            work -= 1
        if work <= 0:
            state[0], state[1], state[2] = k, place, nodes
            return False
        k, place, nodes = k + 1, np.int64(0), np.int64(0)
    return True


@kernel
def _above(tree: Ints, first: int, last: int, bound: int) -> int:
    """Find a place in `first .. last` with a value above the bound, or -1."""
    leaves = tree.shape[0] // 2
    low, high, node = first + leaves, last + leaves, 0
    while low < high:
        if low & 1:
            if tree[low] > bound:
                node = low
                break
            low += 1
        if high & 1:
            high -= 1
            if tree[high] > bound:
                node = high
                break
        low >>= 1
        high >>= 1
    if node == 0:
        return -1
    while node < leaves:
        node *= 2
        if tree[node] <= bound:
            node += 1
    return int(node - leaves)


@kernel
def _lower(tree: Ints, place: int) -> None:
    """Take a place out of a tree."""
    node = place + tree.shape[0] // 2
    tree[node] = _ABSENT
    node >>= 1
    while node > 0:
        top = max(tree[2 * node], tree[2 * node + 1])
        if tree[node] == top:
            break
        tree[node] = top
        node >>= 1


@kernel
def _partner(ranges: Ranges, trees: Ints, u: int) -> int:
    """Find a present row in conflict with u, or -1."""
    for k in range(ranges.ordered.shape[0]):
        place = ranges.place[u, k]
        if place < 0:
            continue
        span = ranges.spans[k, place]
        if ranges.ordered[k]:
            y = ranges.y[k, place]
            found = _above(trees[k, 0], span[_GROUP], span[_EQUAL], y)
            if found < 0:
                found = _above(trees[k, 1], span[_ABOVE], span[_END], -y)
            if found >= 0:
                return int(ranges.row[k, found])
        else:
            found = next_present(trees[k, 0], span[_GROUP])
            if found >= span[_EQUAL]:
                found = next_present(trees[k, 0], span[_ABOVE])
            if found < span[_EQUAL] or span[_ABOVE] <= found < span[_END]:
                return int(ranges.row[k, found])
    return -1


@kernel
def _leave(ranges: Ranges, trees: Ints, v: int) -> None:
    for k in range(ranges.ordered.shape[0]):
        place = ranges.place[v, k]
        if place < 0:
            continue
        if ranges.ordered[k]:
            _lower(trees[k, 0], place)
            _lower(trees[k, 1], place)
        else:
            trees[k, 0, place] = 1


# -- matching ------------------------------------------------------------------------------------------------------


@kernel
def deal_piles(
    rows: Ints, starts: Ints, y: Ints, left: Ints, right: Ints, firsts: Ints, lasts: Ints, state: State, work: int
) -> bool:
    """Deal each group's rows into piles of falling y, and match each pile of two or more rows around in a cycle.

    Rows come by ascending x, then y, so each pile is a clique: a row goes onto the first pile that ends above it
    (patience sorting). Returns whether all groups are dealt.

    Parameters
    ----------
    rows, starts
        Each group's rows; `starts[g] .. starts[g + 1]` are those of group g.
    y : int32 (all rows,)
    left, right : int32 (all rows,)
        Partner of each left copy and of each right copy; those of the rows are `FREE`. Filled in.
    firsts, lasts : int32 (rows,)
        Scratch: the ends of each pile.
    state
        Group, rows of it that are dealt, its piles, of these the ones that are closed.
    """
    group, place, piles, closed = state[0], starts[state[0]] + state[1], state[2], state[3]
    while group < starts.shape[0] - 1:
        while place < starts[group + 1] or closed < piles:
            if work <= 0:
                state[0], state[1], state[2], state[3] = group, place - starts[group], piles, closed
                return False
            work -= 1
            if place == starts[group + 1]:
                first, last = firsts[closed], lasts[closed]
                if first != last:
                    left[last], right[first] = first, last
                closed += 1
                continue
            row = rows[place]
            low, high = np.int64(0), piles
            while low < high:
                middle = (low + high) // 2
                if y[lasts[middle]] <= y[row]:
                    low = middle + 1
                else:
                    high = middle
            if low == piles:
                firsts[low] = row
                piles += 1
            else:
                left[lasts[low]], right[row] = row, lasts[low]
            lasts[low] = row
            place += 1
        group, piles, closed = group + 1, np.int64(0), np.int64(0)
        work -= 1
    return True


@kernel
def search(
    ranges: Ranges,
    unseen: Ints,
    free: Ints,
    left: Ints,
    right: Ints,
    roots: Ints,
    root: Ints,
    parent: Ints,
    queue: Ints,
    state: State,
    work: int,
) -> bool:
    """Grow alternating trees from all roots at once, and augment along the first path that each of them finds.

    Trees share no copy, so their paths are disjoint. Each left copy in the queue takes one more right copy and then
    waits for its next turn: trees grow evenly, also where the first root alone conflicts with half of the rows. Returns
    whether no tree can grow any more; else `work` is done.

    Parameters
    ----------
    unseen, free
        Trees (see `fill_present`) of the matched right copies outside all search trees, and of the free right copies.
    left, right
        Partner of each left copy and of each right copy, or `FREE`.
    roots : int32 (roots,)
        Free left copies.
    root, parent : int32 (rows,)
        The root of each left copy in a search tree; the left copy that took each right copy. Scratch.
    queue : int32 (rows,)
        A ring of left copies, each at most once.
    state
        Roots that have begun, first of the queue, its length, augmented paths.
    """
    size = queue.shape[0]
    begun, head, waiting = state[0], state[1], state[2]
    while begun < roots.shape[0] or waiting > 0:
        if work <= 0:
            state[0], state[1], state[2] = begun, head, waiting
            return False
        work -= _TURN
        if begun < roots.shape[0]:
            u = roots[begun]
            begun += 1
            reached, root[u] = u, u
        else:
            u = queue[head]
            head = head + 1 if head + 1 < size else np.int64(0)
            waiting -= 1
            if left[root[u]] != FREE:
                continue  # this tree has its path
            v = _partner(ranges, unseen, u)
            if v < 0:
                continue
            _leave(ranges, unseen, v)
            parent[v] = u
            reached = right[v]
            root[reached] = root[u]
        end = _partner(ranges, free, reached)
        if end >= 0:
            _leave(ranges, free, end)
            parent[end] = reached
            while end != FREE:
                along = parent[end]
                given_up = left[along]
                left[along], right[end] = end, along
                end = given_up
            state[3] += 1
            continue
        for waits in range(1 if reached == u else 2):
            place = head + waiting
            queue[place if place < size else place - size] = reached if waits == 0 else u
            waiting += 1
    state[0], state[1], state[2] = begun, head, waiting
    return True
