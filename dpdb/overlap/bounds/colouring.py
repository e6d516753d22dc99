"""Safe upper bounds by colouring the query graph (paper B, section 6.3): rows of one colour are disjoint, charged once.

A colouring with few colours is found by DSatur (Brelaz 1979; paper B, Algorithm 2). For weights, a colour costs its
heaviest row, and colouring heavy rows first is often cheaper; the smaller of both counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["colouring_bound", "colouring_cost", "dsatur", "heaviest_first"]


def dsatur(graph: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Colours by DSatur: next the row with most neighbouring colours; on ties with most neighbours, then the first."""
    size = len(graph)
    degree = graph.sum(axis=1)
    colours = np.full(size, -1, np.int64)
    seen = np.zeros((size, 1), bool)
    order = degree.astype(np.int64)  # saturation * (size + 1) + degree, -1 once coloured
    for _ in range(size):
        row = int(order.argmax())
        colour = _first_free(seen[row])
        if colour == seen.shape[1]:
            seen = np.concatenate([seen, np.zeros((size, max(8, colour // 2)), bool)], axis=1)
        colours[row] = colour
        order += (graph[row] & ~seen[:, colour]) * (size + 1)
        seen[:, colour] |= graph[row]
        order[colours >= 0] = -1
    return colours


def heaviest_first(graph: NDArray[np.bool_], weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Greedy colours in order of falling weight."""
    colours = np.full(len(graph), -1, np.int64)
    for row in np.argsort(-weights, kind="stable").tolist():
        near = colours[graph[row]]
        taken = np.zeros(len(near) + 1, bool)
        taken[near[(near >= 0) & (near <= len(near))]] = True
        colours[row] = _first_free(taken)
    return colours


def _first_free(taken: NDArray[np.bool_]) -> int:
    free = int(taken.argmin())
    return len(taken) if taken[free] else free


def colouring_cost(colours: NDArray[np.int64], weights: NDArray[np.int64]) -> int:
    """Sum over colours of the heaviest row: at least the overlap, for any proper colouring (paper B, Eq. 8)."""
    if not len(colours):
        return 0
    heaviest = np.zeros(int(colours.max()) + 1, np.int64)
    np.maximum.at(heaviest, colours, weights)
    return int(heaviest.sum())


def colouring_bound(graph: NDArray[np.bool_], weights: NDArray[np.int64]) -> int:
    """The cheaper of both colourings."""
    bound = colouring_cost(dsatur(graph), weights)
    if len(weights) and weights.min() != weights.max():
        bound = min(bound, colouring_cost(heaviest_first(graph, weights), weights))
    return bound
