"""Degrees of a conflict graph given by blocks, one constraint at a time.

All pairs of a constraint are counted first; then the pairs that violate an earlier constraint, too, are subtracted.
These are few: one of the two rows is in the minority of the constraint, and one in that of an earlier constraint.

Of an order constraint the rows that cross a row are counted, not listed: those smaller in x and greater in y, or
greater in x and smaller in y.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpdb.compiled import kernel
from dpdb.graph.kernels.blocks import Blocks

Ints = NDArray[np.int32]
Number = int | np.int64

CHUNK = 4096


class Members(NamedTuple):
    """The rows of the groups of one constraint that is ordered or has two classes.

    Attributes
    ----------
    starts : int32 (groups + 1,)
        Where each group begins; within a group the majority comes first.
    majority : int32 (groups,)
        Number of majority rows of each group.
    x, y : int32 (members,)
    """

    starts: Ints
    majority: Ints
    x: Ints
    y: Ints


@kernel
def count_pairs(
    members: Members, ordered: int, part: int, parts: int, degree: Ints, state: NDArray[np.int64], work: int
) -> bool:
    """Count, for each member, the rows that it violates the constraint with; return whether all are counted.

    `part` of `parts` shares of the minority rows are counted from; the shares' results add up.

    Parameters
    ----------
    ordered : int
        Whether the constraint is an order, 0 or 1.
    degree : int32 (members,)
        Added to; zeros in the beginning.
    state : int64 (2,)
        Where to go on: group, minority rows of it that are done.
    work : int
        Pairs to look at before the kernel returns.
    """
    group = state[0]
    while group < members.majority.shape[0]:
        begin, end = members.starts[group], members.starts[group + 1]
        first = begin + members.majority[group]
        a = first + state[1]
        while a < end:
            if work <= 0:
                state[0], state[1] = group, a - first
                return False
            if a % parts == part:
                degree[a] += _count(members, ordered, a, begin, first, degree)
                degree[a] += _count(members, ordered, a, a + 1, end, degree)
                work -= end - begin
            work -= 1
            a += 1
        group += 1
        state[1] = 0
        work -= 1
    state[0] = group
    return True


@kernel
def _count(members: Members, ordered: int, a: int, begin: int, end: int, degree: Ints) -> int:
    """Count the partners of `a` in loops that the compiler vectorizes."""
    x, y, counted = members.x[begin:end], members.y[begin:end], degree[begin:end]
    x_a, y_a = members.x[a], members.y[a]
    found = np.int32(0)
    if ordered != 0:
        for i in range(x.shape[0]):
            hit = np.int32(((x[i] > x_a) & (y[i] < y_a)) | ((x[i] < x_a) & (y[i] > y_a)))
            counted[i] += hit
            found += hit
    else:
        for i in range(x.shape[0]):
            hit = np.int32((x[i] != x_a) & (y[i] != y_a))
            counted[i] += hit
            found += hit
    return int(found)


class Special(NamedTuple):
    """The rows of a constraint's groups that are of its minority or of that of an earlier constraint.

    Attributes
    ----------
    rows : int32
        Group by group.
    starts : int32 (groups + 1,)
        Where each group begins in `rows`.
    marked : bool (all rows,)
        Whether a row is in `rows`.
    """

    rows: Ints
    starts: Ints
    marked: NDArray[np.bool_]


class Chunk(NamedTuple):
    """Codes of some rows of a group, laid out for loops over pairs. Scratch.

    Attributes
    ----------
    group, x, y : int32 (constraints, CHUNK)
        Codes of the constraint itself (last), and of the needed earlier constraints.
    needed : int64 (constraints,)
        1 for a needed constraint, else 0.
    after : int64 (CHUNK,)
        A row meets those minority rows of the constraint that are below this.
    hit : int32 (CHUNK,)
    """

    group: Ints
    x: Ints
    y: Ints
    needed: NDArray[np.int64]
    after: NDArray[np.int64]
    hit: Ints


@kernel
def take_back(
    blocks: Blocks,
    k: int,
    earlier: NDArray[np.int64],
    special: Special,
    plain: int,
    chunk: Chunk,
    part: int,
    parts: int,
    degree: Ints,
    state: NDArray[np.int64],
    work: int,
) -> bool:
    """Subtract, for each row, pairs that violate constraint k and one of the earlier ones; return whether all are done.

    Every such pair is met from a minority row `a` of k. If the other row is not special, then it is of the majority of
    all these constraints: so it violates only those with `a` in whose minority `a` is.

    Parameters
    ----------
    earlier : int64
        Constraints before k that its pairs may also violate.
    plain : int
        1 for the pairs with rows that are not special, 0 for those of two special rows.
    part, parts : int
        Which share of the chunks of each group is done; the shares' results add up.
    degree : int32 (rows,)
        Subtracted from.
    state : int64 (3,)
        Where to go on: group, rows of it that are done, special rows that the next chunk has met.
    work : int
        Pairs to look at before the kernel returns.
    """
    while state[0] < special.starts.shape[0] - 1:
        group = state[0]
        concerned = special.rows[special.starts[group] : special.starts[group + 1]]
        listed = concerned
        if plain != 0:
            listed = blocks.members[k, blocks.starts[k, group] : blocks.starts[k, group + 1]]
        some = False
        for e in range(earlier.shape[0]):
            chunk.needed[e] = 0
            for a in concerned:
                if _is_needed(blocks, k, earlier[e], plain, np.int64(a)):
                    chunk.needed[e] = 1
                    some = True
                    break
        while some and state[1] < listed.shape[0]:
            low = state[1]
            high = min(low + CHUNK, listed.shape[0])
            if (group + low // CHUNK) % parts == part:
                _gather_all(blocks, k, earlier, special.marked, plain, listed[low:high], chunk)
                while state[2] < concerned.shape[0]:
                    if work <= 0:
                        return False
                    a = np.int64(concerned[state[2]])
                    if blocks.place[k, a] < 0:
                        work -= 1 + _take_back_from(blocks, k, earlier, plain, a, listed[low:high], chunk, degree)
                    state[2] += 1
            state[1], state[2] = high, 0
        state[0], state[1] = group + 1, 0
        work -= 1 + concerned.shape[0]
        if work <= 0:
            break
    return bool(state[0] >= special.starts.shape[0] - 1)


@kernel
def _is_needed(blocks: Blocks, k: int, j: Number, plain: int, a: Number) -> bool:
    """Return whether a row of k's minority may violate j with the rows that it meets."""
    return bool(blocks.place[k, a] < 0 and blocks.group[j, a] >= 0 and (plain == 0 or blocks.place[j, a] < 0))


