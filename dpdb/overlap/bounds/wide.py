"""Bounds of problems too wide for tables of booleans: many rows over many atoms, kept as intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpdb.overlap.bounds.bound import Deadline
from dpdb.overlap.bounds.coverage import IntervalTable
from dpdb.overlap.bounds.dual import Part, Split, improve, scale_for
from dpdb.overlap.bounds.relaxation import Relaxation

__all__ = ["MOST_CELLS", "WideFamily", "WideProblem", "tops_of", "wide_dual", "wide_tops"]

MOST_CELLS = 20_000_000
"""Most cells (atom, row) of the tables of a problem that is searched; a wider one is bounded from its intervals."""

_STEPS = 12


@dataclass(frozen=True, eq=False)
class WideFamily:
    """The atoms of one attribute among the rows it restricts."""

    users: NDArray[np.int64]
    matrix: IntervalTable

    @property
    def size(self) -> int:
        """Number of atoms."""
        return self.matrix.atoms

    def covers(self, atom: int) -> NDArray[np.bool_]:
        """Per user whether it covers an atom."""
        return self.matrix.covers(atom)


WideProblem = Relaxation[WideFamily]


def wide_dual(problem: WideProblem, end: Deadline, steps: int, enough: int | None = None) -> tuple[int, Split]:
    """Return the dual bound (see `bounds.dual`) from the better of two first splits, in time linear in the rows.

    One is even. In the other every row puts all of its weight on the attribute where it is least crowded: where the
    heaviest atom that it covers is lightest, if all rows put their weight there.

    Parameters
    ----------
    problem
        The families, the rows' weights and the constant.
    end
        When to stop.
    steps
        Most steps from the better split.
    enough
        A bound at which to stop early; None: never.
    """
    weights = problem.weights.astype(np.float64) * scale_for(problem.total)
    parts: list[Part] = [(family.users, family.matrix) for family in problem.families]
    target = -1.0 if enough is None else float((enough + 1 - problem.constant) * scale_for(problem.total))
    crowd = np.full(problem.used.shape, np.inf)
    for column, family in enumerate(problem.families):
        crowd[family.users, column] = family.matrix.highest(family.matrix @ weights[family.users])
    least = (crowd == crowd.min(axis=1, initial=np.inf)[:, None]) & problem.used
    starts = (problem.used.astype(np.float64), np.where(least, 1e6, 0.0) * weights[:, None])
    begun = [improve(weights, parts, start, 1, target=target, deadline=end) for start in starts]
    best = min(begun, key=lambda split: split.value)
    if best.value >= target:
        best = min(best, improve(weights, parts, best.shares, steps, target=target, deadline=end), key=_value)
    return problem.constant + int(best.value) // scale_for(problem.total), best


def _value(split: Split) -> float:
    return split.value


def wide_tops(weights: NDArray[np.int64], families: tuple[WideFamily, ...]) -> NDArray[np.int64]:
    """Per row an upper bound on what any point inside it collects."""
    problem = WideProblem(weights, 0, families)
    return tops_of(problem, wide_dual(problem, Deadline(60), _STEPS)[1])


def tops_of(problem: WideProblem, split: Split) -> NDArray[np.int64]:
    """Per row a split's bound for the points inside it: the sum over attributes of the heaviest atom that it covers."""
    bound = np.full(problem.size, split.value)
    for family, mass in zip(problem.families, split.masses, strict=True):
        bound[family.users] += family.matrix.highest(mass) - float(mass.max())
    return np.asarray(bound // scale_for(problem.total), np.int64)
