"""Projections by special rows against the scan that they replace: `pytest -m benchmark -s tests/benchmarks`."""

from __future__ import annotations

import time

import numpy as np
import pytest

from dpdb.graph import BlockGraph, by_class, load_counted_projection
from dpdb.graph.blocks.block_scans import CountedProjection
from dpdb.graph.steps import finished

pytestmark = pytest.mark.benchmark


def compared(graph: BlockGraph, thetas: list[int]) -> list[float]:
    """Time both ways at some thetas; returns how much faster special rows alone are."""
    load_counted_projection()
    finished(graph.projection.counts(1))
    begun = time.perf_counter()
    ways = CountedProjection(graph.blocks, lambda: graph.projection, graph.degrees)
    finished(ways.edges(thetas[0]))
    print(f"special rows and the first theta {time.perf_counter() - begun:.2f} s")
    ratios = []
    for theta in thetas:
        begun = time.perf_counter()
        edges = finished(ways.edges(theta))
        counted = time.perf_counter()
        assert finished(graph.projection.counts(theta)).edge_count == edges
        scanned = time.perf_counter()
        ratios.append((scanned - counted) / (counted - begun))
        print(f"theta {theta:,}: {edges:,} edges, {counted - begun:.2f} s, the scan {ratios[-1]:.1f}x")
    return ratios


def test_a_million_rows_in_groups() -> None:
    """50 groups of 20,000 rows, of which 1% differ in one of two columns, and some in both."""
    rows, rng = 1_000_000, np.random.default_rng(1)
    group = rng.integers(0, 50, rows).astype(np.int32)
    columns = [np.where(rng.random(rows) < 0.01, rng.integers(1, 1_000, rows), 0).astype(np.int32) for _ in range(2)]
    graph = BlockGraph(rows, [by_class([group], column, rows) for column in columns])
    assert min(compared(graph, [5_000, 10_000, 15_000])) > 3


def test_special_rows_that_meet_each_other_just_before_theta() -> None:
    """3,000 rows are about to reach theta while 3,000 others meet each: plain ones are not counted each time."""
    rows, both, rng = 300_000, 3_000, np.random.default_rng(0)
    chosen = rng.choice(rows, 2 * both, replace=False)
    key, large, differs = np.full(rows, -1, np.int32), np.zeros(rows, np.int32), np.zeros(rows, np.int32)
    key[chosen], large[chosen[both:]], differs[chosen[:both]] = 0, -1, np.arange(1, both + 1)
    graph = BlockGraph(rows, [by_class([key], None, rows), by_class([large], differs, rows)])
    assert min(compared(graph, [24_000])) > 0.5