@kernel
def _gather_all(
    blocks: Blocks, k: int, earlier: NDArray[np.int64], marked: NDArray[np.bool_], plain: int, rows: Ints, chunk: Chunk
) -> None:
    """Fill a chunk with the codes of rows."""
    own = earlier.shape[0]
    for e in range(own):
        if chunk.needed[e] > 0:
            gather(blocks, earlier[e], e, rows, chunk)
    gather(blocks, k, own, rows, chunk)
    for i in range(rows.shape[0]):
        b = np.int64(rows[i])
        if plain != 0:
            chunk.after[i] = 0 if marked[b] else blocks.group.shape[1]
        else:
            chunk.after[i] = b if blocks.place[k, b] < 0 else blocks.group.shape[1]


@kernel
def gather(blocks: Blocks, j: Number, e: int, rows: Ints, chunk: Chunk) -> None:
    """Fill one constraint's part of a chunk with rows.

    Parameters
    ----------
    blocks
        All constraints.
    j
        The constraint whose codes are copied.
    e
        The part of the chunk to fill.
    rows
        The rows, at most `CHUNK`.
    chunk
        Its `group` and `x` are filled, and `y` if the constraint is ordered or has two classes.
    """
    group, x = blocks.group[j], blocks.x[j]
    for i in range(rows.shape[0]):
        b = np.int64(rows[i])
        chunk.group[e, i], chunk.x[e, i] = group[b], x[b]
    if blocks.ordered[j] or blocks.both[j]:
        y = blocks.y[blocks.y_at[j]]
        for i in range(rows.shape[0]):
            chunk.y[e, i] = y[rows[i]]


@kernel
def _take_back_from(
    blocks: Blocks,
    k: int,
    earlier: NDArray[np.int64],
    plain: int,
    a: Number,
    rows: Ints,
    chunk: Chunk,
    degree: Ints,
) -> int:
    """Subtract the pairs of one minority row with a chunk, in loops that the compiler vectorizes; return the looks."""
    own, size, looks = earlier.shape[0], rows.shape[0], 0
    hit = chunk.hit[:size]
    for e in range(own):
        j = earlier[e]
        if chunk.needed[e] == 0 or not _is_needed(blocks, k, j, plain, a):
            continue
        if looks == 0:
            hit[:] = 0
        looks += size
        mark(blocks, j, a, chunk.group[e, :size], chunk.x[e, :size], chunk.y[e, :size], hit, np.int32(1))
    if looks == 0:
        return 0
    mark(blocks, k, a, chunk.group[own, :size], chunk.x[own, :size], chunk.y[own, :size], hit, np.int32(2))
    found = 0
    for i in range(size):
        if hit[i] == 3 and chunk.after[i] > a:
            degree[rows[i]] -= 1
            found += 1
    degree[a] -= found
    return int(looks + size)


