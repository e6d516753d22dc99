"""All graphs with a few nodes at once: measures and their exact sensitivities, by numpy over edge masks.

A graph is an integer whose bits say which of the n (n - 1) / 2 edges it has. Removing a node is clearing its edges,
because an isolated node changes no measure.
"""

from __future__ import annotations

import functools
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

MEASURES = ("I_D", "I_MI", "I_P", "I_MC", "I_R", "tau*")


@functools.cache
def edge_bits(nodes: int) -> dict[tuple[int, int], int]:
    """The bit of every edge."""
    return {pair: 1 << number for number, pair in enumerate(combinations(range(nodes), 2))}


def all_measures(nodes: int) -> dict[str, NDArray[np.float64]]:
    """Every measure of every graph, by the graph's integer."""
    bits = edge_bits(nodes)
    graphs = np.arange(1 << len(bits))
    degree = [
        sum((graphs & bit > 0).astype(int) for pair, bit in bits.items() if node in pair) for node in range(nodes)
    ]
    edges = sum(degree) // 2
    cover = np.full(graphs.size, nodes)
    maximal = np.zeros(graphs.size, int)
    for chosen in product((False, True), repeat=nodes):
        inside = sum(bit for (u, v), bit in bits.items() if chosen[u] and chosen[v])
        independent = graphs & inside == 0
        cover[independent] = np.minimum(cover[independent], nodes - sum(chosen))
        for node in range(nodes):
            if not chosen[node]:  # maximal: every other node has a neighbour inside
                independent &= (
                    graphs & sum(bit for pair, bit in bits.items() if node in pair and chosen[sum(pair) - node]) > 0
                )
        maximal += independent
    return {
        "I_D": (edges > 0).astype(float),
        "I_MI": edges.astype(float),
        "I_P": sum((one > 0).astype(float) for one in degree),
        "I_MC": maximal.astype(float),
        "I_R": cover.astype(float),
        "tau*": _fractional_cover(nodes, graphs),
    }


def _fractional_cover(nodes: int, graphs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Half-integral assignments suffice (Nemhauser and Trotter 1975)."""
    twice = np.full(graphs.size, 2 * nodes)
    for weights in product((0, 1, 2), repeat=nodes):
        uncovered = sum(bit for (u, v), bit in edge_bits(nodes).items() if weights[u] + weights[v] < 2)
        covers = graphs & uncovered == 0
        twice[covers] = np.minimum(twice[covers], sum(weights))
    return twice / 2


def sensitivities(nodes: int) -> dict[str, float]:
    """Largest change of each measure by one node, over all graphs with `nodes` nodes, that node included."""
    found = dict.fromkeys(MEASURES, 0.0)
    graphs = np.arange(1 << len(edge_bits(nodes)))
    values = all_measures(nodes)
    for node in range(nodes):
        without = graphs & ~sum(bit for pair, bit in edge_bits(nodes).items() if node in pair)
        for name, value in values.items():
            found[name] = max(found[name], float(np.abs(value - value[without]).max()))
    return found
