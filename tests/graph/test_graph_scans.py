"""Statistics of one ordered scan against straightforward versions."""

import subprocess
import sys

import graph_oracles as oracle
import numpy as np
import pytest
from case_share import of_all
from hypothesis import given, settings, strategies as st

from dpdb.errors import ParameterError
from dpdb.graph import (
    Adjacency,
    DegreeSummary,
    EdgeArrays,
    EdgeGraph,
    adjacency_of,
    degree_summary,
    greedy_cover_size,
    projected_counts,
    witness_counts,
)
from dpdb.graph.kernels.blocks import Present, next_kept

exactly = settings(derandomize=True, deadline=None, max_examples=of_all(80))
some_thetas = st.lists(st.one_of(st.integers(1, 14), st.sampled_from([255, 256, 70_000, 2**70])), max_size=20)


@exactly
@given(oracle.edge_arrays(), some_thetas)
def test_projection(graph, thetas):
    edges, pairs = graph
    counts = projected_counts(edges, thetas)
    assert [count.theta for count in counts] == thetas
    for count in counts:
        kept = oracle.projection(pairs, count.theta)
        assert count.edge_count == len(kept)
        assert count.positive_degree_nodes == len({node for pair in kept for node in pair})


@exactly
@given(oracle.edge_arrays(), some_thetas)
def test_witness(graph, thetas):
    edges, pairs = graph
    assert witness_counts(edges, thetas) == tuple(oracle.witness_count(pairs, theta) for theta in thetas)


@exactly
@given(oracle.edge_arrays())
def test_witness_with_enough_capacity_counts_positive_degrees(graph):
    edges, _ = graph
    summary = degree_summary(edges)
    assert witness_counts(edges, [max(summary.max_degree, 1)]) == (summary.positive_degree_nodes,)


@exactly
@given(oracle.edge_arrays())
def test_greedy_cover_and_degrees(graph):
    edges, pairs = graph
    assert greedy_cover_size(edges) == len(oracle.greedy_cover(pairs))
    expected = oracle.graph_of(edges.node_count, pairs)
    assert adjacency_of(edges).degrees.tolist() == [degree for _, degree in expected.degree]
    assert degree_summary(edges) == DegreeSummary(
        len(pairs),
        len({node for pair in pairs for node in pair}),
        max((degree for _, degree in expected.degree), default=0),
    )


@exactly
@given(oracle.edge_arrays(), some_thetas, some_thetas, st.booleans())
def test_one_scan_equals_the_single_functions(graph, thetas, capacities, kept):
    edges, pairs = graph
    listed = EdgeGraph(edges)
    if kept:
        assert listed.adjacency.edge_count == len(pairs)
    projections, witnesses = listed.scan(thetas, capacities)
    assert projections == projected_counts(edges, thetas)
    assert witnesses == witness_counts(edges, capacities)
    assert "adjacency" in listed.__dict__
    lists = listed.adjacency.sorted()
    assert lists.edge_count == len(pairs)
    expected = oracle.graph_of(edges.node_count, pairs)
    for node in range(edges.node_count):
        assert lists.neighbours_of(node).tolist() == sorted(expected[node])


@pytest.mark.heavy
@pytest.mark.parametrize("hubs", [1, 4, 15])
def test_larger_graphs_and_wide_states(hubs):
    """Degrees above 255 and many thetas, in any batches."""
    nodes = 400
    pairs = [(hub, node) for hub in range(hubs) for node in range(hub + 1, nodes)]
    pairs = [pairs[i] for i in np.random.default_rng(hubs).permutation(len(pairs))]
    for thetas in ([1], [3, 2], [nodes + 1, 5, 1, 300], [2**i for i in range(15)], list(range(1, 41, 2))):
        edge_counts = [len(oracle.projection(pairs, theta)) for theta in thetas]
        witnesses = tuple(oracle.witness_count(pairs, theta) for theta in thetas)
        for batch_size in (7, 977, 10**6):
            edges = EdgeArrays.from_pairs(nodes, pairs, batch_size)
            projections, witnessed = EdgeGraph(edges).scan(thetas, thetas)
            assert [count.edge_count for count in projections] == edge_counts
            assert witnessed == witnesses


class ReadOnlyBatches:
    """What an Arrow reader gives: read-only buffers, empty batches in between."""

    node_count = 3

    def batches(self):
        for u, v in ((), ()), ((0, 1), (1, 2)), ((), ()):
            first, second = np.array(u, dtype=np.uint32), np.array(v, dtype=np.uint32)
            first.flags.writeable = second.flags.writeable = False
            yield first, second


def test_read_only_and_empty_batches():
    projections, witnesses = EdgeGraph(ReadOnlyBatches()).scan([1, 2], [1])
    assert [count.edge_count for count in projections] == [1, 2]
    assert witnesses == (2,)
    assert greedy_cover_size(ReadOnlyBatches()) == 2
    assert degree_summary(ReadOnlyBatches()) == DegreeSummary(2, 3, 2)
    assert adjacency_of(ReadOnlyBatches()).edge_count == 2


@pytest.mark.parametrize("nodes", [0, 1, 5])
def test_graphs_without_edges(nodes):
    edges = EdgeArrays(nodes, [], [])
    listed = EdgeGraph(edges)
    projections, witnesses = listed.scan([1, 9], [2])
    assert {(count.edge_count, count.positive_degree_nodes) for count in projections} == {(0, 0)}
    assert witnesses == (0,)
    assert greedy_cover_size(edges) == 0
    assert degree_summary(edges) == DegreeSummary(0, 0, 0)
    assert isinstance(listed.adjacency, Adjacency)
    assert listed.adjacency.node_count == nodes


@pytest.mark.parametrize("theta", [0, -3, 1.5, "2", None])
def test_unusable_thetas(theta):
    for statistic in (projected_counts, witness_counts):
        with pytest.raises(ParameterError, match="theta must be"):
            statistic(EdgeArrays(2, [0], [1]), [1, theta])


@pytest.mark.parametrize(("u", "v"), [([1], [0]), ([1], [1]), ([0], [3])])
def test_batches_that_break_the_contract(u, v):
    with pytest.raises(ParameterError, match="u < v < node_count"):
        degree_summary(EdgeArrays(3, u, v))


@pytest.mark.parametrize(
    ("u", "v", "nodes", "size"), [([0], [], 2, 1), ([[0]], [[1]], 2, 1), ([], [], -1, 1), ([], [], 0, 0)]
)
def test_unusable_arrays(u, v, nodes, size):
    with pytest.raises(ParameterError):
        EdgeArrays(nodes, u, v, size)


def test_the_import_is_light():
    code = "import sys, dpdb.graph; sys.exit(bool({'numba', 'scipy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("longest", [1, 63, 64, 65, 128, 1000])
def test_places_leave_lists_as_bits(longest: int) -> None:
    """Beside a plain search, from any place to any end, until nothing is left; each of two lines keeps its own."""
    rng = np.random.default_rng(longest)
    words = longest // 64 + 1
    present = Present(np.zeros((2, words), np.uint64), np.zeros((2, words), np.int32))
    listed, gone = rng.permutation(longest).astype(np.int32), np.zeros(longest, np.bool_)
    while not gone.all():
        gone[rng.permutation(longest)[: 1 + longest // 8]] = True
        for _ in range(40):
            place, end = sorted(rng.integers(0, longest + 1, 2).tolist())
            left = [at for at in range(place, end) if not gone[listed[at]]]
            found = next_kept(present, 1, listed, gone, place, end)
            assert found == left[0] if left else found >= end
    assert not present.gone[0].any()
