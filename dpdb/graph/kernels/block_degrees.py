"""Degrees of a conflict graph given by blocks, one constraint at a time.

Every pair is counted from a minority row `a`, at its first violated constraint. Most partners are plain: majority rows
of the constraint and of all earlier ones. For those only the earlier constraints matter in which `a` itself is of the
minority; where there is none, all plain rows of the group count at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpdb.compiled import kernel

__all__ = ["CHUNK", "Members", "add_degrees"]

CHUNK = 4096


class Members(NamedTuple):
    """The rows of one constraint's groups.

    Attributes
    ----------
    starts : int32 (groups + 1,)
        Where each group begins; within a group plain rows come first.
    plain : int32 (groups,)
        How many plain rows each group has.
    row : int32 (members,)
        Ranks.
    ordered, both : bool (constraints,)
        The constraint itself, then the earlier ones that its pairs may also violate.
    group, x, y : int32 (constraints, members)
    minority : bool (constraints, members)
    """

    starts: NDArray[np.int32]
    plain: NDArray[np.int32]
    row: NDArray[np.int32]
    ordered: NDArray[np.bool_]
    both: NDArray[np.bool_]
    group: NDArray[np.int32]
    x: NDArray[np.int32]
    y: NDArray[np.int32]
    minority: NDArray[np.bool_]


@kernel
def _violates(members: Members, j: int, a: int, b: int) -> bool:
    if members.group[j, a] < 0 or members.group[j, a] != members.group[j, b]:
        return False
    xa, xb = members.x[j, a], members.x[j, b]
    ya, yb = members.y[j, a], members.y[j, b]
    if not members.ordered[j]:
        return bool(xa != xb and ya != yb)
    return bool((xa > xb and ya < yb) or (xa < xb and ya > yb))


@kernel
def _count_special(members: Members, a: int, begin: int, end: int, degree: NDArray[np.int32]) -> int:
    found = 0
    for b in range(begin, end):
        # A pair of two minority rows is counted once, from its lower row.
        if members.minority[0, b] and members.row[b] <= members.row[a]:
            continue
        hit = True
        for j in range(members.ordered.shape[0]):  # its own constraint, and none of the earlier ones
            hit = hit and _violates(members, j, a, b) == (j == 0)
        degree[b] += hit
        found += hit
    return found


@kernel
def _count_plain(
    members: Members, a: int, begin: int, end: int, hit: NDArray[np.int32], degree: NDArray[np.int32]
) -> int:
    """Count plain partners in loops that the compiler vectorizes."""
    found = 0
    for low in range(begin, end, CHUNK):
        size = CHUNK if end - low > CHUNK else end - low
        if members.ordered[0]:
            xa, ya = members.x[0, a], members.y[0, a]
            for i in range(size):
                xb, yb = members.x[0, low + i], members.y[0, low + i]
                hit[i] = ((xb > xa) & (yb < ya)) | ((xb < xa) & (yb > ya))
        elif members.both[0]:
            xa, ya = members.x[0, a], members.y[0, a]
            for i in range(size):
                hit[i] = (members.x[0, low + i] != xa) & (members.y[0, low + i] != ya)
        else:
            for i in range(size):
                hit[i] = 1  # plain rows are of the majority class, a is not
        for j in range(1, members.ordered.shape[0]):
            if not members.minority[j, a]:
                continue
            g, xa, ya = members.group[j, a], members.x[j, a], members.y[j, a]
            if members.ordered[j]:
                for i in range(size):
                    xb, yb = members.x[j, low + i], members.y[j, low + i]
                    crossed = ((xb > xa) & (yb < ya)) | ((xb < xa) & (yb > ya))
                    hit[i] &= not (crossed & (members.group[j, low + i] == g))
            elif members.both[j]:
                for i in range(size):
                    alike = (members.x[j, low + i] == xa) | (members.y[j, low + i] == ya)
                    hit[i] &= (members.group[j, low + i] != g) | alike
            else:
                for i in range(size):
                    hit[i] &= (members.group[j, low + i] != g) | (members.x[j, low + i] == xa)
        for i in range(size):
            degree[low + i] += hit[i]
            found += hit[i]
    return found


@kernel
def add_degrees(
    members: Members,
    part: int,
    parts: int,
    degree: NDArray[np.int32],
    hit: NDArray[np.int32],
    state: NDArray[np.int64],
    work: int,
) -> bool:
    """Count, for each member, the pairs whose first violated constraint is the members' own; return whether all are.

    `part` of `parts` shares of the minority rows are counted from; the shares' results add up.

    Parameters
    ----------
    degree : int32 (members,)
        Added to; zeros in the beginning.
    hit : int32 (CHUNK,)
        Scratch.
    state : int64 (3,)
        Where to go on: group, rows of it that are done, how many of these all its plain rows conflict with.
    work : int
        Pairs to look at before the kernel returns.
    """
    block = state[0]
    while block < members.plain.shape[0]:
        begin, end = members.starts[block], members.starts[block + 1]
        special = begin + members.plain[block]
        a, all_plain = special + state[1], state[2]
        while a < end:
            if work <= 0:
                state[0], state[1], state[2] = block, a - special, all_plain
                return False
            work -= 1
            if members.minority[0, a] and a % parts == part:
                at_once = not members.ordered[0] and not members.both[0]
                for j in range(1, members.ordered.shape[0]):
                    at_once = at_once and not members.minority[j, a]
                if at_once:
                    all_plain += 1
                    found = special - begin
                else:
                    found = _count_plain(members, a, begin, special, hit, degree)
                    work -= special - begin
                degree[a] += found + _count_special(members, a, special, end, degree)
                work -= end - special
            a += 1
        for b in range(begin, special):
            degree[b] += all_plain
        work -= 1 + special - begin
        block += 1
        state[1], state[2] = 0, 0
    state[0] = block
    return True
