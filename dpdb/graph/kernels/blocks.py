"""Scans of a conflict graph that is given by blocks: no edge list, the same canonical order.

All kernels of this file read one `Blocks` value. Rows are numbered by canonical rank; constraints by position. A pair
belongs to the first constraint it violates. From a majority row only the minority of its group is enumerated. A row
that a scan no longer needs leaves the group's list when it is next met, and a group with no rows left is skipped, so
that the work grows with the changes and not with the number of edges.

Rows and places are 64 bits wide wherever a helper gets them: each width would be compiled by itself.

Places leave lists as bits, and words of which all places have left are jumped over (`Present`).
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpdb.compiled import kernel

Ints = NDArray[np.int32]
Bits = NDArray[np.uint8]
Number = int | np.int64


class Blocks(NamedTuple):
    """Arrays of all constraints.

    Attributes
    ----------
    ordered, both : bool (constraints,)
        The fields of each `BlockConstraint`.
    group, x : int32 (constraints, rows)
        The same.
    y : int32 (constraints that are ordered or have both, rows)
        The same; other constraints read x instead.
    y_at : int64 (constraints,)
        The line of `y` of each constraint.
    place : int32 (constraints, rows)
        Where each row's list of candidates goes on: for a majority row the index in `short` of its group's first row
        above it, p; for a minority row -p - 1 with p its own index in `members`. Nothing of a row without a group.
    listed : bool (constraints,)
        Whether each row has a list of its own, whose pairs are in conflict: a group of which it is the only row, and
        its neighbours the minority.
    members, short : int32 (constraints, longest)
        Each group's rows by rank; its minority rows by rank.
    starts, short_starts : int32 (constraints, groups + 1)
        Where each group begins in them.
    minority : bool (rows,)
        Whether a row is in the minority of any of its groups.
    tested : bool (constraints, constraints)
        `tested[k, j]`: a pair that violates k may also violate j < k.
    """

    ordered: NDArray[np.bool_]
    both: NDArray[np.bool_]
    listed: NDArray[np.bool_]
    group: Ints
    x: Ints
    y: Ints
    y_at: NDArray[np.int64]
    place: Ints
    members: Ints
    starts: Ints
    short: Ints
    short_starts: Ints
    minority: NDArray[np.bool_]
    tested: NDArray[np.bool_]


class Present(NamedTuple):
    """Places that have left lists, as bits: one for each place of `members` or `short`, and a place more.

    Attributes
    ----------
    gone : uint64 (constraints, words)
        Whether each of 64 places has left.
    skips : int32 (constraints, words)
        By how many words to go on from one that no search needs, 0 elsewhere.
    """

    gone: NDArray[np.uint64]
    skips: Ints


class Remaining(NamedTuple):
    """The minority rows of each group that a scan may still visit.

    Attributes
    ----------
    rows : int32 (constraints, groups)
        Number of such rows.
    some : uint8 (constraints, groups + 1)
        Has the bit if there are any; 0 at -1, which stands for no group. It fits in a cache where counts do not, and
        most rows read nothing else. May have other bits for other kinds of visits.
    """

    rows: Ints
    some: Bits
    bit: int


@kernel
def violates(blocks: Blocks, k: int, u: Number, v: Number) -> bool:
    """Return whether two rows violate k."""
    return bool(blocks.group[k, u] >= 0 and blocks.group[k, u] == blocks.group[k, v] and conflict(blocks, k, u, v))


@kernel
def conflict(blocks: Blocks, k: int, u: Number, v: Number) -> bool:
    """Return whether two rows of one group of k violate it."""
    x_u, x_v = blocks.x[k, u], blocks.x[k, v]
    if not blocks.ordered[k] and not blocks.both[k]:
        return bool(x_u != x_v)
    y_u, y_v = blocks.y[blocks.y_at[k], u], blocks.y[blocks.y_at[k], v]
    if not blocks.ordered[k]:
        return bool(x_u != x_v and y_u != y_v)
    return bool((x_u > x_v and y_u < y_v) or (x_u < x_v and y_u > y_v))


@kernel
def _first_violated(blocks: Blocks, k: int, u: Number, v: Number) -> bool:
    """Return whether k is the first constraint that the pair, met in a list of k, violates; no listed one is tested."""
    if blocks.listed[k]:
        return True
    if not conflict(blocks, k, u, v):
        return False
    for j in range(k):
        if blocks.tested[k, j] and violates(blocks, j, u, v):
            return False
    return True


@kernel
def fill_edges(
    blocks: Blocks,
    row: int,
    k: int,
    place: int,
    u: NDArray[np.uint32],
    v: NDArray[np.uint32],
    dc: NDArray[np.uint16],
    filled: int,
    work: int,
) -> tuple[int, int, int, int]:
    """Write the next edges in canonical order.

    Returns the number of edges in the arrays, and the row, constraint and list index to go on from, once the arrays are
    full or `work` pairs are looked at; the row is the number of rows when no edge is left.

    Parameters
    ----------
    row, k, place : int
        Row, constraint and list index to start from (-1: the first index of the row's list).
    u, v : uint32 (size,)
        Endpoints of the edges, u < v; filled in.
    dc : uint16 (size,)
        The constraint at which the edge was met; filled in.
    filled : int
        How many edges the arrays have already.
    work : int
        Pairs to look at before the kernel returns.
    """
    constraints, n = blocks.group.shape
    size = u.shape[0]
    while row < n:
        while k < constraints:
            group, begin = blocks.group[k, row], blocks.place[k, row]
            if group >= 0:
                minor = begin < 0
                listed = blocks.members[k] if minor else blocks.short[k]
                end = blocks.starts[k, group + 1] if minor else blocks.short_starts[k, group + 1]
                if place < 0:
                    place = -begin if minor else begin
                while place < end:
                    if work <= 0:
                        return filled, row, k, place
                    work -= 1
                    other = np.int64(listed[place])
                    if _first_violated(blocks, k, row, other):
                        if filled == size:
                            return filled, row, k, place
                        u[filled], v[filled], dc[filled] = row, other, k
                        filled += 1
                    place += 1
            k, place = k + 1, -1
        row, k = row + 1, 0
        work -= 1
    return filled, row, 0, -1


# -- lists from which rows leave ---------------------------------------------------------------------------------


@kernel
def next_kept(present: Present, k: int, listed: Ints, gone: NDArray[np.bool_], place: Number, end: Number) -> Number:
    """Find the next place below `end` whose row is not gone, else any from `end` on; others leave the list.

    Parameters
    ----------
    present
        The places that have left; updated.
    gone
        Whether a row is gone.
    place, end
        Where to begin and to end.
    """
    place = _next_present(present, k, place)
    while place < end and gone[listed[place]]:
        present.gone[k, place >> 6] |= np.uint64(1) << np.uint64(place & 63)
        place = _next_present(present, k, place)
    return place


@kernel
def _next_present(present: Present, k: int, place: Number) -> Number:
    gone, skips = present.gone[k], present.skips[k]
    word = np.int64(place >> 6)
    left = ~gone[word] >> np.uint64(place & 63)
    if left != np.uint64(0):
        return place + _zeros_below(left)
    word += 1
    while True:
        while skips[word] != 0:  # path halving
            skips[word] += skips[word + skips[word]]
            word += skips[word]
        left = ~gone[word]
        if left != np.uint64(0):
            return (word << 6) + _zeros_below(left)
        skips[word] = 1
        word += 1


@kernel
def _zeros_below(word: np.uint64) -> np.int64:
    """Count the bits below the lowest one that is set, by adding bits up in parallel."""
    low = word & (~word + np.uint64(1))
    ones = low - np.uint64(1)
    ones -= (ones >> np.uint64(1)) & np.uint64(0x5555555555555555)
    ones = (ones & np.uint64(0x3333333333333333)) + ((ones >> np.uint64(2)) & np.uint64(0x3333333333333333))
    ones = (ones + (ones >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((ones * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def leave(blocks: Blocks, row: Number, remaining: Remaining) -> None:
    """Subtract a row from the counts of the minorities that it belongs to.

    Parameters
    ----------
    remaining : Remaining
        The counts; a group whose count reaches 0 loses its bit.
    """
    if not blocks.minority[row]:
        return
    for k in range(blocks.group.shape[0]):
        group = blocks.group[k, row]
        if group >= 0 and blocks.place[k, row] < 0:
            remaining.rows[k, group] -= 1
            if remaining.rows[k, group] == 0:
                remaining.some[k, group] &= ~remaining.bit


class Ahead(NamedTuple):
    """The next rows of a scan. Scratch, all of one size.

    Attributes
    ----------
    rows : int32
    bits : uint8
        The bits of all groups of each row at the time of the look-up: rows may have left since then.
    """

    rows: Ints
    bits: Bits


@kernel
def look_ahead(blocks: Blocks, remaining: Remaining, ahead: Ahead) -> None:
    """Look up the bits of the next rows' groups, constraint by constraint: row by row takes three times as long."""
    ahead.bits[:] = 0
    for k in range(blocks.group.shape[0]):
        group, some = blocks.group[k], remaining.some[k]
        for i in range(ahead.rows.shape[0]):
            ahead.bits[i] |= some[group[ahead.rows[i]]]


@kernel
def look_ahead_from(blocks: Blocks, row: Number, remaining: Remaining, ahead: Ahead) -> None:
    """Look up the bits of the groups of the rows from `row` on; places after the last row repeat it.

    Parameters
    ----------
    ahead : Ahead
        Filled in.
    """
    last = blocks.group.shape[1] - 1
    for i in range(ahead.rows.shape[0]):
        ahead.rows[i] = min(row + i, last)
    look_ahead(blocks, remaining, ahead)


# -- scans ------------------------------------------------------------------------------------------------------


@kernel
def witness(
    blocks: Blocks,
    theta: int,
    uncovered_longs: Present,
    uncovered_shorts: Present,
    able_longs: Present,
    able_shorts: Present,
    uncovered_left: Remaining,
    able_left: Remaining,
    ahead: Ahead,
    covered: NDArray[np.bool_],
    spent: NDArray[np.bool_],
    used: Ints,
    first: int,
    work: int,
) -> int:
    """Match rows to theta copies of a neighbour, greedily in canonical order.

    Goes on from row `first`, stops after a whole row when `work` pairs are looked at, and returns the next row.

    An edge (u, v) can still act if u has capacity and v is uncovered, or u is uncovered and v has capacity. So from
    u only uncovered rows, rows with capacity, or both are visited, and every visit of a conflict covers a row.

    A pair is met at each constraint that it violates, and acts at the first one only: after that v is covered or u is
    spent, and u is covered or v is spent, which stays so.

    Parameters
    ----------
    uncovered_longs, uncovered_shorts, able_longs, able_shorts
        The places in `members` and `short` whose rows are uncovered, and those whose rows have capacity.
    uncovered_left, able_left : Remaining
        The uncovered minority rows of each group, from row u on, and those with capacity; with bits of one array.
    covered, spent, used : (rows,)
        Whether a row is covered, whether it has no capacity left, and how many it covers.
    """
    constraints, n = blocks.group.shape
    place: Number
    u, seen, size = first, first, ahead.rows.shape[0]
    while u < n and work > 0:
        if u == seen:
            look_ahead_from(blocks, u, able_left, ahead)
            seen += size
        # Most rows are neither of a minority nor of a group in which there is work left: they end here.
        wanted = (0 if covered[u] else able_left.bit) | (0 if spent[u] else uncovered_left.bit)
        visited = wanted != 0 and (blocks.minority[u] or ahead.bits[u + size - seen] & wanted != 0)
        if not visited:
            work -= 1
            u += 1
            continue
        for k in range(constraints):
            group = blocks.group[k, u]
            if group < 0:
                continue
            if covered[u] and spent[u]:
                break
            begin = blocks.place[k, u]
            if begin < 0:
                listed, end, place = blocks.members[k], np.int64(blocks.starts[k, group + 1]), np.int64(-begin)
                uncovered, able = uncovered_longs, able_longs
            else:
                wanted = (0 if covered[u] else able_left.bit) | (0 if spent[u] else uncovered_left.bit)
                if able_left.some[k, group] & wanted == 0:
                    continue
                listed, end, place = blocks.short[k], np.int64(blocks.short_starts[k, group + 1]), np.int64(begin)
                uncovered, able = uncovered_shorts, able_shorts
            while True:
                work -= 1
                if covered[u] and spent[u]:
                    break
                following: Number = end
                if not spent[u]:
                    following = next_kept(uncovered, k, listed, covered, place, end)
                if not covered[u]:
                    following = min(following, next_kept(able, k, listed, spent, place, end))
                place = following
                if place >= end:
                    break
                v = np.int64(listed[place])
                if blocks.listed[k] or conflict(blocks, k, u, v):
                    if not covered[v] and not spent[u]:
                        covered[v] = True
                        used[u] += 1
                        leave(blocks, v, uncovered_left)
                        if used[u] == theta:
                            spent[u] = True
                            leave(blocks, u, able_left)
                    if not covered[u] and not spent[v]:
                        covered[u] = True
                        used[v] += 1
                        leave(blocks, u, uncovered_left)
                        if used[v] == theta:
                            spent[v] = True
                            leave(blocks, v, able_left)
                place += 1
        # Rows after u do not meet u any more.
        if not covered[u]:
            leave(blocks, u, uncovered_left)
        if not spent[u]:
            leave(blocks, u, able_left)
        u += 1
        work -= 1
    return u


# -- matching ---------------------------------------------------------------------------------------------------


@kernel
def match_greedily(
    blocks: Blocks,
    cover: NDArray[np.bool_],
    longs: Present,
    shorts: Present,
    left: Remaining,
    gone: NDArray[np.bool_],
    left_partner: Ints,
    right_partner: Ints,
    looks: NDArray[np.int64],
    first: int,
    work: int,
) -> int:
    """Let each row of a vertex cover take a free partner outside it, on both sides; returns the next row to serve.

    Parameters
    ----------
    cover : bool (rows,)
        Whether a row is in the vertex cover.
    longs, shorts
        The places in `members` and `short` whose rows are not gone.
    left : Remaining
        The minority rows that are not gone.
    gone : bool (rows,)
        Whether a row is in the cover or taken, so that it is no free partner; updated.
    left_partner, right_partner : int32 (rows,)
        Partners of the left and of the right copies; filled in.
    looks : int64 (3,)
        Scratch.
    first, work : int
        The first row to serve, and how many rows to look at before the kernel returns.
    """
    looks[0] = 0
    u = first
    while u < cover.shape[0] and looks[0] < work:
        if cover[u]:
            looks[1:] = 0
            v = _take(blocks, u, longs, shorts, left, gone, looks)
            if v >= 0:
                left_partner[u], right_partner[v], left_partner[v], right_partner[u] = v, u, u, v
        u += 1
        looks[0] += 1
    return u


@kernel
def find_paths(
    blocks: Blocks,
    longs: Present,
    shorts: Present,
    left: Remaining,
    visited: NDArray[np.bool_],
    right_partner: Ints,
    root: Ints,
    parent: Ints,
    end_of: Ints,
    queue: Ints,
    state: NDArray[np.int64],
    looks: NDArray[np.int64],
    work: int,
) -> bool:
    """Search augmenting paths breadth first from the left copies in `queue`; returns whether the search is over.

    Parameters
    ----------
    longs, shorts
        The places in `members` and `short` whose rows are not visited.
    left : Remaining
        The minority rows that are not visited.
    visited : bool (rows,)
        Whether a right copy is visited.
    right_partner : int32 (rows,)
        Partners of the right copies, or -1.
    root : int32 (rows,)
        Of a left copy in the queue, the place in it of the copy in which its search began.
    parent : int32 (rows,)
        The left copy from which a visited right copy was reached.
    end_of : int32 (roots,)
        The free right copy that the search from a root reached, or -1.
    queue : int32 (rows,)
        Left copies to search from, the roots first; added to.
    state : int64 (2,)
        How many of the queue are done, how many there are.
    looks : int64 (3,)
        Scratch; the last two keep how far the lists of the next left copy are read, and are 0 at first.
    work : int
        Rows to look at before the kernel returns.
    """
    looks[0] = 0
    head, tail = state[0], state[1]
    while head < tail:
        u = np.int64(queue[head])
        while end_of[root[u]] < 0:
            if looks[0] >= work:
                state[0], state[1] = head, tail
                return False
            v = _take(blocks, u, longs, shorts, left, visited, looks)
            if v < 0:
                break
            parent[v] = u
            w = right_partner[v]
            if w < 0:
                end_of[root[u]] = v
            else:
                root[w] = root[u]
                queue[tail] = w
                tail += 1
        looks[1:] = 0
        head += 1
        looks[0] += 1
    return True


@kernel
def extend_matching(
    left_partner: Ints, right_partner: Ints, parent: Ints, end_of: Ints, queue: Ints, first: int, last: int
) -> None:
    """Grow the matching along the paths from `queue[first:last]`, which are disjoint.

    Parameters
    ----------
    left_partner, right_partner : int32 (rows,)
        Partners of the left and of the right copies, or -1; updated.
    parent, end_of, queue : int32
        As `find_paths` left them.
    """
    for i in range(first, last):
        v = end_of[i]
        while v >= 0:
            along = parent[v]
            following = left_partner[along] if along != queue[i] else -1
            left_partner[along], right_partner[v] = v, along
            v = following


@kernel
def _take(
    blocks: Blocks,
    u: Number,
    longs: Present,
    shorts: Present,
    left: Remaining,
    gone: NDArray[np.bool_],
    looks: NDArray[np.int64],
) -> int:
    """Return a row in conflict with u that is not gone, and mark it gone; -1 if none.

    `looks` has the number of rows read, to which this adds, the constraint at which the lists of u are read on, and the
    place in its list, 0 for its beginning: rows before it are gone or not in conflict, which stays so.
    """
    seen = 0
    taken = np.int64(-1)
    place: Number
    for k in range(looks[1], blocks.group.shape[0]):
        group = blocks.group[k, u]
        if group < 0:
            continue
        if blocks.place[k, u] < 0:
            listed, present = blocks.members[k], longs
            place, end = np.int64(blocks.starts[k, group]), np.int64(blocks.starts[k, group + 1])
        else:
            if left.some[k, group] == 0:
                continue
            listed, present = blocks.short[k], shorts
            place, end = np.int64(blocks.short_starts[k, group]), np.int64(blocks.short_starts[k, group + 1])
        if k == looks[1]:
            place = max(place, looks[2])
        place = next_kept(present, k, listed, gone, place, end)
        while place < end:
            v = np.int64(listed[place])
            seen += 1
            if blocks.listed[k] or conflict(blocks, k, u, v):
                gone[v] = True
                leave(blocks, v, left)
                taken = v
                break
            place = next_kept(present, k, listed, gone, place + 1, end)
        if taken >= 0:
            looks[1], looks[2] = k, place
            break
    looks[0] += seen + 1
    return int(taken)


Place = TypeVar("Place", int, int | np.int64)


@kernel
def next_present(jumps: NDArray[np.int32], place: Place) -> Place:
    """Find the next present place not below `place` (path halving)."""
    while jumps[place] != 0:
        jumps[place] += jumps[place + jumps[place]]
        place += jumps[place]
    return place
