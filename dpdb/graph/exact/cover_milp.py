"""Minimum weighted vertex cover of one connected graph by integer programming (HiGHS)."""

from __future__ import annotations

import math

import numpy as np

from dpdb.graph.exact.weighted_graph import WeightedGraph
from dpdb.graph.programs import CoverProgram
from dpdb.graph.solver import solve

__all__ = ["greedy_cover", "solve_cover"]


def solve_cover(graph: WeightedGraph, time_limit: float) -> tuple[int, set[int]]:
    """Return a lower bound of the minimum cover weight, and a cover, of that weight if solved in time.

    Every edge lies in a clique C of the model, whose constraint `sum of x over C >= |C| - 1` is much stronger than its
    edges' constraints.
    """
    nodes = list(graph.neighbours)
    index = {node: i for i, node in enumerate(nodes)}
    cliques = _clique_edge_cover(graph)
    program = CoverProgram(
        weight=np.array([graph.weight[node] for node in nodes], dtype=np.float64),
        members=np.array([index[node] for clique in cliques for node in clique]),
        sizes=np.array([len(clique) for clique in cliques]),
    )
    found = solve(program, max(time_limit, 0.01))
    best = greedy_cover(graph)
    if found.x is not None:
        cover = {node for node, x in zip(nodes, found.x, strict=True) if x > 0.5}
        if _is_cover(graph, cover):
            best = min(cover, best, key=graph.weight_of)
    bound = found.lower
    lower = math.ceil(bound - 1e-6) if bound is not None and math.isfinite(bound) else 0
    return min(lower, graph.weight_of(best)), best


def greedy_cover(graph: WeightedGraph) -> set[int]:
    """Return a cover without redundant nodes: all but an independent set of low weighted degree."""
    independent: set[int] = set()
    for node in sorted(graph.neighbours, key=lambda x: (len(graph.neighbours[x]) / graph.weight[x], x)):
        if independent.isdisjoint(graph.neighbours[node]):
            independent.add(node)
    return set(graph.neighbours) - independent


def _clique_edge_cover(graph: WeightedGraph) -> list[list[int]]:
    # Maximal cliques, grown greedily, that together contain every edge.
    uncovered = {node: {other for other in near if other > node} for node, near in graph.neighbours.items()}
    cliques = []
    for node, pending in uncovered.items():
        while pending:
            clique = [node, min(pending)]
            common = graph.neighbours[clique[0]] & graph.neighbours[clique[1]]
            while common:
                fresh = common & pending
                clique.append(min(fresh or common))
                common &= graph.neighbours[clique[-1]]
            clique.sort()
            for i, member in enumerate(clique):
                uncovered[member].difference_update(clique[i + 1 :])
            cliques.append(clique)
    return cliques


def _is_cover(graph: WeightedGraph, cover: set[int]) -> bool:
    return all(node in cover or near <= cover for node, near in graph.neighbours.items())
