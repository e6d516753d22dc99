"""Node sensitivity of every scan statistic, by brute force through the real kernels."""

import numpy as np
import pytest
from sensitivity_driver import SmallGraphs

from dpdb.graph import EdgeArrays, projected_counts

SEEDS = range(1, 1000)


def orders(count: int) -> list[int | None]:
    """The canonical order (u, then v) and fixed permutations of the possible edges."""
    return [None, *SEEDS[: count - 1]]


class Extremes:
    """Checks every change against its bound and keeps the most extreme ones."""

    def __init__(self, nodes: int) -> None:
        self.theta = np.arange(1, nodes + 1)
        self.positive_low = np.zeros(nodes, int)
        self.positive_high = np.zeros(nodes, int)
        self.edges_high = np.zeros(nodes, int)
        self.witness_high = np.zeros(nodes, int)
        self.greedy_high = 0
        self.cases = 0

    def check(self, changes) -> None:
        theta = self.theta
        assert (changes.edges >= 0).all()
        assert (changes.edges <= theta).all()
        assert (changes.positive >= -(theta - 1)).all()
        assert (changes.positive <= theta + 1).all()
        assert (changes.witness >= 0).all()
        assert (changes.witness <= theta + 1).all()
        assert (changes.greedy >= 0).all()
        assert (changes.greedy <= 2).all()
        self.positive_low = np.minimum(self.positive_low, changes.positive.min(axis=0))
        self.positive_high = np.maximum(self.positive_high, changes.positive.max(axis=0))
        self.edges_high = np.maximum(self.edges_high, changes.edges.max(axis=0))
        self.witness_high = np.maximum(self.witness_high, changes.witness.max(axis=0))
        self.greedy_high = max(self.greedy_high, int(changes.greedy.max()))
        self.cases += changes.edges.size

    def assert_upper_bounds_are_tight(self) -> None:
        nodes = len(self.theta)
        useful = slice(0, nodes - 1)  # a node has at most nodes - 1 neighbours
        assert (self.edges_high[useful] == self.theta[useful]).all()
        assert (self.positive_high[useful] == self.theta[useful] + 1).all()
        assert (self.witness_high[useful] == self.theta[useful] + 1).all()
        assert self.greedy_high == 2

    def report(self, record_property) -> None:
        record_property("graph_node_order_theta_cases", self.cases)
        print(f"{self.cases} (graph, removed node, order, theta) cases; positive >= {self.positive_low}")


def check_all(nodes: int, order_count: int) -> Extremes:
    extremes = Extremes(nodes)
    for seed in orders(order_count):
        graphs = SmallGraphs(nodes, seed)
        extremes.check(graphs.changes(graphs.all, complete=True))
    return extremes


@pytest.mark.heavy
@pytest.mark.parametrize(("nodes", "order_count"), [(2, 1), (3, 6), (4, 64), (5, 64)])
def test_every_small_graph(nodes, order_count, record_property):
    extremes = check_all(nodes, order_count)
    extremes.assert_upper_bounds_are_tight()
    extremes.report(record_property)


@pytest.mark.heavy(family="long")
def test_every_six_node_graph(record_property):
    extremes = check_all(6, 32)
    extremes.assert_upper_bounds_are_tight()
    assert extremes.positive_low[:2].tolist() == [0, -1]  # theta = 2 attains -(theta - 1)
    extremes.report(record_property)


@pytest.mark.heavy(family="long")
def test_sampled_seven_node_graphs(record_property):
    extremes = Extremes(7)
    for seed in orders(10):
        graphs = SmallGraphs(7, seed)
        extremes.check(graphs.changes(np.random.default_rng(seed or 0).choice(graphs.all, 5_000)))
    extremes.report(record_property)


