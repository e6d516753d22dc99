"""Edge-addition projection (paper A, Algorithm 1) for many thetas in one pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpdb.compiled import kernel
from dpdb.graph.thetas import Lanes

__all__ = ["project"]


@kernel
def project(u: NDArray[np.uint32], v: NDArray[np.uint32], lanes: Lanes, degree: Lanes, full: NDArray[np.bool_]) -> None:
    """Add the edges `(u, v)`, in order, to the projection of every lane.

    `degree[node, lane]` is the degree in the projection at `lanes[lane]`. `full[node]`: the node is at its
    bound in every lane, so its edges can be skipped (degrees of different lanes are not nested).
    """
    width = lanes.shape[0]
    for i in range(u.shape[0]):
        a, b = u[i], v[i]
        if full[a] | full[b]:
            continue
        kept = False
        for k in range(width):
            keep = (degree[a, k] < lanes[k]) & (degree[b, k] < lanes[k])
            degree[a, k] += keep
            degree[b, k] += keep
            kept |= keep
        if not kept:
            full_a, full_b = True, True
            for k in range(width):
                full_a &= degree[a, k] >= lanes[k]
                full_b &= degree[b, k] >= lanes[k]
            full[a], full[b] = full_a, full_b
