"""Number of maximal independent sets against networkx and closed forms."""

import math

import graph_oracles as oracle
import pytest
from hypothesis import given, settings

from dpdb.graph import EdgeArrays, count_maximal_independent_sets


@settings(derandomize=True, deadline=None, max_examples=100)
@given(oracle.edge_arrays())
def test_small_graphs(graph):
    edges, pairs = graph
    expected = oracle.maximal_independent_sets(edges.node_count, pairs)
    assert count_maximal_independent_sets(edges) == (expected, None)


@pytest.mark.parametrize("seed", range(12))
def test_larger_random_graphs(seed):
    nodes, probability = 18 + seed, (0.06, 0.15, 0.4, 0.8)[seed % 4]
    pairs = oracle.random_pairs(nodes, probability, seed)
    expected = oracle.maximal_independent_sets(nodes, pairs)
    assert count_maximal_independent_sets(EdgeArrays.from_pairs(nodes, pairs)) == (expected, None)


@pytest.mark.parametrize("nodes", [0, 1, 6])
def test_without_edges_there_is_one(nodes):
    assert count_maximal_independent_sets(EdgeArrays(nodes, [], [])) == (1, None)


def test_groups_of_one_dependency_multiply():
    """A group with k classes has k maximal consistent subsets; groups multiply; other rows are always in."""
    pairs, nodes = [], 3
    groups = [[4, 2, 1], [30, 1], [1] * 12] * 40
    for sizes in groups:
        count, group = oracle.complete_multipartite(sizes)
        pairs += [(nodes + u, nodes + v) for u, v in group]
        nodes += count
    edges = EdgeArrays.from_pairs(nodes, oracle.relabelled(nodes, pairs, seed=3))
    assert count_maximal_independent_sets(edges) == (math.prod(map(len, groups)), None)


def test_long_threshold_graph_is_solved_by_twins():
    """A cograph that only unravels one node at a time."""
    nodes = 301
    pairs = [(u, v) for v in range(0, nodes, 2) for u in range(v)]
    expected = oracle.maximal_independent_sets(nodes, pairs)
    assert count_maximal_independent_sets(EdgeArrays.from_pairs(nodes, pairs), step_limit=2) == (
        expected,
        None,
    )


def test_limits():
    path = EdgeArrays.from_pairs(200, [(i, i + 1) for i in range(199)])
    count, reason = count_maximal_independent_sets(path, step_limit=1_000)
    assert count is None
    assert "limit" in (reason or "")
    count, reason = count_maximal_independent_sets(path, edge_limit=100)
    assert count is None
    assert "too large" in (reason or "")
