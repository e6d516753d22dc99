"""A maximal independent set, first come, first served."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpdb.graph.kernels.jit import kernel

__all__ = ["maximal_independent_set"]


@kernel
def maximal_independent_set(
    offsets: NDArray[np.int64],
    neighbours: NDArray[np.uint32],
    order: NDArray[np.int64],
    chosen: NDArray[np.bool_],
) -> int:
    """Choose every node of `order` that has no chosen neighbour; return how many were chosen."""
    size = 0
    for i in range(order.shape[0]):
        x = order[i]
        free = True
        for at in range(offsets[x], offsets[x + 1]):
            if chosen[neighbours[at]]:
                free = False
                break
        if free:
            chosen[x] = True
            size += 1
    return size
