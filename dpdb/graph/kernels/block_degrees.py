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
from dpdb.graph.kernels.blocks import Blocks, conflict

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


class Minorities(NamedTuple):
    """In which constraints each row is of its group's minority.

    Attributes
    ----------
    starts : int32 (rows + 1,)
        Where each row's constraints begin.
    constraints : int32
        Their positions, row by row, ascending.
    """

    starts: Ints
    constraints: Ints


class Entries(NamedTuple):
    """The earlier constraints in whose minority the rows of a chunk are. Scratch.

    Attributes
    ----------
    row, constraint : int32
        The row's place in the chunk, and the constraint's position.
    group, x : int32
        The row's codes there.
    """

    row: Ints
    constraint: Ints
    group: Ints
    x: Ints


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
    part_of: NDArray[np.int64],
    minorities: Minorities,
    rows: Ints,
    starts: Ints,
    special: int,
    chunk: Chunk,
    entries: Entries,
    part: int,
    parts: int,
    degree: Ints,
    state: NDArray[np.int64],
    work: int,
) -> bool:
    """Subtract, for each row, pairs that violate constraint k and one of the earlier ones; return whether all are done.

    Every such pair is met from a minority row `a` of k. Of each constraint that a pair violates, one of the two rows is
    in the minority. So only those constraints are looked at in whose minority `a` is, for all other rows at once, and
    those in whose minority the other row is, one by one: few, where minorities are small.

    Parameters
    ----------
    earlier : int64
        Constraints before k that its pairs may also violate.
    part_of : int64 (constraints,)
        The place of each of these in `earlier`; -1 for others.
    rows, starts
        The other rows, by groups of k: with `special` those in the minority of any constraint, else all of the groups.
    special : int
        1 for the pairs with rows that are in the minority of any constraint, 0 for those with the rest.
    part, parts : int
        Which share of the chunks of each group is done; the shares' results add up.
    degree : int32 (rows,)
        Subtracted from.
    state : int64 (3,)
        Where to go on: group, rows of it that are done, minority rows that the next chunk has met.
    work : int
        Pairs to look at before the kernel returns.
    """
    while state[0] < starts.shape[0] - 1:
        group = state[0]
        minority = blocks.short[k, blocks.short_starts[k, group] : blocks.short_starts[k, group + 1]]
        listed = rows[starts[group] : starts[group + 1]]
        some = _needed(part_of, minorities, minority, chunk)
        while (some or special != 0) and minority.shape[0] > 0 and state[1] < listed.shape[0]:
            low = state[1]
            high = min(low + CHUNK, listed.shape[0])
            if (group + low // CHUNK) % parts == part:
                _gather_all(blocks, k, earlier, listed[low:high], special, chunk)
                count = _fill_entries(blocks, part_of, minorities, listed[low:high], special, entries)
                while state[2] < minority.shape[0]:
                    if work <= 0:
                        return False
                    a = np.int64(minority[state[2]])
                    work -= 1 + _take_back_from(
                        blocks, k, part_of, minorities, a, listed[low:high], chunk, entries, count, degree
                    )
                    state[2] += 1
            state[1], state[2] = high, 0
        state[0], state[1] = group + 1, 0
        work -= 1 + minority.shape[0]
        if work <= 0:
            break
    return bool(state[0] >= starts.shape[0] - 1)


@kernel
def _needed(part_of: NDArray[np.int64], minorities: Minorities, rows: Ints, chunk: Chunk) -> bool:
    """Note the earlier constraints in whose minority any of some rows is; return whether there are any."""
    chunk.needed[:] = 0
    some = False
    for a in rows:
        for place in range(minorities.starts[a], minorities.starts[a + 1]):
            e = part_of[minorities.constraints[place]]
            if e >= 0:
                chunk.needed[e] = 1
                some = True
    return some


@kernel
def _gather_all(blocks: Blocks, k: int, earlier: NDArray[np.int64], rows: Ints, special: int, chunk: Chunk) -> None:
    """Fill a chunk with the codes of rows; a row meets those of k's minority that are below it, or all of them."""
    own = earlier.shape[0]
    for e in range(own):
        if chunk.needed[e] > 0:
            gather(blocks, earlier[e], e, rows, chunk)
    gather(blocks, k, own, rows, chunk)
    for i in range(rows.shape[0]):
        b = np.int64(rows[i])
        if special == 0 and blocks.minority[b]:
            chunk.after[i] = 0
        else:
            chunk.after[i] = b if blocks.place[k, b] < 0 else blocks.group.shape[1]


@kernel
def _fill_entries(
    blocks: Blocks, part_of: NDArray[np.int64], minorities: Minorities, rows: Ints, special: int, entries: Entries
) -> int:
    """List the earlier constraints in whose minority the special rows of a chunk are; return their number."""
    count = 0
    if special == 0:
        return count
    for i in range(rows.shape[0]):
        b = np.int64(rows[i])
        for place in range(minorities.starts[b], minorities.starts[b + 1]):
            j = minorities.constraints[place]
            if part_of[j] >= 0:
                entries.row[count], entries.constraint[count] = i, j
                entries.group[count], entries.x[count] = blocks.group[j, b], blocks.x[j, b]
                count += 1
    return count


@kernel
def _take_back_from(
    blocks: Blocks,
    k: int,
    part_of: NDArray[np.int64],
    minorities: Minorities,
    a: np.int64,
    rows: Ints,
    chunk: Chunk,
    entries: Entries,
    count: int,
    degree: Ints,
) -> int:
    """Subtract the pairs of one minority row with a chunk; return the looks. `hit` is 0 before and after."""
    own, size, looks = chunk.needed.shape[0], rows.shape[0], 2 * count
    hit = chunk.hit[:size]
    for place in range(minorities.starts[a], minorities.starts[a + 1]):
        j = np.int64(minorities.constraints[place])
        e = part_of[j]
        if e >= 0:
            mark(blocks, j, a, chunk.group[e, :size], chunk.x[e, :size], chunk.y[e, :size], hit, np.int32(1))
            looks += size
    for entry in range(count):
        other, i = int(entries.constraint[entry]), entries.row[entry]
        if entries.group[entry] == blocks.group[other, a] and entries.x[entry] != blocks.x[other, a]:
            plain = not blocks.ordered[other] and not blocks.both[other]
            if plain or conflict(blocks, other, a, np.int64(rows[i])):
                hit[i] = 1
    found = 0
    if looks == 2 * count:  # no row but those with entries is hit
        for entry in range(count):
            i = entries.row[entry]
            if hit[i] != 0:
                hit[i] = 0
                if chunk.after[i] > a and conflict(blocks, k, a, np.int64(rows[i])):
                    degree[rows[i]] -= 1
                    found += 1
    else:
        mark(blocks, k, a, chunk.group[own, :size], chunk.x[own, :size], chunk.y[own, :size], hit, np.int32(2))
        for i in range(size):
            if hit[i] == 3 and chunk.after[i] > a:
                degree[rows[i]] -= 1
                found += 1
        hit[:] = 0
        looks += size
    degree[a] -= found
    return int(looks)


@kernel
def gather(blocks: Blocks, j: Number, e: int, rows: Ints, chunk: Chunk) -> None:
    """Fill one constraint's part of a chunk with rows.

    Parameters
    ----------
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
def mark(blocks: Blocks, j: Number, a: Number, group: Ints, x: Ints, y: Ints, hit: Ints, bit: np.int32) -> None:
    """Set a bit of those rows that violate j with `a`.

    Parameters
    ----------
    group, x, y
        Codes of the other rows at constraint j, shape `(rows,)`; y is read if j is ordered or has two classes.
    hit
        The bits of the other rows, shape `(rows,)`; added to.
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
