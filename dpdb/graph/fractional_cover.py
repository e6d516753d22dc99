"""Fractional vertex cover: the linear relaxation tau* of the repair measure, solved as a matching.

2 tau*(G) is the size of a maximum matching of the bipartite double cover of G, and an optimal solution with
weights 0, 1/2, 1 follows from Koenig's theorem (Nemhauser and Trotter 1975).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpdb.graph.adjacency import Adjacency, adjacency_of
from dpdb.graph.edges import OrderedEdges

__all__ = ["FractionalCover", "fractional_cover", "twice_fractional_cover"]


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
    from dpdb.graph.kernels.matching import augment_matching, start_matching

    degrees = graph.degrees
    mate = np.full((2, graph.node_count), -1, dtype=np.int32)
    choices = np.stack([degrees, degrees]).astype(np.int32)
    order = np.argsort(degrees, kind="stable")  # nodes with few neighbours choose first
    start_matching(graph.offsets, graph.neighbours, order, mate, choices)
    level = np.empty(graph.node_count, dtype=np.int32)
    augment_matching(graph.offsets, graph.neighbours, mate, level)
    partner = mate[0]
    # Isolated nodes cost nothing: they are reached, like every other unmatched left copy.
    return int(np.count_nonzero(partner >= 0)), partner, (level >= 0) | (degrees == 0)
