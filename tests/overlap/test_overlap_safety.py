"""Never below the truth: the solver against brute force over the domain, interrupted at random."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
import pytest
from case_share import fifth

sys.path.insert(0, str(Path(__file__).parent))

import reference
from text_reader import parse_where

from dpdb.overlap import OverlapIndex, branching, online, solver
from dpdb.overlap.axis import encode
from dpdb.overlap.bounds import colouring_bound, dual_bound, value_of
from dpdb.overlap.branching import CliqueSearch, QuerySearch, ValueSearch, overlap_graph
from dpdb.overlap.instance import Attribute, Deadline, Instance
from dpdb.overlap.reductions import reduce
from dpdb.overlap.solver import maximum_overlap
from dpdb.predicates import Region, ValueSet

DEADLINES = (0.0, 1e-4, 1e-3, 5.0, 5.0)


def check_sql_instance(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One random workload of SQL conditions."""
    rng = random.Random(seed)
    made = [reference.condition(rng) for _ in range(rng.randint(1, 7))]
    weights = [rng.randint(0, 9) for _ in made] if rng.random() < 0.6 else [1] * len(made)
    predicates = [parse_where(text) for text, _ in made]
    truths = [truth for _, truth in made]
    for (text, truth), predicate in zip(made, predicates, strict=True):
        for row in rng.sample(reference.ROWS, 12):
            assert predicate.covers(row) or truth(row) is not True, (text, row)
            assert predicate.notes or not predicate.covers(row) or truth(row) is True, (text, row)
    truth = reference.brute_force(truths, weights)
    exact = not any(predicate.notes for predicate in predicates)
    monkeypatch.setattr(solver, "MOST_POINTS", rng.choice((0, 1_000_000)))
    method = rng.choice(("auto", "auto", "auto", "clique", "clique_overlap", "dsatur", "hypergraph"))
    bound = maximum_overlap(predicates, weights, method=method, deadline=rng.choice(DEADLINES))
    shown = (seed, method, bound, truth, [text for text, _ in made], weights)
    assert bound.upper >= truth, shown
    if exact:
        assert bound.lower <= truth, shown
        assert not bound.optimal or bound.lower == truth, shown


