"""Closed forms of class histograms: equal to the general statistics of the same graphs, monotone, and Lipschitz."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from graph_oracles import witness_count

from dpdb.errors import ParameterError
from dpdb.graph import EdgeArrays, Histogram, degree_summary, twice_truncated_edges
from dpdb.thresholds import SMALL_SQUARES

THETAS = [1, 2, 3, 5, 8, 13]
EVERYTHING = 10**12


def histogram_of(groups: Sequence[Sequence[int]], times: Sequence[int] | None = None) -> Histogram:
    """Of groups with these class sizes."""
    large = [[size for size in sizes if size > 1] for sizes in groups]
    return Histogram(
        np.array([size for sizes in large for size in sizes], np.int64),
        np.cumsum([0, *map(len, large)], dtype=np.int64),
        np.array([list(sizes).count(1) for sizes in groups], np.int64),
        np.array(times or [1] * len(groups), np.int64),
    )


def pairs_of(sizes: Sequence[int]) -> tuple[int, list[tuple[int, int]]]:
    """The rows and conflicts of one group."""
    classes = [k for k, size in enumerate(sizes) for _ in range(size)]
    return len(classes), [(u, v) for u, v in combinations(range(len(classes)), 2) if classes[u] != classes[v]]


def partitions(rows: int, most: int | None = None) -> Iterator[tuple[int, ...]]:
    """All sizes of classes of so many rows, descending."""
    if rows == 0:
        yield ()
    for size in range(min(rows, rows if most is None else most), 0, -1):
        for rest in partitions(rows - size, size):
            yield (size, *rest)


def most_covered(sizes: Sequence[int], theta: int) -> int:
    """Rows that can be covered at once, each by a row in conflict with it, which covers at most theta."""
    rows, pairs = pairs_of(sizes)
    flow = nx.DiGraph()
    for row in range(rows):
        flow.add_edge("source", ("charger", row), capacity=theta)
        flow.add_edge(("covered", row), "sink", capacity=1)
    for u, v in pairs:
        flow.add_edge(("charger", u), ("covered", v), capacity=1)
        flow.add_edge(("charger", v), ("covered", u), capacity=1)
    return int(nx.maximum_flow_value(flow, "source", "sink")) if rows else 0


def equal_to_the_graph(rows: int) -> int:
    """Compare every partition of so many rows; returns how many were compared."""
    found = list(partitions(rows))
    for sizes in found:
        own, (nodes, pairs) = histogram_of([sizes]), pairs_of(sizes)
        edges = EdgeArrays.from_pairs(nodes, pairs)
        summary = degree_summary(edges)
        assert tuple(own.twice_truncated_edges(THETAS)) == twice_truncated_edges(edges, THETAS), sizes
        assert own.twice_truncated_edges([EVERYTHING]) == [2 * summary.edge_count]
        assert own.witness_bounds([EVERYTHING]) == [summary.positive_degree_nodes]
        assert own.largest_group == nodes
        for theta, bound in zip(THETAS, own.witness_bounds(THETAS), strict=True):
            assert bound == most_covered(sizes, theta), (sizes, theta)
            assert bound / 2 <= witness_count(pairs, theta) <= bound
            if theta >= summary.max_degree:
                assert bound == witness_count(pairs, theta) == summary.positive_degree_nodes
    return len(found)


@pytest.mark.heavy
@pytest.mark.parametrize("rows", range(8))
def test_every_partition_has_the_statistics_of_its_graph(rows: int) -> None:
    assert equal_to_the_graph(rows) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("rows", range(8, 15))
def test_every_larger_partition_has_the_statistics_of_its_graph(rows: int) -> None:
    assert equal_to_the_graph(rows) > 20


def test_many_groups_are_the_sum_of_each() -> None:
    draw = random.Random(3)
    groups = [draw.choices(range(1, 9), k=draw.randrange(9)) for _ in range(40)]
    times = [draw.randrange(1, 5) for _ in groups]
    together, alone = histogram_of(groups, times), [histogram_of([sizes]) for sizes in groups]
    for name in ("twice_truncated_edges", "witness_bounds"):
        each = zip(*(getattr(one, name)(THETAS) for one in alone), strict=True)
        assert getattr(together, name)(THETAS) == [sum(x * k for x, k in zip(xs, times, strict=True)) for xs in each]
    assert together.largest_group == max(map(sum, groups))


def changes(rows: int) -> int:
    """Add a row to every partition of so many rows in every way; returns how many ways there were."""
    ways = 0
    for sizes in partitions(rows):
        before = histogram_of([sizes])
        for k in range(len(sizes) + 1):
            larger = [size + (j == k) for j, size in enumerate((*sizes, 0))]
            after = histogram_of([[size for size in larger if size]])
            ways += 1
            assert after.largest_group - before.largest_group == 1
            for name, most in (("twice_truncated_edges", [2 * theta for theta in THETAS]),
                               ("witness_bounds", [theta + 1 for theta in THETAS])):  # fmt: skip
                old, new = getattr(before, name)(THETAS), getattr(after, name)(THETAS)
                for low, high, bound in zip(old, new, most, strict=True):
                    assert 0 <= high - low <= bound, (name, sizes, k)
    return ways


@pytest.mark.parametrize("rows", range(9))
def test_one_row_changes_every_statistic_by_no_more_than_it_may(rows: int) -> None:
    assert changes(rows) > 0


@pytest.mark.slow
@pytest.mark.parametrize("rows", range(9, 15))
def test_one_row_changes_every_statistic_of_more_rows_by_no_more_than_it_may(rows: int) -> None:
    assert changes(rows) > 100


def test_the_bounds_of_the_changes_are_attained() -> None:
    """A row of another class joins a large clean group."""
    clean, hub = histogram_of([[50]]), histogram_of([[50, 1]])
    for theta in THETAS:
        assert hub.twice_truncated_edges([theta])[0] - clean.twice_truncated_edges([theta])[0] == 2 * theta
        assert hub.witness_bounds([theta])[0] - clean.witness_bounds([theta])[0] == theta + 1


def test_a_large_key_costs_as_much_as_a_small_one_and_integers_do_not_overflow() -> None:
    """All pairs of 4e9 rows: 8e18 conflicts and 1.6e19 twice that are more than 63 bits hold."""
    rows = 4 * 10**9
    key = Histogram(np.array([], np.int64), np.array([0, 0]), np.array([rows]), np.array([1]))
    assert key.twice_truncated_edges([1, 1_000, 10**12]) == [rows, 1_000 * rows, rows * (rows - 1)]
    assert key.witness_bounds([1, 10**12]) == [rows, rows]


def test_small_and_large_integers_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = [[40, 3, 3, 1, 1, 1], [7], [1] * 30, [5, 5, 5]]
    small = histogram_of(groups, [9, 1, 2, 5])
    monkeypatch.setattr(SMALL_SQUARES, "at", 1)
    large = histogram_of(groups, [9, 1, 2, 5])
    for name in ("twice_truncated_edges", "witness_bounds"):
        assert getattr(small, name)([*THETAS, 99]) == getattr(large, name)([*THETAS, 99])


def test_nothing_is_nothing_and_a_theta_is_at_least_one() -> None:
    empty = histogram_of([[], []])
    assert empty.twice_truncated_edges([1, 2]) == empty.witness_bounds([1, 2]) == [0, 0]
    assert empty.largest_group == 0
    with pytest.raises(ParameterError):
        empty.twice_truncated_edges([0])


def test_classes_in_any_order_are_the_same() -> None:
    """Not every engine orders what it puts into a list."""
    groups = [[3, 9, 2, 9], [2, 7, 1]]
    ordered = [sorted(sizes, reverse=True) for sizes in groups]
    for name in ("twice_truncated_edges", "witness_bounds"):
        assert getattr(histogram_of(groups), name)(THETAS) == getattr(histogram_of(ordered), name)(THETAS)


def test_a_form_that_looks_at_one_cut_only_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Histogram, "_within", lambda self, theta: np.full(self._rows.shape, theta // 2 + 1))
    with pytest.raises(AssertionError):
        equal_to_the_graph(6)
