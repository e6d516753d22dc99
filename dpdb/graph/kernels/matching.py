"""Maximum matching of the bipartite double cover, and its Koenig set.

The double cover has a left and a right copy of every node; the edge {x, y} becomes (x left, y right) and
(y left, x right). So one adjacency serves both sides. Start: Karp and Sipser (1981); then augmenting paths in
phases: Hopcroft and Karp (1973).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpdb.graph.kernels.jit import kernel

__all__ = ["augment_matching", "start_matching"]

_FREE = -1
_NO_LEVEL = 2**31 - 1


@kernel
def _first_unmatched(
    offsets: NDArray[np.int64], neighbours: NDArray[np.uint32], x: int, mate: NDArray[np.int32]
) -> np.int64:
    for at in range(offsets[x], offsets[x + 1]):
        if mate[neighbours[at]] == _FREE:
            return np.int64(neighbours[at])
    return np.int64(_FREE)


@kernel
def start_matching(
    offsets: NDArray[np.int64],
    neighbours: NDArray[np.uint32],
    order: NDArray[np.int64],
    mate: NDArray[np.int32],
    choices: NDArray[np.int32],
) -> None:
    """Match greedily: a copy with one unmatched neighbour goes first, else the next left copy in `order`.

    Parameters
    ----------
    offsets, neighbours
        Adjacency lists.
    order
        Order in which left copies are served.
    mate
        Shape `(2, nodes)`, all -1: partners of left copies, partners of right copies. Filled in.
    choices
        Shape `(2, nodes)`, the degree of every copy; scratch.
    """
    nodes = offsets.shape[0] - 1
    single = np.empty((2 * nodes + 1, 2), dtype=np.int32)  # a copy gets down to one choice at most once
    waiting = 0
    for side in range(2):
        for x in range(nodes):
            if choices[side, x] == 1:
                single[waiting, 0], single[waiting, 1] = side, x
                waiting += 1
    following = 0
    while waiting > 0 or following < nodes:
        if waiting > 0:
            waiting -= 1
            side, x = single[waiting, 0], single[waiting, 1]
        else:
            side, x = 0, order[following]
            following += 1
        if mate[side, x] != _FREE or choices[side, x] == 0:
            continue
        y = _first_unmatched(offsets, neighbours, x, mate[1 - side])
        mate[side, x], mate[1 - side, y] = y, x
        for taken, taken_side in ((x, side), (y, 1 - side)):
            for at in range(offsets[taken], offsets[taken + 1]):
                z = neighbours[at]
                choices[1 - taken_side, z] -= 1
                if choices[1 - taken_side, z] == 1 and mate[1 - taken_side, z] == _FREE:
                    single[waiting, 0], single[waiting, 1] = 1 - taken_side, z
                    waiting += 1


@kernel
def augment_matching(
    offsets: NDArray[np.int64],
    neighbours: NDArray[np.uint32],
    mate: NDArray[np.int32],
    level: NDArray[np.int32],
) -> None:
    """Make the matching `mate`, shape `(2, nodes)`, maximum.

    On return `level`, shape `(nodes,)`, is >= 0 exactly for the left copies reachable by an alternating path
    from an unmatched left copy that has neighbours (Koenig's set).
    """
    nodes = offsets.shape[0] - 1
    queue = np.empty(nodes, dtype=np.int32)
    cursor = np.empty(nodes, dtype=np.int64)
    path = np.empty(nodes, dtype=np.int32)
    while True:
        roots = 0
        for x in range(nodes):
            level[x] = -1
            cursor[x] = offsets[x]
            if mate[0, x] == _FREE and offsets[x] < offsets[x + 1]:
                level[x] = 0
                queue[roots] = x
                roots += 1
        last_level = _find_levels(offsets, neighbours, mate[1], level, queue, roots)
        if last_level == _NO_LEVEL:
            return
        for i in range(roots):
            path[0] = queue[i]
            _augment(offsets, neighbours, mate, level, cursor, path, last_level)


@kernel
def _find_levels(
    offsets: NDArray[np.int64],
    neighbours: NDArray[np.uint32],
    holder: NDArray[np.int32],
    level: NDArray[np.int32],
    queue: NDArray[np.int32],
    roots: int,
) -> int:
    # Breadth first from the roots, up to the first level that sees an unmatched right copy: that level.
    last_level = _NO_LEVEL
    head, tail = 0, roots
    while head < tail and level[queue[head]] <= last_level:
        x = queue[head]
        head += 1
        for at in range(offsets[x], offsets[x + 1]):
            after = holder[neighbours[at]]
            if after == _FREE:
                last_level = level[x]
            elif level[after] < 0:
                level[after] = level[x] + 1
                queue[tail] = after
                tail += 1
    return last_level


@kernel
def _augment(
    offsets: NDArray[np.int64],
    neighbours: NDArray[np.uint32],
    mate: NDArray[np.int32],
    level: NDArray[np.int32],
    cursor: NDArray[np.int64],
    path: NDArray[np.int32],
    last_level: int,
) -> None:
    # Depth first along the levels from `path[0]`; `cursor` makes sure that an edge is tried once in a phase.
    depth = 0
    while depth >= 0:
        x = path[depth]
        if cursor[x] == offsets[x + 1]:
            depth -= 1
            continue
        y = neighbours[cursor[x]]
        cursor[x] += 1
        after = mate[1, y]
        if after == _FREE:
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