def check_numeric_instance(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One random instance in numbers, through each branch and bound."""
    rng = random.Random(seed)
    instance = reference.random_instance(seed)
    truth = reference.brute_force_instance(instance)
    problem = reduce(instance)
    monkeypatch.setattr(branching, "_PATIENCE", rng.choice((0, 1, 1000)))
    assert dual_bound(problem, Deadline(1), rng.randint(1, 20))[0] >= truth
    if problem.families:
        seconds = rng.choice(DEADLINES)
        ceiling, split = dual_bound(problem, Deadline(1), 3)
        values = ValueSearch(problem, 0, {}, Deadline(seconds))
        upper = values.run(split, ceiling)
        assert upper >= truth >= values.best, seed
        assert seconds < 1 or upper == truth == values.best, seed
        queries = QuerySearch(problem, overlap_graph(problem), 0, Deadline(seconds))
        upper = queries.run(problem.total)
        assert upper >= truth >= queries.best, seed
        assert seconds < 1 or upper == truth == queries.best, seed
    bound = maximum_overlap(instance, deadline=rng.choice(DEADLINES))
    assert bound.lower <= truth <= bound.upper, seed
    assert not bound.optimal or bound.lower == truth, seed


@pytest.mark.parametrize("patience", [0, 1000])
@pytest.mark.parametrize("block", range(3))
def test_a_search_that_begins_just_below_the_overlap_finds_it(
    block: int, patience: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Next to nothing may be lost then: what is dropped as hopeless is the lighter side."""
    monkeypatch.setattr(branching, "_PATIENCE", patience)
    for seed in range(block * 20, block * 20 + 20):
        instance = reference.random_instance(seed)
        truth = reference.brute_force_instance(instance)
        problem = reduce(instance)
        if not problem.families:
            continue
        ceiling, split = dual_bound(problem, Deadline(5), 3)
        values = ValueSearch(problem, truth - 1, {}, Deadline(5))
        assert values.run(split, ceiling) == truth == values.best, seed
        queries = QuerySearch(problem, overlap_graph(problem), truth - 1, Deadline(5))
        assert queries.run(ceiling) == truth == queries.best, seed
        assert ValueSearch(problem, truth, {}, Deadline(5)).run(split, ceiling) == truth, seed


class After(Deadline):
    """A deadline that passes after so many looks at it."""

    def __init__(self, looks: int) -> None:
        super().__init__(60)
        self.looks = looks

    @property
    def passed(self) -> bool:
        self.looks -= 1
        return self.looks < 0


@pytest.mark.heavy
@pytest.mark.parametrize("patience", [0, 1000])
@pytest.mark.parametrize("looks", [*range(12), 20, 40])
def test_a_search_that_is_interrupted_at_any_look_keeps_a_bound(
    looks: int, patience: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(branching, "_PATIENCE", patience)
    for seed in range(15):
        instance = reference.random_instance(seed)
        truth = reference.brute_force_instance(instance)
        problem = reduce(instance)
        if not problem.families:
            continue
        ceiling, split = dual_bound(problem, Deadline(60), 3)
        values = ValueSearch(problem, 0, {}, After(looks))
        assert values.run(split, ceiling) >= truth >= values.best, seed
        graph = overlap_graph(problem)
        queries = QuerySearch(problem, graph, 0, After(looks))
        assert queries.run(problem.total) >= truth >= queries.best, seed
        cliques = CliqueSearch(problem, graph, After(looks), joint=True)
        assert problem.constant + cliques.run() >= truth >= problem.constant + cliques.best, seed


@pytest.mark.parametrize("seed", range(4))
def test_machine_code_finds_the_overlap_of_many_predicates(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a hundred rows an atom is two words of bits; every point of the domain is visited apart."""
    rng = np.random.default_rng(seed)
    tables = [rng.random((100, atoms)) < share for atoms, share in ((30, 0.3), (25, 0.5), (20, 0.4))]
    weights = rng.integers(1, 1000 if seed % 2 else 2, 100)
    codes = np.arange(100, dtype=np.int32)
    free = [np.where(rng.random(100) < 0.2, -1, codes).astype(np.int32) for _ in tables]
    covers = [np.where(own[:, None] < 0, True, table) for own, table in zip(free, tables, strict=True)]
    truth = int(np.einsum("i,ia,ib,ic->abc", weights, *(each.astype(np.int64) for each in covers)).max())
    attributes = tuple(Attribute(f"a{k}", free[k], table, str) for k, table in enumerate(tables))
    problem = reduce(Instance(weights, np.arange(100), 100, attributes))
    monkeypatch.setattr(branching, "_PATIENCE", 0)
    ceiling, split = dual_bound(problem, Deadline(60), 3)
    for below in (0, truth - 1, truth):
        values = ValueSearch(problem, below, {}, Deadline(60))
        assert values.run(split, ceiling) == truth == values.best
        assert below == truth or value_of(problem, values.choice) == truth
    decided = ValueSearch(problem, 0, {}, Deadline(60), enough=truth // 2)
    assert decided.run(split, ceiling) >= truth >= decided.best >= truth // 2
    assert value_of(problem, decided.choice) == decided.best


def of_parts(seed: int) -> tuple[list[Region], list[int], int]:
    """Random rectangles, each in one of three parts of the domain; their weights; their overlap."""
    rng = random.Random(seed)
    parts, low = [rng.randrange(3) for _ in range(18)], [[rng.randrange(5) for _ in "xy"] for _ in range(18)]
    sides = [[(at, at + rng.randint(1, 3)) for at in row] for row in low]
    weights = [rng.randint(1, 9) for _ in parts]
    regions = [
        Region.of({"part": ValueSet.points([part]), "x": ValueSet.interval(*x), "y": ValueSet.interval(*y)})
        for part, (x, y) in zip(parts, sides, strict=True)
    ]
    points = [{"part": part, "x": x, "y": y} for part in range(3) for x in range(9) for y in range(9)]
    return (
        regions,
        weights,
        max(
            sum(weight for region, weight in zip(regions, weights, strict=True) if region.covers(point))
            for point in points
        ),
    )


@pytest.mark.heavy
@pytest.mark.parametrize("search", ["both", "queries", "values"])
@pytest.mark.parametrize("seed", range(8))
def test_a_poor_first_point_changes_no_answer(seed: int, search: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does one search without the other: each closes the bounds by itself, in every part of the domain."""
    regions, weights, truth = of_parts(seed)
    monkeypatch.setattr(solver, "MOST_POINTS", 0)
    monkeypatch.setattr(solver, "dual_bound", lambda problem, *_: (problem.total, dual_bound(problem, Deadline(60))[1]))
    monkeypatch.setattr(solver, "ascend", lambda problem, *_: (0, dict.fromkeys(range(len(problem.families)), 0)))
    if search == "queries":
        monkeypatch.setattr(solver, "DENSE", 2)
    elif search == "values":
        monkeypatch.setattr(solver, "DENSE", 0)
        monkeypatch.setattr(QuerySearch, "run", lambda _, bound: bound)
    bound = maximum_overlap(regions, weights, deadline=60)
    assert (bound.lower, bound.upper) == (truth, truth)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(6))
def test_without_time_no_more_is_charged_than_the_colouring(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    regions, weights, truth = of_parts(seed)
    problem = reduce(encode(regions, np.array(weights)))
    monkeypatch.setattr(solver, "MOST_POINTS", 0)
    monkeypatch.setattr(solver, "dual_bound", lambda problem, *_: (problem.total, dual_bound(problem, Deadline(60))[1]))
    cost = problem.constant + colouring_bound(overlap_graph(problem), problem.weights)
    assert truth <= maximum_overlap(regions, weights, deadline=0.0).upper <= cost < sum(weights)


@pytest.mark.parametrize("seed", range(6))
def test_without_time_no_more_is_charged_than_the_dual(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    regions, weights, truth = of_parts(seed)
    monkeypatch.setattr(solver, "MOST_POINTS", 0)
    monkeypatch.setattr(solver, "MOST_GRAPH_ROWS", 0)
    dual, _ = dual_bound(reduce(encode(regions, np.array(weights))), Deadline(0.0))
    assert truth <= maximum_overlap(regions, weights, deadline=0.0).upper <= dual < sum(weights)


@pytest.mark.parametrize("seed", range(6))
def test_an_index_without_time_bounds_all_that_was_added(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    regions, weights, truth = of_parts(seed)
    index = OverlapIndex(list(zip(regions, weights, strict=True)))
    for searched in (3000, 0):
        monkeypatch.setattr(online, "MOST_SEARCHED", searched)
        monkeypatch.setattr(solver, "MOST_POINTS", 0)
        for ascended in (online.most_of_all, lambda rows, end: (rows.total, {})):
            monkeypatch.setattr(online, "most_of_all", ascended)
            bound = index.bound(deadline=0.0)
            assert bound.lower <= truth <= bound.upper < sum(weights)


@pytest.mark.heavy
@pytest.mark.parametrize("block", range(6))
def test_sql_workloads_are_never_undercharged(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in fifth(range(block * 100, block * 100 + 100)):
        check_sql_instance(seed, monkeypatch)


@pytest.mark.heavy
@pytest.mark.parametrize("block", range(4))
def test_numeric_instances_are_never_undercharged(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in fifth(range(block * 100, block * 100 + 100)):
        check_numeric_instance(seed, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_ten_thousand_instances_are_never_undercharged(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(10_000 + block * 1000, 10_000 + block * 1000 + 1000):
        if seed % 2:
            check_sql_instance(seed, monkeypatch)
        else:
            check_numeric_instance(seed, monkeypatch)
