"""A maximal independent set, first come, first served."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpdb.compiled import kernel

__all__ = ["choose_independent"]


@kernel
def choose_independent(
    offsets: NDArray[np.int64],
    neighbours: NDArray[np.uint32],
    order: NDArray[np.int64],
    chosen: NDArray[np.bool_],
    first: int,
    last: int,
) -> None:
    """Choose every node of `order[first:last]` that has no chosen neighbour."""
    for i in range(first, last):
        x = order[i]
        free = True
        for at in range(offsets[x], offsets[x + 1]):
            if chosen[neighbours[at]]:
                free = False
                break
        if free:
            chosen[x] = True
