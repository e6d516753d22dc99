"""Degree of every node."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpdb.compiled import kernel

__all__ = ["count_degrees"]


@kernel
def count_degrees(u: NDArray[np.uint32], v: NDArray[np.uint32], degree: NDArray[np.int64]) -> None:
    """Add the edges `(u, v)` to `degree`, shape `(nodes,)`."""
    for i in range(u.shape[0]):
        degree[u[i]] += 1
        degree[v[i]] += 1
