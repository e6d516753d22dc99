"""Degrees of a conflict graph given by blocks, one constraint at a time, in loops that the compiler vectorizes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpdb.graph.kernels.jit import kernel

__all__ = ["add_degrees"]

_CHUNK = 2048


@kernel
def add_degrees(
    starts: NDArray[np.int32],
    minority: NDArray[np.bool_],
    ordered: NDArray[np.bool_],
    group: NDArray[np.int32],
    x: NDArray[np.int32],
    y: NDArray[np.int32],
    part: int,
    parts: int,
) -> NDArray[np.int64]:
    """Count, for each member row, the pairs whose first violated constraint is the one listed.

    Parameters
    ----------
    starts : int32 (groups + 1,)
        Where each group begins among the members, which come by group, then rank.
    minority : bool (members,)
    ordered, group, x, y
        First axis: the constraint itself, then the earlier ones that its pairs may also violate; second axis: members.
    part, parts : int
        Which share of the minority rows to count from; the shares' results add up.

    Returns
    -------
    int64 (members,)
    """
    earlier = ordered.shape[0]
    degree = np.zeros(minority.shape[0], np.int64)
    hit = np.empty(_CHUNK, np.bool_)
    for block in range(starts.shape[0] - 1):
        begin, end = starts[block], starts[block + 1]
        for a in range(begin, end):
            if not minority[a] or a % parts != part:
                continue
            found = 0
            for low in range(begin, end, _CHUNK):
                size = min(_CHUNK, end - low)
                if ordered[0]:
                    xa, ya = x[0, a], y[0, a]
                    for i in range(size):
                        xb, yb = x[0, low + i], y[0, low + i]
                        hit[i] = ((xb > xa) & (yb < ya)) | ((xb < xa) & (yb > ya))
                else:
                    xa = x[0, a]
                    for i in range(size):
                        hit[i] = x[0, low + i] != xa
                # A pair of two minority rows is counted once, from its first row.
                for i in range(min(size, a - low)):
                    hit[i] &= not minority[low + i]
                for j in range(1, earlier):
                    g, xa, ya = group[j, a], x[j, a], y[j, a]
                    if g < 0:
                        continue
                    if ordered[j]:
                        for i in range(size):
                            xb, yb = x[j, low + i], y[j, low + i]
                            crossed = ((xb > xa) & (yb < ya)) | ((xb < xa) & (yb > ya))
                            hit[i] &= not (crossed & (group[j, low + i] == g))
                    else:
                        for i in range(size):
                            hit[i] &= (group[j, low + i] != g) | (x[j, low + i] == xa)
                for i in range(size):
                    degree[low + i] += hit[i]
                    found += hit[i]
            degree[a] += found
    return degree