@pytest.mark.slow
def test_every_seven_node_graph(record_property):
    extremes = check_all(7, 4)
    extremes.assert_upper_bounds_are_tight()
    extremes.report(record_property)


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 6, pytest.param(7, marks=pytest.mark.slow)])
def test_fractional_cover_of_every_graph(nodes, record_property):
    graphs = SmallGraphs(nodes)
    changes = graphs.fractional_changes(graphs.all, complete=True)
    assert changes.min() == 0
    assert changes.max() == 2
    record_property("graph_node_cases", changes.size)
    print(f"{changes.size} (graph, removed node) cases")


@pytest.mark.heavy(family="long")
def test_fractional_cover_of_sampled_seven_node_graphs(record_property):
    graphs = SmallGraphs(7)
    changes = graphs.fractional_changes(np.random.default_rng(7).choice(graphs.all, 50_000))
    assert (changes >= 0).all()
    assert (changes <= 2).all()
    record_property("graph_node_cases", changes.size)


@pytest.mark.parametrize("theta", range(1, 8))
def test_lemma_1_is_false_upwards(theta):
    """A hub arriving on theta isolated nodes: theta + 1 nodes become problematic, not theta."""
    star = EdgeArrays.from_pairs(theta + 1, [(0, leaf) for leaf in range(1, theta + 1)])
    (with_hub,) = projected_counts(star, [theta])
    (without_hub,) = projected_counts(EdgeArrays(theta, [], []), [theta])
    assert with_hub.positive_degree_nodes - without_hub.positive_degree_nodes == theta + 1


@pytest.mark.parametrize("theta", range(1, 8))
def test_lemma_1_is_tight_downwards(theta):
    """A node x takes the last free place of theta others, each of which then loses a leaf of its own."""
    x, middle, leaf = 0, range(1, theta + 1), range(theta + 1, 2 * theta + 1)
    fillers = range(2 * theta + 1, 3 * theta)
    taken = [(m, f) for m in middle for f in fillers]
    through_x = [(x, m) for m in middle]
    lost = list(zip(middle, leaf, strict=True))
    nodes = 3 * theta
    (with_x,) = projected_counts(EdgeArrays.from_pairs(nodes, taken + through_x + lost), [theta])
    (without_x,) = projected_counts(EdgeArrays.from_pairs(nodes, taken + lost), [theta])
    change = with_x.positive_degree_nodes - without_x.positive_degree_nodes
    assert change == -(theta - 1)


@pytest.fixture(scope="module")
def five_node_changes():
    """Paper A's Lemma 2 is checked for all five-node graphs, in 16 orders, for theta <= theta_max."""
    graphs = [SmallGraphs(5, seed) for seed in orders(16)]
    return [graph.changes(graph.all, complete=True) for graph in graphs]


def test_edge_quality_without_the_common_term_is_monotone(five_node_changes):
    for change in five_node_changes:
        assert change.edges.min() == 0
        for theta_max in range(1, 6):
            assert change.edges[:, :theta_max].max() <= theta_max


def test_edge_quality_with_the_common_term_has_sensitivity_theta_max(five_node_changes):
    for change in five_node_changes:
        for theta_max in range(1, 6):
            bias = change.edges[:, [theta_max - 1]] - change.edges[:, :theta_max]
            assert abs(bias).max() <= theta_max


def test_node_quality_has_sensitivity_theta_max_plus_theta(five_node_changes):
    for change in five_node_changes:
        for theta_max in range(1, 6):
            bias = change.positive[:, [theta_max - 1]] - change.positive[:, :theta_max]
            assert (abs(bias) <= theta_max + np.arange(1, theta_max + 1)).all()


def test_node_quality_exceeds_theta_max():
    y, f, v, u1, u2, w, z = range(7)
    pairs = [(y, f), (v, u1), (v, u2), (u1, w), (y, u1), (y, z)]

    def quality(edges):
        low, high = projected_counts(EdgeArrays.from_pairs(7, edges), [1, 2])
        return low.positive_degree_nodes - high.positive_degree_nodes

    assert quality(pairs) - quality([pair for pair in pairs if v not in pair]) == -(2 + 1)
