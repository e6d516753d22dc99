"""Groups in which most pairs conflict: 2 tau* and degrees where no pair is looked at by itself."""

from __future__ import annotations

import threading
import time
from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from dpdb.graph import BlockConstraint, BlockGraph, by_class, by_order, steps
from dpdb.graph.blocks.block_degrees import counted_by_sums
from dpdb.graph.blocks.range_matching import RangeMatching, dense, range_matching
from dpdb.graph.steps import Steps, finished

Ints = NDArray[np.int32]


def of_random_shape(rng: np.random.Generator, rows: int) -> tuple[BlockConstraint, NDArray[np.bool_]]:
    """A rule with ties, NULLs, one group or several, and its conflicts by definition."""
    groups = rng.integers(0, rng.integers(1, 8) if rng.random() < 0.5 else 1, rows).astype(np.int32)
    groups[rng.random(rows) < 0.15 * (rng.random() < 0.5)] = -1
    same = (groups[:, None] == groups) & (groups >= 0)
    x, y = (rng.integers(0, rng.integers(1, 25), rows).astype(np.int32) for _ in range(2))
    kind = rng.choice(["order", "narrow order", "class", "one large class", "key"], p=[0.25, 0.25, 0.2, 0.15, 0.15])
    if "order" in kind:
        if kind == "narrow order":
            y = (x + rng.integers(0, 4, rows)).astype(np.int32)
        rule = by_order([groups], x, y, opposite=True, row_count=rows)
        return rule, same & ((x[:, None] < x) & (y[:, None] > y) | (x[:, None] > x) & (y[:, None] < y))
    if kind == "key":
        return by_class([groups], None, rows), same & ~np.eye(rows, dtype=np.bool_)
    classes = (x % 4 if kind == "class" else np.where(rng.random(rows) < 0.2, x % 4, 0)).astype(np.int32)
    return by_class([groups], classes, rows), same & (classes[:, None] != classes)


