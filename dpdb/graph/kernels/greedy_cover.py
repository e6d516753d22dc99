"""Greedy vertex cover in edge order (paper A, Algorithm 5, before the noise)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpdb.compiled import kernel

__all__ = ["cover_greedily"]


@kernel
def cover_greedily(u: NDArray[np.uint32], v: NDArray[np.uint32], covered: NDArray[np.bool_]) -> int:
    """Take both ends of every edge `(u, v)` that has no end in the cover yet; return how many were taken."""
    taken = 0
    for i in range(u.shape[0]):
        if not (covered[u[i]] | covered[v[i]]):
            covered[u[i]] = True
            covered[v[i]] = True
            taken += 2
    return taken
