"""Scans of listed edges: degrees, projections and witness counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpdb.compiled import kernel

__all__ = ["count_degrees", "project", "witness"]

Ends = NDArray[np.uint32]
Counts = NDArray[np.uint32]


@kernel
def count_degrees(u: Ends, v: Ends, degree: NDArray[np.int64]) -> None:
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
def project(u: Ends, v: Ends, theta: int, degree: Counts) -> None:
    """Add edges, in order, to the projection to a theta (paper A, Algorithm 1).

    Parameters
    ----------
    u, v
        Endpoints of the edges in canonical order, shape `(edges,)`.
    theta
        The bound.
    degree
        Degrees in the projection, shape `(nodes,)`; added to.
    """
    for i in range(u.shape[0]):
        a, b = u[i], v[i]
        if degree[a] < theta and degree[b] < theta:
            degree[a] += 1
            degree[b] += 1


@kernel
def witness(u: Ends, v: Ends, theta: int, covers: Counts, covered: NDArray[np.bool_]) -> None:
    """Scan edges, in order (PRIVACY.md): u covers v if it can, then v covers u.

    Parameters
    ----------
    u, v
        Endpoints of the edges in canonical order, shape `(edges,)`.
    theta
        How many others a node covers at most.
    covers
        How many it covers, shape `(nodes,)`; added to.
    covered
        Whether it is covered, shape `(nodes,)`; updated.
    """
    for i in range(u.shape[0]):
        a, b = u[i], v[i]
        if not covered[b] and covers[a] < theta:
            covers[a] += 1
            covered[b] = True
        if not covered[a] and covers[b] < theta:
            covers[b] += 1
            covered[a] = True
