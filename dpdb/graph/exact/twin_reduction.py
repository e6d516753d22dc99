"""Merging twins while keeping the number of maximal independent sets.

A graph without an induced path on four nodes (a cograph) shrinks to single nodes: there counting is
polynomial.
"""

from __future__ import annotations

import hashlib

from dpdb.graph.exact.weighted_graph import WeightedGraph

__all__ = ["merge_twins"]


def merge_twins(graph: WeightedGraph) -> None:
    """Merge twins in place until none are left.

    The weight of a node is the number of maximal independent choices it stands for. False twins (same
    neighbours, not adjacent) are in together or out together: weights multiply. True twins (adjacent,
    otherwise same neighbours) replace one another: weights add up. So the sum over maximal independent sets
    of the product of weights stays.
    """
    mark = {node: _mark(node) for node in graph.neighbours}
    open_key = {node: _combined(mark, near) for node, near in graph.neighbours.items()}
    owner: dict[int, int] = {}  # key of an open or closed neighbourhood -> a node that had it
    waiting = list(graph.neighbours)
    while waiting:
        node = waiting.pop()
        if node not in graph.neighbours:
            continue
        for true_twins in (False, True):
            key = open_key[node] ^ (mark[node] if true_twins else 0)
            twin = owner.get(key)
            if twin is None or twin == node or not _are_twins(graph, node, twin):
                owner[key] = node
                continue
            if true_twins:
                graph.weight[twin] += graph.weight[node]
            else:
                graph.weight[twin] *= graph.weight[node]
            for other in graph.remove(node):
                open_key[other] ^= mark[node]
                waiting.append(other)
            waiting.append(twin)
            break


def _mark(node: int) -> int:
    # Fixed, well-mixed bits: equal sets have equal keys, and candidates are compared in full.
    return int.from_bytes(hashlib.blake2b(node.to_bytes(8, "big"), digest_size=16).digest(), "big")


def _combined(mark: dict[int, int], nodes: set[int]) -> int:
    key = 0
    for node in nodes:
        key ^= mark[node]
    return key


def _are_twins(graph: WeightedGraph, node: int, other: int) -> bool:
    if other not in graph.neighbours:
        return False
    return graph.neighbours[node] - {other} == graph.neighbours[other] - {node}
