"""Runs the real kernels on many tiny graphs. Not cached on disk: its kernels may change under it."""

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numba import njit

from dpdb.graph.kernels.listed_edges import (
    NO_LEVEL,
    augment,
    count_degrees,
    fill_adjacency,
    find_levels,
    match_greedily,
    project,
    witness,
)

# As functions that numba compiles into these.
augment, count_degrees, fill_adjacency, find_levels, match_greedily, project, witness = (
    kernel.dispatcher
    for kernel in (
        augment,
        count_degrees,
        fill_adjacency,
        find_levels,
        match_greedily,
        project,
        witness,
    )
)


@njit
def _select(mask, u, v, some_u, some_v):
    count = 0
    for i in range(u.shape[0]):
        if (mask >> i) & 1:
            some_u[count], some_v[count] = u[i], v[i]
            count += 1
    return count


@njit
def _scan_statistics(masks, u, v, nodes, thetas):
    width = thetas.shape[0]
    out = np.zeros((masks.shape[0], 3 * width + 1), np.int8)
    some_u, some_v = np.empty_like(u), np.empty_like(v)
    degree, covers = np.zeros(nodes, np.uint32), np.zeros(nodes, np.uint32)
    covered = np.zeros(nodes, np.bool_)
    for row in range(masks.shape[0]):
        count = _select(masks[row], u, v, some_u, some_v)
        for k in range(width):
            degree[:], covers[:], covered[:] = 0, 0, False
            project(some_u[:count], some_v[:count], thetas[k], degree)
            witness(some_u[:count], some_v[:count], thetas[k], covers, covered)
            for x in range(nodes):
                out[row, k] += degree[x]
                out[row, width + k] += degree[x] > 0
                out[row, 2 * width + k] += covered[x]
            out[row, k] //= 2
        degree[:] = 0
        project(some_u[:count], some_v[:count], 1, degree)
        out[row, 3 * width] = degree.sum()  # the greedy cover is both ends of the edges of pi_1
    return out


_WORK = 3  # so that every kernel is left and entered again


@njit
def _match(offsets, neighbours, order, mate, choices, level):  # noqa: C901 - numba wants loops
    nodes = offsets.shape[0] - 1
    single = np.zeros((2 * nodes + 1, 2), np.int32)
    state = np.zeros(2, np.int64)
    for side in range(2):
        for x in range(nodes):
            if choices[side, x] == 1:
                single[state[0], 0], single[state[0], 1] = side, x
                state[0] += 1
    while not match_greedily(offsets, neighbours, order, mate, choices, single, state, _WORK):
        pass
    queue, path, cursor = np.zeros(nodes, np.int32), np.zeros(nodes, np.int32), np.zeros(nodes, np.int64)
    search, state = np.zeros(3, np.int64), np.zeros(2, np.int64)
    while True:
        roots = 0
        for x in range(nodes):
            level[x], cursor[x] = -1, offsets[x]
            if mate[0, x] < 0 and offsets[x] < offsets[x + 1]:
                level[x], queue[roots] = 0, x
                roots += 1
        search[0], search[1], search[2] = 0, roots, NO_LEVEL
        while not find_levels(offsets, neighbours, mate[1], level, queue, search, _WORK):
            pass
        if search[2] == NO_LEVEL:
            return
        state[:] = 0
        while not augment(offsets, neighbours, mate, level, cursor, path, queue, roots, search[2], state, _WORK):
            pass


@njit
def _twice_fractional(masks, u, v, nodes):
    out = np.zeros(masks.shape[0], np.int8)
    some_u, some_v = np.empty_like(u), np.empty_like(v)
    degree = np.zeros(nodes, np.int64)
    offsets = np.zeros(nodes + 1, np.int64)
    cursor = np.zeros(nodes, np.int64)
    neighbours = np.zeros(2 * u.shape[0], np.uint32)
    mate = np.zeros((2, nodes), np.int32)
    choices = np.zeros((2, nodes), np.int32)
    level = np.zeros(nodes, np.int32)
    order = np.arange(nodes)
    for row in range(masks.shape[0]):
        count = _select(masks[row], u, v, some_u, some_v)
        degree[:] = 0
        count_degrees(some_u[:count], some_v[:count], degree)
        for x in range(nodes):
            cursor[x] = offsets[x]
            offsets[x + 1] = offsets[x] + degree[x]
            choices[0, x] = choices[1, x] = degree[x]
        fill_adjacency(some_u[:count], some_v[:count], cursor, neighbours)
        mate[:] = -1
        _match(offsets, neighbours, order, mate, choices, level)
        for x in range(nodes):
            out[row] += mate[0, x] >= 0
    return out


@dataclass
class Changes:
    """Statistics of graphs and of the same graphs without one node, one row per (graph, node)."""

    edges: np.ndarray  # f(G) - f(G - x), shape (rows, thetas)
    positive: np.ndarray
    witness: np.ndarray
    greedy: np.ndarray  # shape (rows,)


class SmallGraphs:
    """All graphs on `nodes` nodes as bit masks over the possible edges in one order."""

    def __init__(self, nodes: int, order_seed: int | None = None) -> None:
        pairs = np.array(list(combinations(range(nodes), 2)), dtype=np.uint32)
        if order_seed is not None:
            pairs = np.random.default_rng(order_seed).permutation(pairs)
        self.nodes = nodes
        self.u, self.v = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
        self.all = np.arange(1 << math.comb(nodes, 2), dtype=np.int64)
        self.thetas = np.arange(1, nodes + 1)
        bits = np.int64(1) << np.arange(len(pairs))
        self._others = [~bits[(pairs == x).any(axis=1)].sum() for x in range(nodes)]

    def changes(self, masks: np.ndarray, *, complete: bool = False) -> Changes:
        def statistics(of):
            return _scan_statistics(of, self.u, self.v, self.nodes, self.thetas)

        before = statistics(masks)
        # With all masks at hand the graph without x is another row of the same table.
        after = [before[masks & keep] if complete else statistics(masks & keep) for keep in self._others]
        difference = np.concatenate([before - rows for rows in after])
        edges, positive, witness, (greedy,) = np.split(difference.T, np.arange(1, 4) * len(self.thetas))
        return Changes(edges.T, positive.T, witness.T, greedy)

    def fractional_changes(self, masks: np.ndarray, *, complete: bool = False) -> np.ndarray:
        def statistics(of):
            return _twice_fractional(of, self.u, self.v, self.nodes)

        before = statistics(masks)
        after = [before[masks & keep] if complete else statistics(masks & keep) for keep in self._others]
        return np.concatenate([before - rows for rows in after])
