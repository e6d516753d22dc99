"""Good points by coordinate ascent: the lower bound, and the first incumbent of every search."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpdb.overlap.bounds.bound import Deadline
from dpdb.overlap.bounds.relaxation import FamilyT, Relaxation
from dpdb.overlap.reductions import Problem

__all__ = ["ascend", "value_of"]


def ascend(
    problem: Relaxation[FamilyT], deadline: Deadline, tries: int = 60, *, enough: int | None = None
) -> tuple[int, dict[int, int]]:
    """Climb from several starts, one attribute at a time, and return the best value and choice (family -> atom).

    The starts are drawn from a fixed seed: nothing private is involved and equal inputs give equal answers.

    Parameters
    ----------
    problem
        The families, the rows' weights and the constant.
    deadline
        When to stop; one start is tried in any case.
    tries
        Most starts.
    enough
        A value at which to stop early; None: never.
    """
    rng = np.random.default_rng(0)
    families = problem.families
    weights = problem.weights.astype(np.float64)
    best = -1
    choice: dict[int, int] = {}
    for _ in range(tries):
        point = [int(rng.integers(family.size)) for family in families]
        if best >= 0:  # later starts keep part of the best point
            kept = rng.random(len(families)) < rng.random()
            point = [choice[k] if kept[k] else atom for k, atom in enumerate(point)]
        value = problem.constant + _climb(problem, weights, point, rng, deadline)
        if value > best:
            best, choice = value, dict(enumerate(point))
        if deadline.passed or not families or (enough is not None and best >= enough):
            break
    return best, choice


def _climb(
    problem: Relaxation[FamilyT],
    weights: NDArray[np.float64],
    point: list[int],
    rng: np.random.Generator,
    deadline: Deadline,
) -> int:
    """Improve `point` in place until no change of one attribute improves it; return its value without the constant."""
    families = problem.families
    missed = np.zeros(problem.size, np.int32)
    for family, atom in zip(families, point, strict=True):
        missed[family.users] += ~family.covers(atom)
    improved = True
    while improved and not deadline.passed:
        improved = False
        for k in rng.permutation(len(families)).tolist():
            family = families[k]
            missed[family.users] -= ~family.covers(point[k])
            gains = family.matrix @ np.where(missed[family.users] == 0, weights[family.users], 0.0)
            better = int(gains.argmax())
            if gains[better] > gains[point[k]]:
                point[k], improved = better, True
            missed[family.users] += ~family.covers(point[k])
    return int(problem.weights[missed == 0].sum())


def value_of(problem: Problem, choice: dict[int, int]) -> int:
    """Return the weight that the point of a choice collects."""
    missed = np.zeros(problem.size, bool)
    for k, family in enumerate(problem.families):
        missed[family.users] |= ~family.member[choice.get(k, 0)]
    return problem.constant + int(problem.weights[~missed].sum())