@kernel
def mark(blocks: Blocks, j: Number, a: Number, group: Ints, x: Ints, y: Ints, hit: Ints, bit: np.int32) -> None:
    """Set a bit of those rows that violate j with `a`.

    Parameters
    ----------
    blocks
        All constraints.
    j
        The constraint.
    a
        A row.
    group, x, y
        Codes of the other rows at constraint j, shape `(rows,)`; y is read if j is ordered or has two classes.
    hit
        The bits of the other rows, shape `(rows,)`; added to.
    bit
        The bit to set.
    """
    group_a, x_a, y_a = blocks.group[j, a], blocks.x[j, a], np.int32(0)
    if blocks.ordered[j] or blocks.both[j]:
        y_a = blocks.y[blocks.y_at[j], a]
    if blocks.ordered[j]:
        for i in range(group.shape[0]):
            crossed = ((x[i] > x_a) & (y[i] < y_a)) | ((x[i] < x_a) & (y[i] > y_a))
            hit[i] |= bit * np.int32(crossed & (group[i] == group_a))
    elif blocks.both[j]:
        for i in range(group.shape[0]):
            hit[i] |= bit * np.int32((x[i] != x_a) & (y[i] != y_a) & (group[i] == group_a))
    else:
        for i in range(group.shape[0]):
            hit[i] |= bit * np.int32((x[i] != x_a) & (group[i] == group_a))


_BEFORE, _CLEAR, _AFTER, _CLEAR_AGAIN = 0, 1, 2, 3
_LEVELS = 16  # the cost of one access to the tree, in rows read in order


@kernel
def _add(tree: Ints, y: int) -> None:
    at = y + 1
    while at < tree.shape[0]:
        tree[at] += 1
        at += at & -at


@kernel
def _below(tree: Ints, y: int) -> int:
    """Count the entries of the tree that are below y."""
    found, at = 0, y
    while at > 0:
        found += tree[at]
        at &= at - 1
    return found


@kernel
def count_crossings(
    rows: Ints,
    starts: Ints,
    x: Ints,
    y: Ints,
    sign: int,
    tree: Ints,
    degree: NDArray[np.int64],
    state: NDArray[np.int64],
    work: int,
) -> bool:
    """Add to each row's degree, times `sign`, how many rows of its group cross it; returns whether all are counted.

    Sweeps each group by ascending and by descending x, with a Fenwick tree over the y of the rows that are strictly
    behind: O(rows log values).

    Parameters
    ----------
    rows, starts
        Each group's rows by ascending x.
    x, y
        Of all rows, at least 0.
    tree : int32 (values of y + 1,)
        Zeros, before and after.
    state
        Group, sweep of it, rows of the sweep that are done, of these the ones that are in the tree.
    """
    group, sweep = state[0], state[1]
    while group < starts.shape[0] - 1:
        begin, size = starts[group], starts[group + 1] - starts[group]
        done, taken = state[2], state[3]
        while done < size:
            if work <= 0:
                state[0], state[1], state[2], state[3] = group, sweep, done, taken
                return False
            work -= _LEVELS
            row = rows[begin + done if sweep <= _CLEAR else begin + size - 1 - done]
            if sweep in (_CLEAR, _CLEAR_AGAIN):
                at = y[row] + 1
                while at < tree.shape[0] and tree[at] != 0:  # whoever cleared an entry has cleared those above it
                    tree[at] = 0
                    at += at & -at
                done += 1
                continue
            behind = rows[begin + taken if sweep == _BEFORE else begin + size - 1 - taken]
            if x[behind] != x[row]:  # rows of equal x count once the next ones are met
                _add(tree, y[behind])
                taken += 1
                continue
            if sweep == _BEFORE:
                degree[row] += sign * (taken - _below(tree, y[row] + 1))
            else:
                degree[row] += sign * _below(tree, y[row])
            done += 1
        state[2], state[3] = 0, 0
        sweep += 1
        if sweep > _CLEAR_AGAIN:
            group, sweep = group + 1, np.int64(0)
            work -= 1
    return True
