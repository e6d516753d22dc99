"""The weight of a matching of greatest weight, beside scipy's assignment of a full matrix."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from dpdb.graph import greatest_matching


def compare(seed: int, count: int) -> None:
    """Edges without own nodes, with ties or without; all of them in any order."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        lefts, rights = rng.integers(1, 9, 2)
        cells = rng.permutation(lefts * rights)[: rng.integers(0, lefts * rights + 1)]
        left, right = cells // rights, cells % rights
        weights = rng.integers(1, rng.choice([2, 3, 4, 100]), cells.size)
        matrix = np.zeros((lefts, rights), np.int64)
        matrix[left, right] = weights
        chosen = linear_sum_assignment(matrix, maximize=True)
        assert greatest_matching(left, right, weights) == matrix[chosen].sum()


def test_it_weighs_as_much_as_the_best_assignment() -> None:
    compare(1, 500)


@pytest.mark.slow
def test_it_weighs_as_much_as_the_best_assignment_of_many_graphs() -> None:
    compare(2, 50_000)


def test_an_edge_may_have_nodes_of_its_own() -> None:
    """Three edges at right node 0 of which one may stay, and one edge that meets no other."""
    left, right, weights = np.array([-1, -1, 4, -1]), np.array([0, 0, 0, -1]), np.array([2, 5, 3, 7])
    assert greatest_matching(left, right, weights) == 12


def test_long_paths_and_large_weights_are_exact() -> None:
    """A path of edges of equal weight, but for its middle: every second edge, whatever comes first."""
    nodes = 100_001
    left, right = (np.arange(nodes) + 1) // 2, np.arange(nodes) // 2
    weights = np.full(nodes, 2**40)
    weights[nodes // 2] += 1
    for order in (np.arange(nodes), np.arange(nodes)[::-1], np.random.default_rng(3).permutation(nodes)):
        best = (nodes + 1) // 2 * 2**40 + int(nodes // 2 % 2 == 0)
        assert greatest_matching(left[order], right[order], weights[order]) == best
