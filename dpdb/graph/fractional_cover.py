"""Fractional vertex cover: the linear relaxation tau* of the repair measure, solved as a matching.

2 tau*(G) is the size of a maximum matching of the bipartite double cover of G, and an optimal solution with
weights 0, 1/2, 1 follows from Koenig's theorem (Nemhauser and Trotter 1975).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpdb.graph import steps
from dpdb.graph.adjacency import Adjacency, adjacency_of
from dpdb.graph.edges import OrderedEdges
from dpdb.graph.grouping import sorted_by

__all__ = ["FractionalCover", "complete_matching", "fractional_cover", "start_matching", "twice_fractional_cover"]


@dataclass(frozen=True, eq=False)
class FractionalCover:
    """An optimal half-integral vertex cover, in units of one half."""

    twice_size: int
    """2 tau*, the sum of `twice_weight`."""
    twice_weight: NDArray[np.uint8]
    """0, 1 or 2 for every node, shape `(nodes,)`; at least 2 in total on every edge."""


def twice_fractional_cover(edges: OrderedEdges | Adjacency) -> int:
    """Twice the fractional vertex cover number: 2 tau*, where tau* <= I_R <= 2 tau*.

    Sensitivity 2, monotone (change in [0, 2]): a new row adds one left and one right node to the double
    cover, and one more node changes a maximum matching by 0 or 1. The order of the edges does not matter.
    """
    return _match(adjacency_of(edges))[0]


def fractional_cover(edges: OrderedEdges | Adjacency) -> FractionalCover:
    """An optimal fractional vertex cover with weights 0, 1/2 and 1.

    Some minimum vertex cover contains every node of weight 1 and none of weight 0 (Nemhauser and Trotter).
    """
    size, partner, reached = _match(adjacency_of(edges))
    twice_weight = (~reached).astype(np.uint8)
    twice_weight[partner[reached & (partner >= 0)]] += 1
    return FractionalCover(size, twice_weight)


def _match(graph: Adjacency) -> tuple[int, NDArray[np.int32], NDArray[np.bool_]]:
    # Size of the matching, right partner of every left copy (or -1), and Koenig's set of left copies.
    degrees = graph.degrees
    mate = np.full((2, graph.node_count), -1, dtype=np.int32)
    order = sorted_by((degrees.astype(np.int32),)).astype(np.int64)  # nodes with few neighbours choose first
    start_matching(graph, order, mate)
    level = complete_matching(graph, mate)
    partner = mate[0]
    # Isolated nodes cost nothing: they are reached, like every other unmatched left copy.
    return int(np.count_nonzero(partner >= 0)), partner, (level >= 0) | (degrees == 0)


def start_matching(graph: Adjacency, order: NDArray[np.int64], mate: NDArray[np.int32]) -> None:
    """Match greedily, see `kernels.matching.match_greedily`.

    Parameters
    ----------
    graph
        The conflict graph.
    order
        Order in which left copies are served, shape `(nodes,)`.
    mate
        Shape `(2, nodes)`, all -1: partners of left copies, partners of right copies. Filled in.
    """
    from dpdb.graph.kernels.matching import match_greedily

    choices = np.stack([graph.degrees, graph.degrees]).astype(np.int32)
    first = np.argwhere(choices == 1).astype(np.int32)
    single = np.empty((2 * graph.node_count + 1, 2), dtype=np.int32)
    single[: len(first)] = first
    state = np.array([len(first), 0])
    while not match_greedily(graph.offsets, graph.neighbours, order, mate, choices, single, state, steps.WORK):
        pass


def complete_matching(graph: Adjacency, mate: NDArray[np.int32]) -> NDArray[np.int32]:
    """Make the matching `mate` maximum, in phases of shortest augmenting paths.

    Returns levels, shape `(nodes,)`: at least 0 exactly for the left copies reachable by an alternating path from an
    unmatched left copy that has neighbours (Koenig's set).
    """
    from dpdb.graph.kernels.matching import NO_LEVEL, augment, find_levels

    offsets, neighbours = graph.offsets, graph.neighbours
    queue, path = np.empty(graph.node_count, np.int32), np.empty(graph.node_count, np.int32)
    while True:
        roots = np.flatnonzero((mate[0] < 0) & (graph.degrees > 0))
        level = np.full(graph.node_count, -1, np.int32)
        level[roots] = 0
        queue[: len(roots)] = roots
        search = np.array([0, len(roots), NO_LEVEL])
        while not find_levels(offsets, neighbours, mate[1], level, queue, search, steps.WORK):
            pass
        if search[2] == NO_LEVEL:
            return level
        cursor, state = offsets[:-1].copy(), np.zeros(2, np.int64)
        while not augment(
            offsets, neighbours, mate, level, cursor, path, queue, len(roots), int(search[2]), state, steps.WORK
        ):
            pass
