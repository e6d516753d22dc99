"""The factorized graph equals the edge stream, value for value, on random codes with NULLs and every kind of block."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from case_share import fifth, of_all
from hypothesis import given, settings, strategies as st
from random_blocks import edges_of, random_constraints

from dpdb.errors import ParameterError
from dpdb.graph import (
    BlockConstraint,
    BlockGraph,
    EdgeArrays,
    EdgeGraph,
    ListedConstraint,
    by_class,
    count_maximal_independent_sets,
    minimum_vertex_cover,
    steps,
)
from dpdb.graph.blocks.block_degrees import counted_by_sums, counted_from_minority
from dpdb.graph.blocks.block_matching import crown, maximum_matching
from dpdb.graph.blocks.range_matching import range_matching
from dpdb.graph.grouping import factorize, sorted_by
from dpdb.graph.steps import finished

THETAS = [1, 2, 3, 4, 6, 9, 1000]
CROWNS: list[tuple[int, int]] = []
"""Heads of the crowns that were found, and rows that they left."""


def agree(seed: int) -> int:
    rng = np.random.default_rng(seed)
    row_count = int(rng.integers(0, 24))
    made = random_constraints(rng, row_count)
    expected = edges_of(row_count, made)
    blocks = BlockGraph(row_count, [one.constraint for one in made])
    listed = [
        (int(u), int(k), int(v)) for us, vs, ks in blocks.labelled_batches() for u, v, k in zip(us, vs, ks, strict=True)
    ]
    assert listed == expected
    edges = EdgeGraph(EdgeArrays.from_pairs(row_count, [(u, v) for u, _, v in expected]))
    assert blocks.degree_summary() == edges.degree_summary()
    assert blocks.problematic_count == edges.degree_summary().positive_degree_nodes
    assert blocks.projected_counts(THETAS) == edges.projected_counts(THETAS)
    thetas = range(1, edges.degree_summary().max_degree + 2)
    scanned = tuple(finished(blocks.projection.counts(theta)) for theta in thetas)  # also where no scan is needed
    assert scanned == edges.projected_counts(thetas)
    assert blocks.witness_counts(THETAS) == edges.witness_counts(THETAS)
    at_most = [blocks.most_projected_edges(theta) for theta in thetas]
    assert all(most >= counts.edge_count for most, counts in zip(at_most, scanned, strict=True))
    assert [counts.edge_count for counts in scanned] == sorted(counts.edge_count for counts in scanned)
    assert blocks.greedy_cover_size() == edges.greedy_cover_size()
    assert blocks.twice_fractional_cover() == edges.twice_fractional_cover()
    dense_ways_agree(blocks, [one.constraint for one in made], edges)
    return len(expected)


def dense_ways_agree(
    blocks: BlockGraph, constraints: list[BlockConstraint | ListedConstraint], edges: EdgeGraph
) -> None:
    """Both ways to compute a statistic, whichever the graph itself takes."""
    rows = blocks.node_count
    ways = [maximum_matching(blocks.blocks, blocks.cover)]
    plain = [constraint for constraint in constraints if isinstance(constraint, BlockConstraint)]
    if len(plain) == len(constraints) and not any(constraint.both for constraint in plain):
        ways.append(range_matching(plain, rows))
    for matching in ways:
        assert finished(matching) == edges.twice_fractional_cover()
    heads, rest = finished(crown(blocks.blocks, blocks.cover))
    left = BlockGraph(rest.size, [constraint.of_rows(rest) for constraint in constraints])
    assert 2 * heads + finished(maximum_matching(left.blocks, left.cover)) == edges.twice_fractional_cover()
    assert heads <= np.count_nonzero(blocks.cover)
    CROWNS.append((heads, rest.size))
    earlier: dict[int, BlockConstraint] = {}
    for k, constraint in enumerate(constraints):
        if isinstance(constraint, BlockConstraint):
            from_minority = counted_from_minority(blocks.blocks, k, constraint, earlier)
            if constraint.ordered + sum(other.ordered for other in earlier.values()) <= 1:
                by_sums = finished(counted_by_sums(constraint, list(earlier.values())))
                assert by_sums.tolist() == from_minority.tolist()
            earlier[k] = constraint


@pytest.mark.heavy(family="long")
def test_all_statistics_equal_those_of_the_edge_stream(record_property: pytest.FixtureRequest) -> None:
    edges = [agree(seed) for seed in fifth(range(150))]
    record_property("graphs", len(edges))  # type: ignore[operator]
    assert sum(heads > 0 and left > 0 for heads, left in CROWNS) > of_all(15)  # both parts matter
    assert sum(edges) > of_all(3_000)  # the tables are not trivially clean


@pytest.mark.parametrize("theta", [0, -1, 2.0])
def test_a_theta_must_be_a_positive_integer(theta: int) -> None:
    graph = BlockGraph(3, [by_class([], np.array([0, 1, 1], np.int32), 3)])
    with pytest.raises(ParameterError, match="theta must be"):
        graph.projected_counts([theta])


@pytest.mark.slow
def test_all_statistics_equal_on_many_more_tables() -> None:
    assert sum(agree(seed) for seed in range(1_000, 31_000)) > 500_000


@pytest.mark.heavy(family="long")
def test_enumeration_goes_on_across_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpdb.graph.blocks.block_graph.BATCH", 7)
    for seed in fifth(range(60)):
        agree(seed)


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("work", [1, 2, 7])
def test_results_do_not_depend_on_where_kernels_pause(work: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels return after so many rows looked at and are called again; the edges come from the definition."""
    for seed in fifth(range(40)):
        with monkeypatch.context() as patched:
            patched.setattr(steps, "WORK", work)
            agree(seed)
        agree(seed)
    for number in fifth(range(20)):
        rng = np.random.default_rng([work, number])
        count = int(rng.integers(1, 60))
        constraints = [one.constraint for one in random_constraints(rng, count)]
        whole = BlockGraph(count, constraints)
        with monkeypatch.context() as patched:
            patched.setattr(steps, "WORK", work)
            found = covers(BlockGraph(count, constraints))
        assert found == covers(whole)


