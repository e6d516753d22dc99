"""How many plain rows each special row of a graph given by blocks is in conflict with.

A row is special if it is in the minority of any of its groups, else plain. Every conflict has a special row, and a
plain row is in conflict only with rows of the minorities of its groups.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpdb.compiled import kernel
from dpdb.graph.kernels.block_degrees import CHUNK, Chunk, gather, mark
from dpdb.graph.kernels.block_projection import Candidates
from dpdb.graph.kernels.blocks import Blocks

__all__ = ["count_plain", "is_minority"]

Ints = NDArray[np.int32]
Number = int | np.int64


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
    """Return whether a row is in the minority of its group of k.

    Parameters
    ----------
    blocks : Blocks
    k : int
        The constraint.
    row : int
    """
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
