"""The worked examples of paper A."""

import pytest

from dpdb.graph import EdgeArrays, degree_summary, greedy_cover_size, projected_counts

A, B, C, D, E, F, G = range(7)
FIGURE_2 = [(A, B), (A, C), (B, C), (C, D), (D, E), (E, F), (F, G)]


def test_examples_1_and_2_table_3():
    """Row 4 has the typo: it conflicts with the three others."""
    star = EdgeArrays.from_pairs(4, [(0, 3), (1, 3), (2, 3)])
    assert degree_summary(star).edge_count == 3
    truncated = {counts.theta: 3 - counts.edge_count for counts in projected_counts(star, [1, 2, 3])}
    assert truncated == {1: 2, 2: 1, 3: 0}


def test_example_5_the_vanilla_greedy_depends_on_the_order():
    e1, e2, e3, e4, e5, e6, e7 = FIGURE_2

    def size(order):
        return greedy_cover_size(EdgeArrays.from_pairs(7, order))

    assert size([e2, e6, e1, e3, e4, e5, e7]) == 4
    assert size([e2, e7, e1, e3, e4, e5, e6]) == 6  # the paper says 4, but e5 = (D, E) is still uncovered
    assert size([e1, e4, e7, e2, e3]) == 6  # without E; the paper says e6, which goes with E


@pytest.mark.parametrize(
    ("pairs", "trace"),
    [
        (FIGURE_2, [2, 2, 2, 4, 4, 6, 6]),
        ([edge for edge in FIGURE_2 if E not in edge], [2, 2, 2, 4, 6]),
    ],
)
def test_example_6_trace(pairs, trace):
    sizes = [greedy_cover_size(EdgeArrays.from_pairs(7, pairs[:stop])) for stop in range(1, len(pairs) + 1)]
    assert sizes == trace
    assert sizes[-1] == 6