def agrees_with_scipy(seed: int) -> bool:
    """Returns whether some row in conflict stays without a partner, so that the matching is not trivial."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 70))
    rules, found = zip(*(of_random_shape(rng, rows) for _ in range(int(rng.integers(1, 4)))), strict=True)
    conflicts = np.logical_or.reduce(found)
    matched = maximum_bipartite_matching(csr_matrix(conflicts), perm_type="column")
    size = int(np.count_nonzero(matched >= 0))
    assert finished(range_matching(rules, rows)) == size
    assert BlockGraph(rows, rules).twice_fractional_cover() == size
    assert BlockGraph(rows, rules).degrees.tolist() == conflicts.sum(axis=0).tolist()
    if sum(rule.ordered for rule in rules) <= 1:
        by_sums = [finished(counted_by_sums(rule, rules[:k])) for k, rule in enumerate(rules)]
        assert np.sum(by_sums, axis=0).tolist() == conflicts.sum(axis=0).tolist()
    return size < int(np.count_nonzero(conflicts.any(axis=0)))


@pytest.mark.heavy(family="alone")
def test_twice_the_cover_and_degrees_equal_those_by_definition() -> None:
    assert sum(agrees_with_scipy(seed) for seed in range(300)) > 60


@pytest.mark.slow
def test_twice_the_cover_and_degrees_equal_on_many_more_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    for work in (1, 50, steps.WORK):
        monkeypatch.setattr(steps, "WORK", work)
        assert sum(agrees_with_scipy(seed) for seed in range(work * 10_000, work * 10_000 + 8_000)) > 1_600


def staircase(x: Ints, y: Ints) -> int:
    """2 tau* of one order rule in closed form, by a longest path over distinct points.

    By Koenig's theorem on the double cover 2 tau* = n - max over independent I of |I| - |N(I)|. An independent I is a
    chain of points; a row outside N(I) is comparable with all of I, so it lies in a box between two neighbours of the
    chain, ends open. So 2 tau* = 2n - max over I of |I| + |union of boxes|. With C the number of rows at most (x, y), a
    step p -> q gains C(q) - C(p.x - 1, q.y) - C(q.x, p.y - 1) + C(p.x - 1, p.y - 1).
    """
    points, weights = np.unique(np.stack([x, y]), axis=1, return_counts=True)
    rows, ys = x.size, int(y.max()) + 1
    gains = np.full((ys, ys), -(2**40), np.int64)
    below = np.append(0, np.cumsum(np.bincount(y, minlength=ys)))
    before, best = np.zeros(ys + 1, np.int64), rows
    for value in np.unique(points[0]):
        here = points[0] == value
        column = before + np.append(0, np.cumsum(np.bincount(points[1, here], weights[here], ys).astype(np.int64)))
        for q in points[1, here]:
            gain = max(0, int((gains[: q + 1, q] - column[: q + 1]).max())) + column[q + 1]
            gains[q, q:] = np.maximum(gains[q, q:], gain + before[q] - before[q + 1 :])
            best = max(best, int(gain + rows - before[ys] - below[q] + before[q]))
        before = column
    return 2 * rows - best


def delays(rng: np.random.Generator, rows: int, values: int, correlation: float) -> tuple[Ints, Ints]:
    first, other = rng.standard_normal((2, rows))
    second = correlation * first + np.sqrt(1 - correlation**2) * other
    return tuple(np.clip((z + 3) / 6 * values, 0, values - 1).astype(np.int32) for z in (first, second))  # type: ignore[return-value]


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.9, 0.995])
def test_matching_equals_the_closed_form_at_scale(correlation: float) -> None:
    x, y = delays(np.random.default_rng(3), 50_000, 40, correlation)
    rule = by_order([], x, y, opposite=True, row_count=x.size)
    assert dense([rule], x.size)
    assert finished(range_matching([rule], x.size)) == staircase(x, y)


def test_the_closed_form_is_right() -> None:
    for seed in range(100):
        rng = np.random.default_rng(seed)
        x, y = rng.integers(0, 8, (2, int(rng.integers(1, 40)))).astype(np.int32)
        conflicts = (x[:, None] < x) & (y[:, None] > y) | (x[:, None] > x) & (y[:, None] < y)
        matched = maximum_bipartite_matching(csr_matrix(conflicts), perm_type="column")
        assert staircase(x, y) == np.count_nonzero(matched >= 0)


def test_equal_classes_are_matched_without_a_search() -> None:
    rule = by_class([], (np.arange(300_000) % 3).astype(np.int32), 300_000)
    assert dense([rule], 300_000)
    matching = RangeMatching([rule], 300_000)
    finished(matching.start())
    assert matching.size == 300_000
    assert set(BlockGraph(300_000, [rule]).degrees.tolist()) == {200_000}


@pytest.mark.parametrize("kind", ["matching", "degrees"])
def test_work_is_cut_into_steps(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two steps signals are handled: a step is `WORK` looks, whatever the size of the group."""
    monkeypatch.setattr(steps, "WORK", 1_000)
    x, y = delays(np.random.default_rng(1), 20_000, 300, 0.9)
    rule = by_order([], x, y, opposite=True, row_count=x.size)
    jobs: dict[str, Steps[object]] = {
        "matching": range_matching([rule], x.size),
        "degrees": counted_by_sums(rule, []),
    }
    assert len(list(islice(jobs[kind], 50))) == 50


def test_what_runs_in_threads_ends_with_the_waiting_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "WORK", 1)
    monkeypatch.setattr(steps, "THREADS", 2)
    begun, places = threading.Event(), []

    def fail() -> None:
        begun.wait()
        raise KeyboardInterrupt

    def loop() -> None:
        for place, _ in steps.ranges(3_000):
            begun.set()
            time.sleep(0.02)
            places.append(place)

    with pytest.raises(KeyboardInterrupt):
        steps.called_all([fail, loop])
    assert len(places) < 3_000  # a minute's work