def covers(graph: BlockGraph) -> tuple[object, ...]:
    cover = minimum_vertex_cover(graph, time_limit=600.0)  # a few milliseconds where nothing else runs
    return graph.twice_fractional_cover(), cover, count_maximal_independent_sets(graph)


def test_witness_counts_grow_with_theta() -> None:
    """What lets `BlockGraph.witness_counts` stop early: W is monotone in theta, here over all graphs of 5 nodes."""
    pairs = list(combinations(range(5), 2))
    for bits in range(1 << len(pairs)):
        chosen = [pair for position, pair in enumerate(pairs) if bits >> position & 1]
        graph = EdgeGraph(EdgeArrays.from_pairs(5, chosen))
        counts = graph.witness_counts([1, 2, 3, 4, 5])
        assert list(counts) == sorted(counts)
        assert counts[-1] == graph.degree_summary().positive_degree_nodes


def test_projections_grow_with_theta() -> None:
    """What lets bounds of a projection come from other thetas: over all graphs of 5 nodes."""
    pairs = list(combinations(range(5), 2))
    for bits in range(1 << len(pairs)):
        chosen = [pair for position, pair in enumerate(pairs) if bits >> position & 1]
        counts = EdgeGraph(EdgeArrays.from_pairs(5, chosen)).projected_counts([1, 2, 3, 4])
        assert [each.edge_count for each in counts] == sorted(each.edge_count for each in counts)


@pytest.mark.heavy(family="long")
def test_majority_rows_never_conflict_and_groups_hold_conflicting_rows_only() -> None:
    for seed in range(200):
        rng = np.random.default_rng(seed)
        row_count = int(rng.integers(0, 30))
        for made in random_constraints(rng, row_count, listed=False):
            constraint, in_conflict = made.constraint, set()
            for u, v in combinations(range(row_count), 2):
                if made.violates(u, v):
                    in_conflict |= {u, v}
                    assert constraint.minority[u] or constraint.minority[v]
            assert in_conflict == set(np.flatnonzero(constraint.group >= 0).tolist())


@settings(derandomize=True, deadline=None, max_examples=of_all(200))
@given(st.lists(st.tuples(st.integers(-1, 2**31 - 1), st.integers(-1, 3)), max_size=40))
def test_factorize_numbers_distinct_pairs(pairs: list[tuple[int, int]]) -> None:
    left, right = (np.array([pair[side] for pair in pairs], np.int32) for side in (0, 1))
    numbers, count = factorize(left, right)
    known: dict[tuple[int, int], int] = {}
    expected = [-1 if min(pair) < 0 else known.setdefault(pair, len(known)) for pair in pairs]
    assert numbers.tolist() == expected
    assert count == len(known)


SIZES = [-1, 0, 1, 2, 2**31 - 2, 2**31 - 1]


@settings(derandomize=True, deadline=None, max_examples=of_all(200))
@given(st.lists(st.lists(st.sampled_from(SIZES), min_size=8, max_size=8), min_size=1, max_size=6))
def test_rows_are_sorted_by_keys_of_any_size(columns: list[list[int]]) -> None:
    """One integer has no room for two keys of 31 bits and the place."""
    keys = [np.array(column, np.int32) for column in columns]
    known = np.logical_and.reduce([key >= 0 for key in keys])
    assert sorted_by(keys).tolist() == [row for row in np.lexsort(keys).tolist() if known[row]]


def test_rows_without_constraints_have_no_edges() -> None:
    graph = BlockGraph(3, [])
    assert list(graph.batches()) == []
    assert graph.twice_fractional_cover() == 0
