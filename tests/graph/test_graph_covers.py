"""Fractional and integral vertex covers against linear programming, networkx and brute force."""

import graph_oracles as oracle
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

from dpdb.graph import (
    EdgeArrays,
    adjacency_of,
    fractional_cover,
    greedy_cover_size,
    minimum_vertex_cover,
    twice_fractional_cover,
)

exactly = settings(derandomize=True, deadline=None, max_examples=60)


@exactly
@given(oracle.edge_arrays(max_nodes=10))
def test_fractional_cover_is_an_optimal_half_integral_cover(graph):
    edges, pairs = graph
    cover = fractional_cover(edges)
    assert cover.twice_size == twice_fractional_cover(edges) == int(cover.twice_weight.sum())
    assert cover.twice_size == oracle.twice_fractional_cover(edges.node_count, pairs)
    assert cover.twice_weight.dtype == np.uint8
    assert all(int(cover.twice_weight[u]) + int(cover.twice_weight[v]) >= 2 for u, v in pairs)


def assert_minimum(bounds, size, pairs):
    assert (bounds.lower, bounds.upper, bounds.proved, bounds.reason) == (size, size, True, None)
    assert_cover(bounds, pairs)


def assert_cover(bounds, pairs):
    """The cover that is named has the size that is said, and leaves no edge between the other nodes."""
    assert int(bounds.cover.sum()) == bounds.upper
    assert all(bounds.cover[u] or bounds.cover[v] for u, v in pairs)


@exactly
@given(oracle.edge_arrays(max_nodes=10))
def test_minimum_vertex_cover_is_exact_on_small_graphs(graph):
    edges, pairs = graph
    size = oracle.minimum_vertex_cover_size(edges.node_count, pairs)
    assert_minimum(minimum_vertex_cover(edges), size, pairs)
    assert twice_fractional_cover(edges) <= 2 * size <= 2 * twice_fractional_cover(edges)
    assert size <= greedy_cover_size(edges) <= 2 * size


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(30))
def test_larger_random_graphs(seed):
    nodes, probability = 20 + seed, (0.05, 0.1, 0.2, 0.5, 0.9)[seed % 5]
    pairs = oracle.random_pairs(nodes, probability, seed)
    size = oracle.minimum_vertex_cover_size(nodes, pairs)
    assert_minimum(minimum_vertex_cover(EdgeArrays.from_pairs(nodes, pairs)), size, pairs)


@pytest.mark.heavy
@pytest.mark.parametrize(("nodes", "probability"), [(60, 0.03), (500, 0.004), (800, 0.002), (300, 0.2)])
@pytest.mark.parametrize("seed", range(3))
def test_fractional_cover_against_networkx(nodes, probability, seed):
    pairs = oracle.random_pairs(nodes, probability, seed, shuffled=True)
    double = nx.Graph()
    double.add_nodes_from((x, side) for x in range(nodes) for side in (0, 1))
    double.add_edges_from(((u, 0), (v, 1)) for pair in pairs for u, v in (pair, pair[::-1]))
    matching = nx.bipartite.hopcroft_karp_matching(double, [(x, 0) for x in range(nodes)])
    cover = fractional_cover(EdgeArrays.from_pairs(nodes, pairs, 100))
    assert cover.twice_size == len(matching) // 2 == int(cover.twice_weight.sum())
    assert all(int(cover.twice_weight[u]) + int(cover.twice_weight[v]) >= 2 for u, v in pairs)


@pytest.mark.parametrize(
    ("sizes", "minimum"), [([5, 3, 2], 5), ([1] * 9, 8), ([40, 40, 40], 80), ([300, 2, 1, 1], 4), ([7], 0)]
)
def test_violations_of_one_dependency(sizes, minimum):
    """One group: all classes but the largest must go, where the relaxation keeps half of everything."""
    nodes, pairs = oracle.complete_multipartite(sizes)
    pairs = oracle.relabelled(nodes, pairs, seed=1)
    assert_minimum(minimum_vertex_cover(EdgeArrays.from_pairs(nodes, pairs)), minimum, pairs)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(40))
def test_sparse_graphs_with_leaves_and_twins(seed):
    """Every reduction is undone: trees with twins, cycles and pendant paths have all of them."""
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(12, 40))
    pairs = {(int(rng.integers(0, v)), v) for v in range(1, nodes)}
    pairs |= {tuple(sorted(map(int, rng.choice(nodes, 2, replace=False)))) for _ in range(int(rng.integers(0, 8)))}
    twins = [int(v) for v in rng.integers(0, nodes, 5)]
    pairs |= {(u + v - t, nodes + k) for k, t in enumerate(twins) for u, v in list(pairs) if t in (u, v)}
    pairs = sorted(pairs)
    size = oracle.minimum_vertex_cover_size(nodes + len(twins), pairs)
    assert_minimum(minimum_vertex_cover(EdgeArrays.from_pairs(nodes + len(twins), pairs)), size, pairs)


@pytest.mark.parametrize("length", [3, 4, 5, 30, 31])
def test_paths_and_cycles(length):
    cycle = [(i, i + 1) for i in range(length - 1)] + [(0, length - 1)]
    assert twice_fractional_cover(EdgeArrays.from_pairs(length, cycle)) == length
    assert minimum_vertex_cover(EdgeArrays.from_pairs(length, cycle)).upper == -(-length // 2)
    assert minimum_vertex_cover(EdgeArrays.from_pairs(length, cycle[:-1])).upper == length // 2


@pytest.mark.parametrize("time_limit", [0.0, 0.05])
def test_bounds_when_time_is_up(time_limit):
    nodes = 250
    pairs = oracle.random_pairs(nodes, 0.1, seed=5)
    edges = EdgeArrays.from_pairs(nodes, pairs)
    bounds = minimum_vertex_cover(edges, time_limit=time_limit)
    assert_cover(bounds, pairs)
    assert twice_fractional_cover(edges) <= 2 * bounds.lower < 2 * bounds.upper < 2 * nodes
    assert not bounds.proved
    assert bounds.reason == "the time limit was reached"


def test_bounds_when_the_graph_is_too_large():
    nodes = 900
    edges = EdgeArrays.from_pairs(nodes, oracle.random_pairs(nodes, 0.15, seed=5))
    bounds = minimum_vertex_cover(edges)
    assert 2 * bounds.lower >= twice_fractional_cover(edges)
    assert bounds.lower < bounds.upper < nodes
    assert "too large" in (bounds.reason or "")


def test_an_adjacency_is_built_once():
    edges = EdgeArrays.from_pairs(4, [(0, 1), (1, 2), (2, 3)])
    graph = adjacency_of(edges)
    assert adjacency_of(graph) is graph
    assert twice_fractional_cover(graph) == 4
    assert minimum_vertex_cover(graph).upper == 2
