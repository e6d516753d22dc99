"""Edge-addition projection of a conflict graph given by blocks, to a theta that no plain row's degree exceeds.

A row is special if it is in the minority of any of its groups, else plain. Every conflict has a special row, and a
plain row is in conflict only with rows of the minorities of its groups.

A plain row that never reaches theta keeps no edge away: an edge between it and a special row is kept if and only if the
special row is below theta when it is met. So only special rows are visited, and of plain rows only the number that each
special row has met so far is needed. First, `count_plain` counts with how many plain rows each special row is in
conflict.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpdb.compiled import kernel
from dpdb.graph.kernels.block_degrees import CHUNK, Chunk, gather, mark
from dpdb.graph.kernels.block_projection import Candidates
from dpdb.graph.kernels.blocks import Blocks, conflict, violates

Ints = NDArray[np.int32]
Number = int | np.int64

_NO_LIMIT = 1 << 62


class Special(NamedTuple):
    """The special rows, and the number of plain rows in conflict with each.

    Attributes
    ----------
    rows : int32 (special,)
        Ascending.
    degree : int32 (special,)
        Degree in the whole graph; by slot, as `place` and `plain`.
    listed : int32 (constraints, longest)
        Each group's special rows by rank.
    starts : int32 (constraints, groups + 1)
        Where each group begins in `listed`.
    place : int32 (constraints, special)
        Where each row's list goes on behind itself.
    passed : int32 (constraints, longest)
        How many plain rows come before each in `Blocks.members`.
    plain : int32 (spans + 1, special)
        How many plain rows of the spans before each are in conflict with it.
    span : int
        Rows r with one r >> span are one span.
    """

    rows: Ints
    degree: Ints
    listed: Ints
    starts: Ints
    place: Ints
    passed: Ints
    plain: Ints
    span: int


@kernel
def project_counted(
    blocks: Blocks,
    slot_of: Ints,
    members: Candidates,
    short: Candidates,
    listed: Candidates,
    special: Special,
    member_jumps: Ints,
    short_jumps: Ints,
    listed_jumps: Ints,
    degree_and_last: Ints,
    counted: Ints,
    theta: int,
    first: int,
    work: int,
) -> tuple[int, int]:
    """Count the edges that `kernels.block_projection.project` keeps; return the next special row and edges to add.

    A row u meets others as it does there, except plain rows: if u cannot reach theta, it joins all plain rows that are
    to come, wherever they are; else all between two special rows, where they are in conflict in any case and met at no
    other constraint, and only else one by one.

    An edge is counted with its special row, after that row has met its last row: all its kept edges are known then,
    since the rows above it have met it already. So an edge of two special rows is counted twice, and subtracted once.

    Parameters
    ----------
    slot_of, members, short, member_jumps, short_jumps
        As in `project`; special rows have the first slots.
    listed, listed_jumps
        The same for `special.listed`.
    degree_and_last : int32 (special, 2)
        Zeros in the beginning; by slot, how many special rows joined the row, and the last row whose scan did, + 1.
    counted : int32 (special, 2)
        Zeros in the beginning; by slot, a row, and how many plain rows below it are in conflict with the special one.
    theta : int
        At least the degree of each plain row.
    """
    constraints, count = blocks.group.shape[0], special.rows.shape[0]
    spans = special.plain.shape[0] - 1
    edges, i = 0, first
    while i < count and work > 0:
        u = np.int64(special.rows[i])
        i += 1
        work -= constraints
        slot_u = np.int64(slot_of[u])
        all_plain = np.int64(special.plain[spans, slot_u])
        limit, degree = np.int64(theta), np.int64(degree_and_last[slot_u, 0])
        if special.degree[slot_u] <= theta:
            degree += all_plain
            limit = np.int64(_NO_LIMIT)
        elif degree + special.plain[u >> special.span, slot_u] >= theta:
            edges += theta
            continue
        else:
            met, looks = _plain_before(blocks, members, special, counted, slot_u, u, u)
            work -= looks
            degree += met
            to_meet = all_plain - met
            for k in range(constraints):
                to_meet += _to_meet(blocks, special, k, u, slot_u)
            if degree + to_meet < theta:
                degree += all_plain - met
                limit = np.int64(_NO_LIMIT)
        for k in range(constraints):
            if degree >= limit:
                break
            group, ordered, both = blocks.group[k, u], blocks.ordered[k], blocks.both[k]
            if group < 0:
                continue
            several = _meets_before(blocks, k, u)
            by_gaps = limit == theta and blocks.place[k, u] < 0 and not (ordered or both or several)
            if blocks.place[k, u] >= 0:
                row, slot, x, y, jumps = blocks.short[k], short.slot[k], short.x[k], short.y[k], short_jumps[k]
                place, end = blocks.place[k, u], blocks.short_starts[k, group + 1]
            elif limit > theta or by_gaps:
                row, slot, x, y, jumps = special.listed[k], listed.slot[k], listed.x[k], listed.y[k], listed_jumps[k]
                place, end = special.place[k, slot_u], special.starts[k, group + 1]
            else:
                row, slot, x, y, jumps = blocks.members[k], members.slot[k], members.x[k], members.y[k], member_jumps[k]
                place, end = -blocks.place[k, u], blocks.starts[k, group + 1]
            x_u, y_u = blocks.x[k, u], np.int32(0)
            if ordered or both:
                y_u = blocks.y[blocks.y_at[k], u]
            passed = special.passed[k, place - 1] if by_gaps else np.int32(0)
            while place < end:
                work -= 1
                jump = jumps[place]
                if jump != 0:
                    jumps[place] = jump + jumps[place + jump]  # path halving
                    place += jumps[place]
                    continue
                if by_gaps:
                    degree += special.passed[k, place] - passed
                    passed = special.passed[k, place]
                    if degree >= limit:
                        break
                v = np.int64(slot[place])
                if v < count and degree_and_last[v, 1] == u + 1:
                    place += 1
                    continue
                if ordered:
                    hit = (x[place] > x_u and y[place] < y_u) or (x[place] < x_u and y[place] > y_u)
                else:
                    hit = x[place] != x_u and (not both or y[place] != y_u)
                if hit:
                    if v >= count:
                        degree += not several or not _met_before(blocks, k, u, np.int64(row[place]))
                    else:
                        missing = theta - np.int64(degree_and_last[v, 0])
                        full, looks = _is_full(blocks, members, special, counted, missing, v, np.int64(row[place]), u)
                        work -= looks
                        if full:
                            jumps[place] = 1
                        else:
                            degree_and_last[v, 0] += 1
                            degree_and_last[v, 1] = u + 1
                            degree += 1
                            edges -= 1
                    if degree == limit:
                        break
                place += 1
            if by_gaps and degree < limit:
                degree += int(blocks.starts[k, group + 1] - end - passed)
        edges += int(min(degree, limit))
    return i, edges


@kernel
def _to_meet(blocks: Blocks, special: Special, k: int, u: Number, slot: Number) -> int:
    """Bound the number of special rows of one list that a special row still meets."""
    group = blocks.group[k, u]
    if group < 0:
        return 0
    if blocks.place[k, u] >= 0:
        return int(blocks.short_starts[k, group + 1] - blocks.place[k, u])
    return int(special.starts[k, group + 1] - special.place[k, slot])


@kernel
def _meets_before(blocks: Blocks, k: int, u: Number) -> bool:
    """Return whether a special row meets plain rows of k at earlier constraints, too."""
    for j in range(k):
        if blocks.tested[k, j] and is_minority(blocks, j, u):
            return True
    return False


@kernel
def _met_before(blocks: Blocks, k: int, u: Number, v: Number) -> bool:
    """Return whether a special row met a plain one at a constraint before k."""
    for j in range(k):
        if blocks.tested[k, j] and blocks.place[j, u] < 0 and violates(blocks, j, u, v):
            return True
    return False


@kernel
def _is_full(
    blocks: Blocks,
    members: Candidates,
    special: Special,
    counted: Ints,
    missing: Number,
    slot: Number,
    row: Number,
    now: Number,
) -> tuple[bool, int]:
    """Return whether `missing` plain rows below row `now` are in conflict with a special row; and the looks."""
    at = now >> special.span
    if special.plain[at, slot] >= missing:
        return True, 0
    if special.plain[at + 1, slot] < missing:
        return False, 0
    since = np.int64(counted[slot, 0])
    if since >= at << special.span and counted[slot, 1] + now - since < missing:
        return False, 0
    plain, looks = _plain_before(blocks, members, special, counted, slot, row, now)
    return bool(plain >= missing), looks


@kernel
def _plain_before(
    blocks: Blocks, members: Candidates, special: Special, counted: Ints, slot: Number, row: Number, now: Number
) -> tuple[int, int]:
    """Count the plain rows below `now` that are in conflict with a special row, not below `now`; and the looks.

    For one row `now` only grows, and the count is kept: so each plain row is looked at once.
    """
    since = (now >> special.span) << special.span
    found, looks = np.int64(special.plain[now >> special.span, slot]), 0
    if counted[slot, 0] >= since:
        since, found = np.int64(counted[slot, 0]), np.int64(counted[slot, 1])
    for k in range(blocks.group.shape[0]):
        if not is_minority(blocks, k, row):
            continue
        looks += 1
        first, end = np.int64(blocks.starts[k, blocks.group[k, row]]), np.int64(-blocks.place[k, row] - 1)
        place = _first_from(blocks.members[k], first, end, since)
        several = _meets_before(blocks, k, row)
        if not (several or blocks.ordered[k] or blocks.both[k]):  # in conflict with all plain rows of its group
            own, own_end = np.int64(special.starts[k, blocks.group[k, row]]), np.int64(special.place[k, slot] - 1)
            own = np.int64(_first_from(special.listed[k], own, own_end, since))
            found += _first_from(blocks.members[k], place, end, now) - place
            found -= _first_from(special.listed[k], own, own_end, now) - own
            continue
        while place < end and blocks.members[k, place] < now:
            v = np.int64(blocks.members[k, place])
            if members.slot[k, place] >= special.rows.shape[0] and conflict(blocks, k, row, v):
                found += not several or not _met_before(blocks, k, row, v)
            place += 1
            looks += 1
    counted[slot, 0], counted[slot, 1] = now, found
    return int(found), looks


@kernel
def _first_from(rows: Ints, place: Number, end: Number, row: Number) -> Number:
    """Find the first place of a row that is not below `row`, in ascending ones; `end` if there is none."""
    while place < end:
        middle = (place + end) // 2
        if rows[middle] < row:
            place = middle + 1
        else:
            end = middle
    return place


@kernel
def count_plain(
    blocks: Blocks,
    k: int,
    earlier: NDArray[np.int64],
    members: Candidates,
    short: Candidates,
    rows: Ints,
    chunk: Chunk,
    plain: Ints,
    span: int,
    state: NDArray[np.int64],
    work: int,
) -> bool:
    """Count, for each special row and span, the plain rows whose first violated constraint with it is k.

    Parameters
    ----------
    earlier : int64
        Constraints before k that its pairs may also violate.
    rows : int32 (CHUNK,)
        Scratch, as `chunk`.
    plain : int32 (spans + 1, special)
        By slot; added to, one span further on.
    state : int64 (2,)
        Where to go on: group, members of it that are done.
    work : int
        Pairs to look at before the kernel returns; returns whether all are counted.
    """
    special, own = plain.shape[1], earlier.shape[0]
    while state[0] < blocks.starts.shape[1] - 1:
        group = state[0]
        first, last = blocks.short_starts[k, group], blocks.short_starts[k, group + 1]
        place, end = np.int64(blocks.starts[k, group]) + state[1], np.int64(blocks.starts[k, group + 1])
        if first == last:
            place = end
        for e in range(own):
            chunk.needed[e] = 0
            for i in range(first, last):
                chunk.needed[e] |= is_minority(blocks, earlier[e], np.int64(blocks.short[k, i]))
        while place < end:
            if work <= 0:
                state[1] = place - blocks.starts[k, group]
                return False
            at, size, begin = blocks.members[k, place] >> span, 0, place
            while place < end and size < CHUNK and blocks.members[k, place] >> span == at:
                rows[size] = blocks.members[k, place]
                size += members.slot[k, place] >= special
                place += 1
            work -= place - begin
            if size == 0:
                continue
            for e in range(own):
                if chunk.needed[e] != 0:
                    gather(blocks, earlier[e], e, rows[:size], chunk)
            if blocks.ordered[k] or blocks.both[k]:
                gather(blocks, k, own, rows[:size], chunk)
            for i in range(first, last):
                found = _first_violations(blocks, k, earlier, np.int64(blocks.short[k, i]), size, chunk)
                plain[at + 1, short.slot[k, i]] += found
            work -= (last - first) * (1 + (size >> 3))
        state[0], state[1] = group + 1, 0
        work -= 1 + last - first
    return True


@kernel
def is_minority(blocks: Blocks, k: Number, row: Number) -> bool:
    """Return whether a row is in the minority of its group of k."""
    return bool(blocks.group[k, row] >= 0 and blocks.place[k, row] < 0)


@kernel
def _first_violations(
    blocks: Blocks, k: int, earlier: NDArray[np.int64], row: Number, size: int, chunk: Chunk
) -> np.int32:
    """Count the plain rows of a chunk, all of one group, that violate k with a row of its minority, and nothing before.

    With a plain row it violates only those constraints in whose minority it is.
    """
    own, hit = earlier.shape[0], chunk.hit[:size]
    several = blocks.ordered[k] or blocks.both[k]
    marked = several
    if several:
        hit[:] = 0
        mark(blocks, k, row, chunk.group[own, :size], chunk.x[own, :size], chunk.y[own, :size], hit, np.int32(2))
    for e in range(own):
        if chunk.needed[e] != 0 and is_minority(blocks, earlier[e], row):
            if not marked:
                hit[:] = 0
            marked = True
            j = earlier[e]
            mark(blocks, j, row, chunk.group[e, :size], chunk.x[e, :size], chunk.y[e, :size], hit, np.int32(1))
    if not marked:
        return np.int32(size)
    wanted, found = np.int32(2 if several else 0), np.int32(0)
    for i in range(size):
        found += hit[i] == wanted
    return found
