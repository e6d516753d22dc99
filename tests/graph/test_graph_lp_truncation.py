"""The LP truncation of edges: value, sensitivity, exactness of its proof."""

from itertools import combinations

import graph_oracles as oracle
import networkx as nx
import numpy as np
import pytest
from case_share import of_all
from hypothesis import given, settings, strategies as st

from dpdb.errors import ParameterError
from dpdb.graph import EdgeArrays, twice_truncated_edges
from dpdb.graph.exact.lp_truncation import PackingProgram, settle
from dpdb.graph.exact.solver import Solution


def truncated(nodes, pairs, taus):
    return twice_truncated_edges(EdgeArrays.from_pairs(nodes, pairs), taus)


def flow_oracle(nodes, pairs, tau):
    """Maximum flow of the bipartite double cover, by another algorithm in integers."""
    cover = nx.DiGraph()
    cover.add_nodes_from(["source", "sink"])
    for x in range(nodes):
        cover.add_edge("source", (x, 0), capacity=tau)
        cover.add_edge((x, 1), "sink", capacity=tau)
    for u, v in pairs:
        cover.add_edge((u, 0), (v, 1), capacity=1)
        cover.add_edge((v, 0), (u, 1), capacity=1)
    return nx.maximum_flow_value(cover, "source", "sink")


def without(gone, pairs):
    return [tuple(x - (x > gone) for x in pair) for pair in pairs if gone not in pair]


def largest_change(nodes, pairs, taus):
    """Check every node removal; return the largest change per tau."""
    whole = np.array(truncated(nodes, pairs, taus))
    change = np.array([whole - truncated(nodes - 1, without(gone, pairs), taus) for gone in range(nodes)])
    assert (change >= 0).all()
    assert (change <= 2 * np.array(taus)).all()
    return change.max(axis=0)


@settings(derandomize=True, deadline=None, max_examples=of_all(60))
@given(oracle.edge_arrays(), st.integers(1, 8))
def test_the_linear_program_is_half_a_flow(graph, tau):
    edges, pairs = graph
    assert twice_truncated_edges(edges, [tau]) == (flow_oracle(edges.node_count, pairs, tau),)


@pytest.mark.heavy
@pytest.mark.parametrize("probability", [0.05, 0.15, 0.5])
def test_larger_graphs(probability):
    pairs = oracle.random_pairs(70, probability, seed=3)
    taus = [1, 2, 3, 5, 8, 13, 30, 69]
    assert truncated(70, pairs, taus) == tuple(flow_oracle(70, pairs, tau) for tau in taus)


@pytest.mark.heavy
@pytest.mark.parametrize("sizes", [[9, 1], [5, 5], [20, 3, 2], [7, 7, 7, 1], [30, 1, 1, 1]])
def test_twins(sizes):
    """What one violated dependency gives: complete multipartite graphs, here with a path of conflicts at the end."""
    nodes, pairs = oracle.complete_multipartite(sizes)
    pairs += [(nodes - 1, nodes), (nodes, nodes + 1)]
    taus = range(1, nodes + 1)
    assert truncated(nodes + 2, pairs, taus) == tuple(flow_oracle(nodes + 2, pairs, tau) for tau in taus)


def test_an_odd_cycle_is_half_integral():
    triangle = [(0, 1), (0, 2), (1, 2)]
    assert truncated(3, triangle, [1, 2, 2**70, 1]) == (3, 6, 6, 3)


def test_no_edges():
    assert truncated(0, [], [1, 4]) == (0, 0)
    assert truncated(5, [], []) == ()


@pytest.mark.parametrize("tau", [0, -1, 1.5])
def test_a_tau_below_one_is_refused(tau):
    with pytest.raises(ParameterError, match="theta must be"):
        truncated(2, [(0, 1)], [tau])


