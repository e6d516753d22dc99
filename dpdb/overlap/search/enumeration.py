"""Enumeration of every point of a small domain: exact, and fast while the product of atoms is small."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from dpdb.overlap.reductions import Problem

__all__ = ["MOST_POINTS", "MOST_WORK", "enumerate_points", "points"]

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
