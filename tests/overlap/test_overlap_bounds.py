"""Bounds: duals of wide problems, safe for every row and as tight as their first split and steps; colourings."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import numpy as np
import pytest

from dpdb.overlap import index_rows
from dpdb.overlap.bounds import (
    WideFamily,
    WideProblem,
    colouring_bound,
    colouring_cost,
    dsatur,
    dual_bound,
    heaviest_first,
    tops_of,
    wide_dual,
)
from dpdb.overlap.index_rows import IndexRows, most_collected
from dpdb.overlap.instance import Deadline, IntervalTable
from dpdb.predicates import Box, ValueSet

END = 60.0  # never reached


def problem_of(rows: Sequence[Sequence[tuple[int, int] | None]], atoms: int, weights: Sequence[int]) -> WideProblem:
    """Rows with one interval of atoms for each attribute, or None for every atom."""
    families = []
    for sides in zip(*rows, strict=True):
        users = np.array([row for row, side in enumerate(sides) if side is not None], np.int64)
        start, stop = np.array([side for side in sides if side is not None], np.int64).reshape(-1, 2).T
        sets = np.arange(len(users))
        families.append(WideFamily(users, IntervalTable(atoms, start, stop, sets, sets)))
    return WideProblem(np.array(weights, np.int64), 0, tuple(families))


def most_inside(rows: Sequence[Sequence[tuple[int, int] | None]], atoms: int, weights: Sequence[int]) -> list[int]:
    """Return for each row the most that a point inside it collects, by visiting every point."""
    most = [0] * len(rows)
    for point in itertools.product(range(atoms), repeat=len(rows[0])):
        covering = [
            row
            for row, sides in enumerate(rows)
            if all(side is None or side[0] <= at < side[1] for side, at in zip(sides, point, strict=True))
        ]
        for row in covering:
            most[row] = max(most[row], sum(weights[other] for other in covering))
    return most


def test_a_row_first_puts_its_weight_where_it_is_least_crowded() -> None:
    """Ten rows share a value of the first attribute and none of the second, ten the other way round."""
    rows = [((0, 1), (at, at + 1)) for at in range(1, 11)] + [((at, at + 1), (0, 1)) for at in range(1, 11)]
    weights = [3] * 20
    assert max(most_inside(rows, 11, weights)) == 3
    problem = problem_of(rows, 11, weights)
    assert 3 <= wide_dual(problem, Deadline(END), 1)[0] <= 6
    assert dual_bound(problem, Deadline(END), 1)[0] == 30  # half of a row's weight on each attribute


def test_the_even_split_is_taken_where_it_is_the_better_one() -> None:
    """Three rows, of which every two share a value, each of another attribute."""
    rows = [((0, 1), (0, 1), (1, 2)), ((0, 1), (1, 2), (0, 1)), ((1, 2), (0, 1), (0, 1))]
    weights = [6, 6, 6]
    even, _ = dual_bound(problem_of(rows, 2, weights), Deadline(END), 1)
    assert wide_dual(problem_of(rows, 2, weights), Deadline(END), 1)[0] <= even < sum(weights)


@pytest.mark.parametrize("seed", range(6))
def test_steps_tighten_a_dual_that_stays_above_every_point(seed: int) -> None:
    rng = random.Random(seed)
    atoms, weights = 9, [rng.randint(1, 9) for _ in range(40)]
    starts = [[rng.randrange(atoms) for _ in range(2)] for _ in weights]
    rows = [[(at, min(atoms, at + rng.randint(1, 3))) if rng.random() < 0.9 else None for at in row] for row in starts]
    problem, most = problem_of(rows, atoms, weights), most_inside(rows, atoms, weights)
    for bounded in (wide_dual, dual_bound):
        first, _ = bounded(problem, Deadline(END), 1)
        upper, split = bounded(problem, Deadline(END), 60)
        assert sum(weights) > first > upper >= max(most)
        tops = tops_of(problem, split)
        assert (tops >= most).all()
        assert (tops <= upper).all()
        assert (tops < upper).any()


def test_a_colour_costs_its_heaviest_row_and_the_cheaper_colouring_counts() -> None:
    assert colouring_cost(np.array([0, 0, 1]), np.array([2, 5, 3])) == 8
    path = np.diag([True] * 3, 1) | np.diag([True] * 3, -1)
    weights = np.array([10, 1, 1, 10])
    assert colouring_cost(dsatur(path), weights) == 20
    assert colouring_cost(heaviest_first(path, weights), weights) == colouring_bound(path, weights) == 12
    assert colouring_bound(path, np.array([3, 3, 3, 3])) == 6


def test_colourings_are_proper_and_cost_at_least_the_heaviest_clique() -> None:
    rng = random.Random(1)
    for _ in range(40):
        size = rng.randint(1, 9)
        graph = np.zeros((size, size), bool)
        for one, two in itertools.combinations(range(size), 2):
            graph[one, two] = graph[two, one] = rng.random() < 0.4
        weights = np.array([rng.randint(0, 9) for _ in range(size)])
        cliques = [
            sum(int(weights[row]) for row in rows)
            for count in range(size + 1)
            for rows in itertools.combinations(range(size), count)
            if all(graph[one, two] for one, two in itertools.combinations(rows, 2))
        ]
        costs = []
        for colours in (dsatur(graph), heaviest_first(graph, weights)):
            assert not (graph & (colours[:, None] == colours)).any()
            costs.append(colouring_cost(colours, weights))
        assert min(costs) >= max(cliques)
        assert colouring_bound(graph, weights) in costs
        assert colouring_bound(graph, weights) == (min(costs) if len(set(weights.tolist())) > 1 else costs[0])


def boxes_of(rows: Sequence[Sequence[tuple[int, int]]]) -> list[Box]:
    return [
        tuple((name, ValueSet.interval(*side, closed_high=False)) for name, side in zip("xyz", row, strict=False))
        for row in rows
    ]


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(8))
def test_what_is_collected_inside_a_box_is_bounded_whatever_is_left_out_as_cold(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that no point with too much covers are not searched, but what they collect counts."""
    rng, atoms = random.Random(seed), 8
    starts = [[rng.randrange(atoms) for _ in "xy"] for _ in range(25)]
    rows = [[(at, min(atoms, at + rng.randint(1, 4))) for at in row] for row in starts]
    weights = [rng.randint(1, 9) for _ in rows]
    most = max(most_inside(rows, atoms, weights))
    index, chosen, seen = IndexRows(boxes_of(rows), weights, [None] * len(rows)), np.arange(len(rows)), set()
    for cells, room in itertools.product((0, 60, 120, 180, 240, 300), range(most - 25, most + 20, 3)):
        monkeypatch.setattr(index_rows, "MOST_CELLS", cells)
        upper, _ = most_collected(index, (), chosen, room, Deadline(END))
        assert upper >= most
        seen.add(upper <= room)
    assert seen == {True, False}


@pytest.mark.parametrize("seed", range(8))
def test_with_time_what_is_collected_is_decided_for_every_room(seed: int) -> None:
    rng = random.Random(seed)
    starts = [[rng.randrange(4) for _ in "xyz"] for _ in range(30)]
    rows = [[(at, min(4, at + rng.randint(1, 2))) for at in row] for row in starts]
    weights = [rng.randint(1, 3) for _ in rows]
    most = max(most_inside(rows, 4, weights))
    index = IndexRows(boxes_of(rows), weights, [None] * len(rows))
    for room in range(most - 3, most + 4):
        upper, _ = most_collected(index, (), np.arange(len(rows)), room, Deadline(END))
        assert (upper <= room) == (most <= room)
