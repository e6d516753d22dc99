"""Straightforward versions of the statistics, to compare with."""

from itertools import combinations

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from dpdb.graph import EdgeArrays

Pairs = list[tuple[int, int]]


def projection(pairs: Pairs, theta: int) -> Pairs:
    degree: dict[int, int] = {}
    kept = []
    for u, v in pairs:
        if degree.get(u, 0) < theta and degree.get(v, 0) < theta:
            degree[u] = degree.get(u, 0) + 1
            degree[v] = degree.get(v, 0) + 1
            kept.append((u, v))
    return kept


def witness_count(pairs: Pairs, theta: int) -> int:
    charged: dict[int, int] = {}
    covered = set()
    for u, v in pairs:
        for charger, node in ((u, v), (v, u)):
            if node not in covered and charged.get(charger, 0) < theta:
                covered.add(node)
                charged[charger] = charged.get(charger, 0) + 1
    return len(covered)


def greedy_cover(pairs: Pairs) -> set[int]:
    cover: set[int] = set()
    for u, v in pairs:
        if u not in cover and v not in cover:
            cover |= {u, v}
    return cover


def graph_of(nodes: int, pairs: Pairs) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from(pairs)
    return graph


def minimum_vertex_cover_size(nodes: int, pairs: Pairs) -> int:
    complement = nx.complement(graph_of(nodes, pairs))
    return nodes - nx.max_weight_clique(complement, weight=None)[1]


def maximal_independent_sets(nodes: int, pairs: Pairs) -> int:
    return sum(1 for _ in nx.find_cliques(nx.complement(graph_of(nodes, pairs)))) if nodes else 1


def twice_fractional_cover(nodes: int, pairs: Pairs) -> int:
    """The linear program itself."""
    from scipy.optimize import linprog

    if not pairs:
        return 0
    incidence = np.zeros((len(pairs), nodes))
    for row, pair in enumerate(pairs):
        incidence[row, list(pair)] = -1
    return round(2 * linprog(np.ones(nodes), A_ub=incidence, b_ub=-np.ones(len(pairs)), bounds=(0, None)).fun)


def random_pairs(nodes: int, probability: float, seed: int, *, shuffled: bool = False) -> Pairs:
    rng = np.random.default_rng(seed)
    pairs = [pair for pair in combinations(range(nodes), 2) if rng.random() < probability]
    if shuffled:
        rng.shuffle(pairs)
    return [(int(u), int(v)) for u, v in pairs]


def relabelled(nodes: int, pairs: Pairs, seed: int) -> Pairs:
    name = np.random.default_rng(seed).permutation(nodes)
    return sorted((int(min(name[u], name[v])), int(max(name[u], name[v]))) for u, v in pairs)


def complete_multipartite(sizes: list[int]) -> tuple[int, Pairs]:
    graph = nx.complete_multipartite_graph(*sizes)
    return graph.number_of_nodes(), sorted((min(e), max(e)) for e in graph.edges)


@st.composite
def edge_arrays(draw: st.DrawFn, max_nodes: int = 12) -> tuple[EdgeArrays, Pairs]:
    """A graph in an arbitrary edge order, in arbitrary batches."""
    nodes = draw(st.integers(0, max_nodes))
    possible = list(combinations(range(nodes), 2))
    chosen = draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
    return EdgeArrays.from_pairs(nodes, chosen, draw(st.integers(1, 9))), chosen
