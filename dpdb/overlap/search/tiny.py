"""Exact answers on tiny inputs: every point of the domain, and an oracle by the overlap hypergraph."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from dpdb.errors import ParameterError
from dpdb.overlap.reductions import Problem
from dpdb.predicates import Box, Region, meet

__all__ = [
    "MOST_POINTS",
    "MOST_QUERIES",
    "MOST_WORK",
    "enumerate_points",
    "hypergraph_rank",
    "points",
]


MOST_POINTS = 1_000_000
MOST_WORK = 200_000_000
"""Largest number of points, and of points times rows, that is enumerated."""


def points(problem: Problem) -> int:
    """Number of points: the product of the numbers of atoms."""
    return prod(len(family.atoms) for family in problem.families)


def enumerate_points(problem: Problem) -> tuple[int, dict[int, int]]:
    """The maximum overlap and a choice that reaches it, by visiting every point."""
    order = sorted(range(len(problem.families)), key=lambda k: len(problem.families[k].atoms))
    best, choice = _visit(problem, order, np.ones(problem.size), problem.weights.astype(np.float64))
    return problem.constant + best, choice


def _visit(
    problem: Problem, order: list[int], alive: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[int, dict[int, int]]:
    """Fix the first attribute atom by atom; the last one is a single matrix product."""
    if not order:
        return int(alive @ weights), {}
    family = problem.families[order[0]]
    if len(order) == 1:
        kept = alive * weights
        masses = family.matrix @ kept[family.users]
        top = int(masses.argmax())
        return int(kept.sum() - kept[family.users].sum() + masses[top]), {order[0]: top}
    best, choice = -1, {}
    for atom in range(len(family.atoms)):
        left = alive.copy()
        left[family.users] *= family.member[atom]
        value, rest = _visit(problem, order[1:], left, weights)
        if value > best:
            best, choice = value, {order[0]: atom, **rest}
    return best, choice


MOST_QUERIES = 20


def hypergraph_rank(predicates: Sequence[Region], weights: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """Weight and queries of the heaviest hyperedge (Proposition 9).

    Raises
    ------
    ParameterError
        More than `MOST_QUERIES` queries: the hypergraph is exponential.
    """
    if len(predicates) > MOST_QUERIES:
        raise ParameterError(
            f"method 'hypergraph' is exponential and takes at most {MOST_QUERIES} queries, got {len(predicates)}"
        )
    best: tuple[int, tuple[int, ...]] = (0, ())
    level: list[tuple[tuple[int, ...], int, list[Box]]] = [((), 0, [()])]
    while level:
        above = []
        for edge, weight, region in level:
            for query in range(edge[-1] + 1 if edge else 0, len(predicates)):
                both = [box for one in region for two in predicates[query].boxes if (box := meet(one, two)) is not None]
                if both:
                    above.append(((*edge, query), weight + weights[query], both))
        best = max([best, *((weight, edge) for edge, weight, _ in above)], key=lambda pair: pair[0])
        level = above
    return best
