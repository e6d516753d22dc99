"""Projections by special rows alone equal the edge stream's, on random tables of which most rows are plain."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from case_share import fifth, of_all, twentieth
from random_blocks import Made, crossing, differing, edges_of, random_constraints

from dpdb.graph import (
    BlockGraph,
    EdgeArrays,
    EdgeGraph,
    by_class,
    by_order,
    by_two_classes,
    load_counted_projection,
    steps,
)
from dpdb.graph.blocks import block_scans as counted_projection
from dpdb.graph.blocks.block_scans import CountedProjection
from dpdb.graph.steps import finished, finished_all


def counted(graph: BlockGraph) -> CountedProjection:
    return CountedProjection(graph.blocks, lambda: graph.projection, graph.degrees)


def equal(row_count: int, made: list[Made]) -> int:
    """Compare at every theta for which it is meant; returns how many thetas below the largest degree these are."""
    graph = BlockGraph(row_count, [one.constraint for one in made])
    edges = EdgeGraph(EdgeArrays.from_pairs(row_count, [(u, v) for u, _, v in edges_of(row_count, made)]))
    ways = counted(graph)
    thetas = range(ways.least_theta, max(ways.least_theta, graph.degree_summary().max_degree) + 3)
    assert [finished(ways.edges(theta)) for theta in thetas] == edges.projected_edges(thetas)
    return max(0, graph.degree_summary().max_degree - ways.least_theta)


def slightly_dirty(seed: int) -> tuple[int, list[Made]]:
    """Large groups with one value of a dependent column, but for a few cells; NULLs; several rules on one column."""
    rng = np.random.default_rng(seed)
    rows, dirt = int(rng.integers(20, 90)), float(rng.uniform(0.01, 0.2))

    def dirtied(column: np.ndarray) -> np.ndarray:
        return np.where(rng.random(rows) < dirt, rng.integers(-1, 5, rows), column).astype(np.int32)

    base = rng.integers(0, int(rng.integers(1, 4)), (3, rows)).astype(np.int32)
    keys = [dirtied(column) for column in base]
    dependent = [dirtied(base[int(rng.integers(0, 3))] % 2) for _ in range(3)]
    ascending = np.sort(rng.integers(0, 30, rows)).astype(np.int32)
    made: list[Made] = []
    for _ in range(int(rng.integers(1, 5))):
        prefix = [keys[k] for k in rng.permutation(3)[: int(rng.integers(0, 3))]]
        x, y = (dependent[k] for k in rng.permutation(3)[:2])
        kind = rng.choice(["dependency", "two", "order"], p=[0.6, 0.15, 0.25])
        if kind == "dependency":
            made.append(Made(by_class(prefix, x, rows), differing(prefix, [x])))
        elif kind == "two":
            made.append(Made(by_two_classes(prefix, x, y, rows), differing(prefix, [x, y])))
        else:
            x, y = dirtied(ascending), dirtied(ascending)
            order = by_order(prefix, x, y, opposite=False, row_count=rows)
            made.append(Made(order, crossing(prefix, x, y, False, (False, False))))
    shuffled = rng.permutation(rows)
    if rng.random() < 0.8:  # ranks have nothing to do with values
        made = [
            Made(one.constraint.of_rows(shuffled), lambda u, v, one=one: one.violates(shuffled[u], shuffled[v]))
            for one in made
        ]
    return rows, made


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("spans", [0, 2, 6])
def test_equal_on_slightly_dirty_tables(spans: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted_projection, "_SPANS", spans)
    seeds = fifth(range(1_000 * spans, 1_000 * spans + 120))
    assert sum(equal(*slightly_dirty(seed)) for seed in seeds) > of_all(300)


@pytest.mark.heavy(family="alone")
def test_equal_on_tables_without_a_pattern() -> None:
    for seed in fifth(range(150)):
        rng = np.random.default_rng(seed)
        rows = int(rng.integers(1, 30))
        equal(rows, random_constraints(rng, rows, listed=False))


@pytest.mark.slow
def test_equal_on_many_more_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    thetas = 0
    for seed in range(10_000, 16_000):
        monkeypatch.setattr(counted_projection, "_SPANS", seed % 8)
        thetas += equal(*slightly_dirty(seed))
    assert thetas > 15_000


@pytest.mark.heavy
@pytest.mark.parametrize("work", [1, 3, 50])
def test_results_do_not_depend_on_where_kernels_pause(work: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "WORK", work)
    for seed in twentieth(range(5_000, 5_040)):
        equal(*slightly_dirty(seed))


def test_the_graph_takes_this_way_where_it_is_less_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """One group of 20,000 rows, of which one in a hundred differs: 4 million edges, and few pairs that both differ."""
    rows, differs = 20_000, np.zeros(20_000, np.int32)
    differs[::100] = np.arange(1, 201)
    graph = BlockGraph(rows, [by_class([], differs, rows)])
    asked = [1, 50, 300, 1_000, 19_000, 30_000]
    expected = [counts.edge_count for counts in graph.projected_counts(asked)]
    load_counted_projection()
    met: list[int] = []
    edges = CountedProjection.edges
    monkeypatch.setattr(CountedProjection, "edges", lambda self, theta: met.append(theta) or edges(self, theta))
    assert graph.projected_edges(asked) == expected
    assert met == [19_000, 1_000]


def test_several_thetas_at_once_share_what_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made before their threads begin: in these nobody would end it with the waiting for them."""
    for module in (steps, counted_projection):
        monkeypatch.setattr(module, "THREADS", 2)
    rows, differs = 20_000, np.zeros(20_000, np.int32)
    differs[::100] = np.arange(1, 201)
    ways = counted(BlockGraph(rows, [by_class([], differs, rows)]))
    made: list[threading.Thread] = []
    count_plain = CountedProjection._count_plain

    def recorded(self: CountedProjection, span: int, part: int) -> steps.Steps[np.ndarray]:
        made.append(threading.current_thread())
        return count_plain(self, span, part)

    monkeypatch.setattr(CountedProjection, "_count_plain", recorded)
    finished_all([ways.edges(theta) for theta in (1_000, 2_000, 3_000)])
    assert made == [threading.main_thread()] * 2
