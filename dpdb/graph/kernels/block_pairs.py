"""The edges of a conflict graph given by blocks, listed all at once: for graphs that fit in memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpdb.graph.kernels.block_degrees import Members
from dpdb.graph.kernels.jit import kernel

__all__ = ["list_pairs", "sort_by_first"]

_CHUNK = 4096

Pairs = NDArray[np.uint32]


@kernel
def list_pairs(members: Members, u: Pairs, v: Pairs, filled: int) -> int:
    """Append the pairs whose first violated constraint is the members' own, from index `filled`; returns the new end.

    `members` come by rank in each group. Every pair is found from a minority row `a`, which is u or v of the pair. The
    pairs of one u come by ascending v: from its own scan if u is a minority row, else by ascending `a`.
    """
    hit = np.empty(_CHUNK, np.bool_)
    for block in range(members.starts.shape[0] - 1):
        begin, end = members.starts[block], members.starts[block + 1]
        for a in range(begin, end):
            if not members.minority[0, a]:
                continue
            for low in range(begin, end, _CHUNK):
                size = min(_CHUNK, end - low)
                xa, ya = members.x[0, a], members.y[0, a]
                if members.ordered[0]:
                    for i in range(size):
                        xb, yb = members.x[0, low + i], members.y[0, low + i]
                        hit[i] = ((xb > xa) & (yb < ya)) | ((xb < xa) & (yb > ya))
                else:
                    for i in range(size):
                        hit[i] = members.x[0, low + i] != xa
                for i in range(min(size, a - low)):  # two minority rows are paired from the lower one
                    hit[i] &= not members.minority[0, low + i]
                for j in range(1, members.ordered.shape[0]):
                    g, xa, ya = members.group[j, a], members.x[j, a], members.y[j, a]
                    if g < 0:
                        continue
                    if members.ordered[j]:
                        for i in range(size):
                            xb, yb = members.x[j, low + i], members.y[j, low + i]
                            crossed = ((xb > xa) & (yb < ya)) | ((xb < xa) & (yb > ya))
                            hit[i] &= not (crossed & (members.group[j, low + i] == g))
                    else:
                        for i in range(size):
                            hit[i] &= (members.group[j, low + i] != g) | (members.x[j, low + i] == xa)
                row = members.row[a]
                for i in range(size):
                    if hit[i]:
                        other = members.row[low + i]
                        u[filled], v[filled] = min(row, other), max(row, other)
                        filled += 1
    return filled


@kernel
def sort_by_first(u: Pairs, v: Pairs, row_count: int) -> tuple[Pairs, Pairs]:
    """Sort pairs by u, stably (counting sort)."""
    place = np.zeros(row_count + 1, np.int64)
    for first in u:
        place[first + 1] += 1
    for row in range(row_count):
        place[row + 1] += place[row]
    sorted_u, sorted_v = np.empty_like(u), np.empty_like(v)
    for i in range(u.shape[0]):
        at = place[u[i]]
        place[u[i]] += 1
        sorted_u[at], sorted_v[at] = u[i], v[i]
    return sorted_u, sorted_v
