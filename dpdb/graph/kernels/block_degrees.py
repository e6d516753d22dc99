"""Degrees of a conflict graph given by blocks, one constraint at a time.

A constraint's pairs are counted first, whatever else they violate; then those are taken back that violate an earlier
constraint, too. These are few: one of the two rows is of the minority of the constraint, and one of that of an earlier
constraint.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpdb.compiled import kernel
from dpdb.graph.kernels.blocks import Blocks, violates

__all__ = ["Members", "Special", "count_pairs", "take_back"]

Ints = NDArray[np.int32]


class Members(NamedTuple):
    """The rows of the groups of one constraint that is ordered or has two classes.

    Attributes
    ----------
    starts : int32 (groups + 1,)
        Where each group begins; within a group the majority comes first.
    majority : int32 (groups,)
        How many rows of each group are of it.
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
    return np.int64(found)


class Special(NamedTuple):
    """The rows of a constraint's groups that are of its minority or of that of an earlier constraint.

    Attributes
    ----------
    rows : int32
        Group by group.
    starts : int32 (groups + 1,)
        Where each group begins in them.
    marked : bool (all rows,)
        Whether a row is one of them.
    """

    rows: Ints
    starts: Ints
    marked: NDArray[np.bool_]


@kernel
def take_back(
    blocks: Blocks,
    k: int,
    earlier: NDArray[np.int64],
    special: Special,
    chosen: NDArray[np.int64],
    part: int,
    parts: int,
    degree: Ints,
    state: NDArray[np.int64],
    work: int,
) -> bool:
    """Subtract, for each row, the pairs that violate constraint k and one of the earlier ones; return whether all are.

    Every such pair is met from a minority row `a` of k. If the other row is not special, then it is of the majority of
    all these constraints: so it violates only those with `a` in whose minority `a` is.

    Parameters
    ----------
    earlier : int64
        Constraints before k that its pairs may also violate.
    chosen : int64 (earlier,)
        Scratch.
    part, parts
        As of `count_pairs`.
    degree : int32 (rows,)
        Subtracted from.
    state : int64 (2,)
        Where to go on: group, special rows of it that are done.
    work : int
        Pairs to look at before the kernel returns.
    """
    group = state[0]
    while group < special.starts.shape[0] - 1:
        begin, end = special.starts[group], special.starts[group + 1]
        i = begin + state[1]
        while i < end:
            if work <= 0:
                state[0], state[1] = group, i - begin
                return False
            work -= 1
            a = np.int64(special.rows[i])
            if i % parts == part and blocks.place[k, a] < 0:
                count = 0
                for j in earlier:
                    if blocks.group[j, a] >= 0 and blocks.place[j, a] < 0:
                        chosen[count] = j
                        count += 1
                if count > 0:
                    for at in range(blocks.starts[k, group], blocks.starts[k, group + 1]):
                        b = np.int64(blocks.members[k, at])
                        if not special.marked[b] and _violates_any(blocks, chosen, count, a, b):
                            taken = violates(blocks, k, a, b)
                            degree[a] -= taken
                            degree[b] -= taken
                    work -= blocks.starts[k, group + 1] - blocks.starts[k, group]
                for at in range(begin, end):
                    b = np.int64(special.rows[at])
                    if (blocks.place[k, b] >= 0 or b > a) and violates(blocks, k, a, b):
                        taken = _violates_any(blocks, earlier, earlier.shape[0], a, b)
                        degree[a] -= taken
                        degree[b] -= taken
                work -= end - begin
            i += 1
        group += 1
        state[1] = 0
        work -= 1
    state[0] = group
    return True


@kernel
def _violates_any(blocks: Blocks, constraints: NDArray[np.int64], count: int, a: int, b: int) -> bool:
    for at in range(count):
        if violates(blocks, constraints[at], a, b):
            return True
    return False
