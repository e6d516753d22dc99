"""Kernels over listed edges: degrees, projections, witness counts, adjacency lists, and matchings.

Adjacency lists are in compressed form: they are filled, sorted and induced, and an independent set is chosen of them.

The matching is a maximum one of the bipartite double cover, with its Koenig set. The double cover has a left and a
right copy of every node; the edge {x, y} becomes (x left, y right) and (y left, x right). So one adjacency serves both
sides. Start: Karp and Sipser (1981); then augmenting paths in phases: Hopcroft and Karp (1973).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpdb.compiled import kernel

Ends = NDArray[np.uint32]
Counts = NDArray[np.uint32]


@kernel
def count_degrees(u: Ends, v: Ends, degree: NDArray[np.int64]) -> None:
    """Add edges to the degrees of their nodes.

    Parameters
    ----------
    u, v
        Endpoints of the edges, shape `(edges,)`.
    degree
        Shape `(nodes,)`; added to.
    """
    for i in range(u.shape[0]):
        degree[u[i]] += 1
        degree[v[i]] += 1


@kernel
def project(u: Ends, v: Ends, theta: int, degree: Counts) -> None:
    """Add edges, in order, to the projection to a theta (paper A, Algorithm 1).

    Parameters
    ----------
    u, v
        Endpoints of the edges in canonical order, shape `(edges,)`.
    theta
        The bound.
    degree
        Degrees in the projection, shape `(nodes,)`; added to.
    """
    for i in range(u.shape[0]):
        a, b = u[i], v[i]
        if degree[a] < theta and degree[b] < theta:
            degree[a] += 1
            degree[b] += 1


@kernel
def witness(u: Ends, v: Ends, theta: int, covers: Counts, covered: NDArray[np.bool_]) -> None:
    """Scan edges, in order: u covers v if it can, then v covers u.

    Parameters
    ----------
    u, v
        Endpoints of the edges in canonical order, shape `(edges,)`.
    theta
        How many others a node covers at most.
    covers
        How many it covers, shape `(nodes,)`; added to.
    covered
        Whether it is covered, shape `(nodes,)`; updated.
    """
    for i in range(u.shape[0]):
        a, b = u[i], v[i]
        if not covered[b] and covers[a] < theta:
            covers[a] += 1
            covered[b] = True
        if not covered[a] and covers[b] < theta:
            covers[b] += 1
            covered[a] = True


@kernel
def fill_adjacency(
    u: NDArray[np.uint32], v: NDArray[np.uint32], cursor: NDArray[np.int64], neighbours: NDArray[np.uint32]
) -> None:
    """Write every edge into the lists of both its nodes.

    Parameters
    ----------
    u, v
        Endpoints of the edges, shape `(edges,)`.
    cursor
        The next free place of each node's list, shape `(nodes,)`; advanced.
    neighbours
        The lists, one after another; filled in.
    """
    for i in range(u.shape[0]):
        a, b = u[i], v[i]
        neighbours[cursor[a]] = b
        cursor[a] += 1
        neighbours[cursor[b]] = a
        cursor[b] += 1


@kernel
def sort_adjacency(
    offsets: NDArray[np.int64],
    neighbours: NDArray[np.uint32],
    cursor: NDArray[np.int64],
    out: NDArray[np.uint32],
    first: int,
    last: int,
) -> None:
    """Write the lists sorted to `out` (a transposition), one range of nodes after the other.

    Parameters
    ----------
    cursor
        The next free place of each list in `out`, a copy of `offsets[:-1]` before the first range; advanced.
    out
        The sorted lists, shape of `neighbours`; filled in.
    """
    for node in range(first, last):
        for at in range(offsets[node], offsets[node + 1]):
            other = neighbours[at]
            out[cursor[other]] = node
            cursor[other] += 1


@kernel
def induce_adjacency(
    offsets: NDArray[np.int64],
    neighbours: NDArray[np.uint32],
    kept: NDArray[np.int64],
    label: NDArray[np.int64],
    new_offsets: NDArray[np.int64],
    out: NDArray[np.uint32],
    first: int,
    last: int,
) -> None:
    """Write the lists of `kept[first:last]` in the subgraph of `kept`, one range after the other.

    Parameters
    ----------
    label
        The new number of each node, or -1, shape `(nodes,)`.
    new_offsets
        Offsets of the new lists; `new_offsets[first]` is where to write, those after it up to `last` are filled in.
    out
        The new lists; filled in.
    first, last
        The range of `kept`.
    """
    at = new_offsets[first]
    for i in range(first, last):
        node = kept[i]
        for j in range(offsets[node], offsets[node + 1]):
            other = label[neighbours[j]]
            if other >= 0:
                out[at] = other
                at += 1
        new_offsets[i + 1] = at


@kernel
def choose_independent(
    offsets: NDArray[np.int64],
    neighbours: NDArray[np.uint32],
    order: NDArray[np.int64],
    chosen: NDArray[np.bool_],
    first: int,
    last: int,
) -> None:
    """Choose, first come, first served, every node of `order[first:last]` that has no chosen neighbour.

    Parameters
    ----------
    order
        Order in which nodes are tried.
    chosen
        Whether each node is chosen so far, shape `(nodes,)`; filled in.
    first, last
        The range of `order`.
    """
    for i in range(first, last):
        x = order[i]
        free = True
        for at in range(offsets[x], offsets[x + 1]):
            if chosen[neighbours[at]]:
                free = False
                break
        if free:
            chosen[x] = True


FREE = -1
NO_LEVEL = 2**31 - 1


@kernel
def _first_unmatched(
    offsets: NDArray[np.int64], neighbours: NDArray[np.uint32], x: np.int64, mate: NDArray[np.int32]
) -> np.int64:
    for at in range(offsets[x], offsets[x + 1]):
        if mate[neighbours[at]] == FREE:
            return np.int64(neighbours[at])
    return np.int64(FREE)


@kernel
def match_greedily(
    offsets: NDArray[np.int64],
    neighbours: NDArray[np.uint32],
    order: NDArray[np.int64],
    mate: NDArray[np.int32],
    choices: NDArray[np.int32],
    single: NDArray[np.int32],
    state: NDArray[np.int64],
    work: int,
) -> bool:
    """Match greedily: a copy with one unmatched neighbour goes first, else the next left copy in `order`.

    Returns whether all are served; else `work` neighbours were looked at.

    Parameters
    ----------
    order
        Order in which left copies are served.
    mate
        Shape `(2, nodes)`, all -1: partners of left copies, partners of right copies. Filled in.
    choices
        Shape `(2, nodes)`, the degree of every copy; scratch.
    single
        Shape `(2 nodes + 1, 2)`, side and node of the copies that got down to one choice, which each does once at most.
    state
        How many of them wait, how many left copies of `order` are served.
    """
    nodes = offsets.shape[0] - 1
    waiting, following = state[0], state[1]
    while waiting > 0 or following < nodes:
        if work <= 0:
            state[0], state[1] = waiting, following
            return False
        work -= 1
        if waiting > 0:
            waiting -= 1
            side, x = np.int64(single[waiting, 0]), np.int64(single[waiting, 1])
        else:
            side, x = np.int64(0), order[following]
            following += 1
        if mate[side, x] != FREE or choices[side, x] == 0:
            continue
        y = _first_unmatched(offsets, neighbours, x, mate[1 - side])
        mate[side, x], mate[1 - side, y] = y, x
        for taken, taken_side in ((x, side), (y, 1 - side)):
            work -= offsets[taken + 1] - offsets[taken]
            for at in range(offsets[taken], offsets[taken + 1]):
                z = neighbours[at]
                choices[1 - taken_side, z] -= 1
                if choices[1 - taken_side, z] == 1 and mate[1 - taken_side, z] == FREE:
                    single[waiting, 0], single[waiting, 1] = 1 - taken_side, z
                    waiting += 1
    return True


@kernel
def find_levels(
    offsets: NDArray[np.int64],
    neighbours: NDArray[np.uint32],
    holder: NDArray[np.int32],
    level: NDArray[np.int32],
    queue: NDArray[np.int32],
    state: NDArray[np.int64],
    work: int,
) -> bool:
    """Search breadth first from the roots, up to the first level that sees an unmatched right copy.

    Returns whether the search is over; else `work` neighbours were looked at.

    Parameters
    ----------
    holder
        Shape `(nodes,)`: the left partner of every right copy, or FREE.
    level
        Shape `(nodes,)`: 0 for the roots, -1 for the other left copies. Filled in.
    queue
        Shape `(nodes,)`: left copies in the order in which they are reached, the roots first. Added to.
    state
        How many of the queue are done, how many there are, that first level (NO_LEVEL: none yet).
    work
        Neighbours to look at before the kernel returns.
    """
    head, tail, last_level = state[0], state[1], state[2]
    while head < tail and level[queue[head]] <= last_level:
        if work <= 0:
            state[0], state[1], state[2] = head, tail, last_level
            return False
        x = queue[head]
        head += 1
        work -= 1 + offsets[x + 1] - offsets[x]
        for at in range(offsets[x], offsets[x + 1]):
            after = holder[neighbours[at]]
            if after == FREE:
                last_level = np.int64(level[x])
            elif level[after] < 0:
                level[after] = level[x] + 1
                queue[tail] = after
                tail += 1
    state[2] = last_level
    return True


@kernel
def augment(
    offsets: NDArray[np.int64],
    neighbours: NDArray[np.uint32],
    mate: NDArray[np.int32],
    level: NDArray[np.int32],
    cursor: NDArray[np.int64],
    path: NDArray[np.int32],
    queue: NDArray[np.int32],
    roots: int,
    last_level: int,
    state: NDArray[np.int64],
    work: int,
) -> bool:
    """Search depth first along the levels from each root, and augment the matching along every path.

    Returns whether all roots are searched.

    Parameters
    ----------
    mate
        Shape `(2, nodes)`: partners of left copies, partners of right copies, or FREE. Updated.
    level
        Levels of the left copies, as `find_levels` left them.
    cursor
        The next entry of every list; makes sure that an edge is tried once in a phase.
    path
        Shape `(nodes,)`; scratch.
    queue, roots
        The roots are the first `roots` entries of the queue.
    last_level
        The level at which `find_levels` stopped.
    state
        Root, depth of the search + 1 (0: not begun).
    work
        Steps to do before the kernel returns.
    """
    i, depth = state[0], state[1] - 1
    while i < roots:
        if depth < 0:
            path[0] = queue[i]
            depth = np.int64(0)
        while depth >= 0:
            if work <= 0:
                state[0], state[1] = i, depth + 1
                return False
            work -= 1
            x = path[depth]
            if cursor[x] == offsets[x + 1]:
                depth -= 1
                continue
            y = neighbours[cursor[x]]
            cursor[x] += 1
            after = mate[1, y]
            if after == FREE:
                while depth >= 0:
                    x = path[depth]
                    given_up = mate[0, x]
                    mate[0, x], mate[1, y] = y, x
                    y = given_up
                    cursor[x] = offsets[x + 1]  # one path through a node in a phase
                    depth -= 1
            elif level[x] < last_level and level[after] == level[x] + 1:
                depth += 1
                path[depth] = after
        i += 1
    return True