# -- sensitivity ----------------------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.parametrize("nodes", [2, 3, 4])
def test_sensitivity_on_every_labelled_graph(nodes):
    possible, taus = list(combinations(range(nodes), 2)), list(range(1, nodes + 1))
    largest = np.zeros(nodes, int)
    for mask in range(1 << len(possible)):
        pairs = [pair for k, pair in enumerate(possible) if mask >> k & 1]
        largest = np.maximum(largest, largest_change(nodes, pairs, taus))
    assert largest[:-1].tolist() == [2 * tau for tau in taus[:-1]]  # tight up to the possible degree


@pytest.mark.heavy
@pytest.mark.parametrize("nodes", [5, 6, pytest.param(7, marks=pytest.mark.slow)])
def test_sensitivity_on_every_graph_up_to_isomorphism(nodes, record_property):
    """The statistic does not see names of nodes: one graph of each class suffices."""
    graphs = [graph for graph in nx.graph_atlas_g() if graph.number_of_nodes() == nodes]
    assert len(graphs) == {5: 34, 6: 156, 7: 1044}[nodes]
    taus, largest = list(range(1, nodes)), np.zeros(nodes - 1, int)
    for graph in graphs:
        largest = np.maximum(largest, largest_change(nodes, sorted(graph.edges), taus))
    assert largest.tolist() == [2 * tau for tau in taus]
    record_property("graph_node_tau_cases", len(graphs) * nodes * len(taus))


# -- reductions and proofs ------------------------------------------------------------------------------------


def program(nodes, pairs, tau):
    u, v = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    return PackingProgram(u, v, np.ones(len(u), np.int64), np.full(nodes, tau, np.int64))


def test_settling_leaves_only_what_capacities_limit():
    star = [(0, leaf) for leaf in range(1, 9)]
    fixed, core = settle(program(9, star, 3))
    assert (fixed, len(core.u)) == (3, 0)
    fixed, core = settle(program(5, list(combinations(range(5), 2)), 3))
    assert (fixed, len(core.u)) == (0, 10)


def test_a_wrong_solution_is_not_proved():
    triangle = program(3, [(0, 1), (0, 2), (1, 2)], 1)
    half, price = np.array([1, 1, 1]), np.array([1, 1, 1])
    assert triangle.proved_optimum(half, price) == 3
    for doubled, twice_price in [
        (np.array([2, 0, 0]), price),  # feasible, not optimal
        (np.array([2, 1, 0]), price),  # beyond a node's capacity
        (np.array([3, 0, 0]), price),  # beyond a pair's bound
        (np.array([4, -1, 0]), price),
        (half, np.array([2, 1, 1])),  # a bound that is not reached
        (half, np.array([3, 3, -3])),
    ]:
        with pytest.raises(ArithmeticError):
            triangle.proved_optimum(doubled, twice_price)


def test_a_solver_that_is_slightly_off_is_rounded_and_one_that_is_wrong_fails(monkeypatch):
    import scipy.optimize

    solve = scipy.optimize.linprog
    nodes, pairs = 7, list(combinations(range(7), 2))
    expected = truncated(nodes, pairs, [3])

    def shifted(by):
        def linprog(*arguments, **options):
            result = solve(*arguments, **options)
            result.x = result.x + by
            return result

        return linprog

    monkeypatch.setattr(scipy.optimize, "linprog", shifted(1e-6))
    assert truncated(nodes, pairs, [3]) == expected
    monkeypatch.setattr(scipy.optimize, "linprog", shifted(0.3))
    with pytest.raises(ArithmeticError, match="not proved optimal"):
        truncated(nodes, pairs, [3])


def test_a_solver_that_gives_up_fails(monkeypatch):
    gave_up = Solution(finished=True, solved=False, message="unbounded", x=None)
    monkeypatch.setattr("dpdb.graph.exact.lp_truncation.solve", lambda program: gave_up)
    with pytest.raises(ArithmeticError, match="did not solve"):
        truncated(40, oracle.random_pairs(40, 0.4, seed=5), [3])
