"""Edge-addition projection of a conflict graph given by blocks.

The scan is bound by memory, so the data of candidates lie in the order in which the scan meets them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpdb.compiled import kernel
from dpdb.graph.kernels.blocks import Ahead, Blocks, Remaining, leave, look_ahead_from

Ints = NDArray[np.int32]


class Candidates(NamedTuple):
    """The data of the rows in `Blocks.members` or `Blocks.short` that a scan reads, place by place.

    Attributes
    ----------
    slot, x, y : int32 (constraints, longest)
        Where the row's state is kept, and its positions; y is read only of constraints whose y is not x.
    """

    slot: Ints
    x: Ints
    y: Ints


@kernel
def project(
    blocks: Blocks,
    slot_of: Ints,
    members: Candidates,
    short: Candidates,
    member_jumps: Ints,
    short_jumps: Ints,
    left: Remaining,
    ahead: Ahead,
    degree_and_last: Ints,
    theta: int,
    first: int,
    work: int,
) -> tuple[int, int]:
    """Edge-addition projection (Algorithm 1), from row `first` on; returns the next row and the edges that were added.

    The edges (u, v) of one u are met constraint by constraint, v ascending. A candidate v that has reached theta leaves
    the list when it is met: `jumps` lead from a place to the next present one. So each row looked at gives an edge, or
    leaves for good, or is below theta without being in conflict, or was joined at an earlier constraint. A group
    without a minority row that is below theta, from u on, is not entered: what is kept has such a row.

    A pair counts at the first constraint it violates, yet the earlier ones need no test. Let (u, v) violate j < k, and
    let v be met at k while both are below theta. They were below theta at j as well, since degrees only grow, and v was
    a candidate there, since a majority row conflicts with the minority only: so the edge was kept at j, and v still
    remembers u as the last row whose scan joined it. Conversely, v remembers u only if an earlier constraint of this
    scan joined them: within one constraint each candidate is met once.

    Parameters
    ----------
    slot_of : int32 (rows,)
        A permutation: where the state of each row is kept. It changes no result, only locality.
    member_jumps, short_jumps : int32 (constraints, longest + 1)
        As in `kernels.blocks`; zeros in the beginning.
    left : Remaining
        The minority rows of each group, from row u on, that are below theta.
    degree_and_last : int32 (rows, 2)
        Zeros in the beginning; by slot, the degree, and the last row whose scan joined it, + 1.
    work : int
        Candidates to look at before the kernel returns, after a whole row.
    """
    constraints, n = blocks.group.shape
    edges = 0
    u, seen, size = first, first, ahead.rows.shape[0]
    while u < n and work > 0:
        work -= 1
        if u == seen:
            look_ahead_from(blocks, u, left, ahead)
            seen += size
        if ahead.bits[u + size - seen] == 0:
            u += 1
            continue
        slot_u = slot_of[u]
        degree = degree_and_last[slot_u, 0]
        was_below = degree < theta
        for k in range(constraints):
            if degree >= theta:
                break
            group = blocks.group[k, u]
            if left.some[k, group] == 0:
                continue
            place = blocks.place[k, u]
            if place < 0:
                row, slot, x, y, jumps = blocks.members[k], members.slot[k], members.x[k], members.y[k], member_jumps[k]
                place, end = -place, blocks.starts[k, group + 1]
            else:
                row, slot, x, y, jumps = blocks.short[k], short.slot[k], short.x[k], short.y[k], short_jumps[k]
                end = blocks.short_starts[k, group + 1]
            ordered, both = blocks.ordered[k], blocks.both[k]
            x_u, y_u = blocks.x[k, u], np.int32(0)
            if ordered or both:
                y_u = blocks.y[blocks.y_at[k], u]
            while place < end:
                work -= 1
                jump = jumps[place]
                if jump != 0:
                    jumps[place] = jump + jumps[place + jump]  # path halving
                    place += jumps[place]
                    continue
                v = slot[place]
                if degree_and_last[v, 0] >= theta:
                    jumps[place] = 1
                elif degree_and_last[v, 1] != u + 1:
                    if ordered:
                        conflict = (x[place] > x_u and y[place] < y_u) or (x[place] < x_u and y[place] > y_u)
                    else:
                        conflict = x[place] != x_u and (not both or y[place] != y_u)
                    if conflict:
                        degree_and_last[v, 0] += 1
                        degree_and_last[v, 1] = u + 1
                        if degree_and_last[v, 0] == theta:
                            leave(blocks, np.int64(row[place]), left)
                        edges += 1
                        degree += 1
                        if degree == theta:
                            break
                place += 1
        degree_and_last[slot_u, 0] = degree
        if was_below:  # it is, or rows above it do not meet it any more
            leave(blocks, u, left)
        u += 1
    return u, edges
