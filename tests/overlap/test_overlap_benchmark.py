"""Figures of the solver: run with `-m benchmark -s`; each prints what it measured."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "examples" / "parallel_composition_paper"))

from box_workload import box_workload
from workloads import attribute_sizes, census_workload, uniform_workload

from dpdb.overlap import OverlapIndex, branching, load_search, maximum_overlap

pytestmark = pytest.mark.benchmark


def timed(workload: object, **options: object) -> tuple:
    start = time.perf_counter()
    bound = maximum_overlap(workload, **options)
    return bound, time.perf_counter() - start


@pytest.mark.parametrize(("queries", "limit"), [(2_000, 1.0), (100_000, 10.0)])
def test_census_workload_is_exact(queries: int, limit: float) -> None:
    bound, seconds = timed(census_workload(queries))
    print(f"\ncensus {queries}: {bound.lower}..{bound.upper} in {seconds:.3f} s")
    assert bound.optimal
    assert seconds < limit


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("sizes", [[100] * 11, [10] * 22])
def test_a_hundred_uniform_queries_are_below_the_colouring(sizes: list[int], seed: int) -> None:
    """Domain 10^22 as eleven attributes of 100 values and as 22 of 10; exact where ten seconds are enough."""
    workload = uniform_workload(100, sizes, seed)
    bound, seconds = timed(workload)
    colours = maximum_overlap(workload, method="dsatur").upper
    print(f"\nuniform 100 seed {seed}: {bound.lower}..{bound.upper} in {seconds:.2f} s, colouring {colours}")
    assert bound.upper < colours
    assert seconds < 11


@pytest.mark.parametrize(("queries", "attributes", "gain"), [(80, 11, 2), (100, 11, 4), (200, 6, 2)])
def test_machine_code_beside_numpy(queries: int, attributes: int, gain: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processor seconds of one run until both bounds meet."""
    load_search()
    workload, seconds = uniform_workload(queries, [100] * attributes, 0), []
    for patience in (branching._PATIENCE, 10**9):
        monkeypatch.setattr(branching, "_PATIENCE", patience)
        start = time.process_time()
        bound = maximum_overlap(workload, deadline=600)
        seconds.append(time.process_time() - start)
        assert bound.optimal
    print(f"\nuniform {queries} over {attributes}: {bound.lower} in {seconds[0]:.1f} CPU s, numpy {seconds[1]:.1f}")
    assert seconds[0] * gain < seconds[1]


@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_uniform_queries_over_sizes_of_the_paper(seed: int) -> None:
    """Domain 10^22 with sizes 10^k, k in 1..6: not exact on every machine, always below the colouring."""
    workload = uniform_workload(100, attribute_sizes(22, seed), seed)
    bound, seconds = timed(workload)
    colours = maximum_overlap(workload, method="dsatur").upper
    print(f"\nuniform 100 (sizes of the paper) seed {seed}: {bound.lower}..{bound.upper} in {seconds:.2f} s, {colours}")
    assert bound.upper < colours


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_three_hundred_uniform_queries_are_far_below_the_colouring(seed: int) -> None:
    workload = uniform_workload(300, [100] * 11, seed)
    bound, seconds = timed(workload, deadline=5.0)
    colours = maximum_overlap(workload, method="dsatur").upper
    print(f"\nuniform 300 seed {seed}: {bound.lower}..{bound.upper} in {seconds:.2f} s, colouring {colours}")
    assert bound.upper <= 0.7 * colours
    assert seconds < 6


def test_two_thousand_uniform_queries_over_a_huge_domain() -> None:
    """Domain 10^2500 as 2,500 attributes of 10 values."""
    workload = uniform_workload(2_000, [10] * 2_500, 0)
    bound, seconds = timed(workload, deadline=45.0)
    colours, colouring_seconds = timed(workload, method="dsatur", deadline=45.0)
    print(
        f"\nuniform 2000 over 10^2500: {bound.lower}..{bound.upper} in {seconds:.1f} s, "
        f"colouring {colours.upper} in {colouring_seconds:.1f} s"
    )
    assert bound.upper <= colours.upper
    assert seconds < 60


def sequential(weights: list[int], budget: int) -> int:
    answers = spent = 0
    for weight in weights:
        if spent + weight <= budget:
            answers, spent = answers + 1, spent + weight
    return answers


@pytest.mark.parametrize("shape", [(2, 1, 0.7), (4, 3, 0.5)])
def test_a_ledger_of_three_thousand_asks(shape: tuple) -> None:
    predicates, weights = box_workload(3_000, *shape)
    index = OverlapIndex()
    took = []
    for predicate, weight in zip(predicates, weights, strict=True):
        start = time.perf_counter()
        decision = index.would_exceed(predicate, weight, 1_000)
        if decision.allowed:
            index.add(predicate, weight, decision.upper)
        took.append(1e3 * (time.perf_counter() - start))
    plain = sequential(weights, 1_000)
    median, high = np.percentile(took, [50, 99])
    print(f"\nledger {shape}: {len(index)} answers against {plain}, median {median:.2f} ms, p99 {high:.0f} ms")
    assert median < 5
    assert high < 200
    assert len(index) >= 45 * plain
