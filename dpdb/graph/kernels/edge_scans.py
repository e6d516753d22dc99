"""Scans of listed edges: degrees, projections and witness counts, many thetas in one pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpdb.compiled import kernel
from dpdb.graph.thetas import Lanes

__all__ = ["count_degrees", "project", "witness"]


@kernel
def count_degrees(u: NDArray[np.uint32], v: NDArray[np.uint32], degree: NDArray[np.int64]) -> None:
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
def project(u: NDArray[np.uint32], v: NDArray[np.uint32], lanes: Lanes, degree: Lanes, full: NDArray[np.bool_]) -> None:
    """Add edges, in order, to the projection of every lane (paper A, Algorithm 1).

    Parameters
    ----------
    u, v
        Endpoints of the edges in canonical order, shape `(edges,)`.
    lanes
        The theta of each lane.
    degree
        `degree[node, lane]` is the degree in the projection at `lanes[lane]`; added to.
    full
        `full[node]`: the node is at its bound in every lane, so its edges can be skipped (degrees of different lanes
        are not nested). Updated.
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


@kernel
def witness(
    u: NDArray[np.uint32],
    v: NDArray[np.uint32],
    lanes: Lanes,
    state: Lanes,
    everywhere: NDArray[np.bool_],
) -> None:
    """Scan edges, in order, for every lane (PRIVACY.md): u covers v if it can, then v covers u.

    Parameters
    ----------
    u, v
        Endpoints of the edges in canonical order, shape `(edges,)`.
    lanes
        The theta of each lane.
    state
        `state[node, 0, lane]` is how many others the node covers, at most `lanes[lane]`; `state[node, 1, lane]` is 1
        once it is covered, else 0. Updated.
    everywhere
        `everywhere[0, node]`: it is at its bound in every lane; `everywhere[1, node]`: it is covered in every lane.
    """
    width = lanes.shape[0]
    for i in range(u.shape[0]):
        a, b = u[i], v[i]
        a_idle = everywhere[0, a] | everywhere[1, b]
        b_idle = everywhere[0, b] | everywhere[1, a]
        if a_idle & b_idle:
            continue
        moved = False
        for k in range(width):
            cover_b = (state[b, 1, k] == 0) & (state[a, 0, k] < lanes[k])
            cover_a = (state[a, 1, k] == 0) & (state[b, 0, k] < lanes[k])
            state[a, 0, k] += cover_b
            state[b, 1, k] += cover_b
            state[b, 0, k] += cover_a
            state[a, 1, k] += cover_a
            moved |= cover_a | cover_b
        if not moved:
            spent_a, spent_b, covered_a, covered_b = True, True, True, True
            for k in range(width):
                spent_a &= state[a, 0, k] >= lanes[k]
                spent_b &= state[b, 0, k] >= lanes[k]
                covered_a &= state[a, 1, k] != 0
                covered_b &= state[b, 1, k] != 0
            everywhere[0, a], everywhere[0, b] = spent_a, spent_b
            everywhere[1, a], everywhere[1, b] = covered_a, covered_b
