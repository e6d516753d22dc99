"""The dual bound: split every row's weight over its attributes; the sum of the heaviest atoms is safe.

For any split, overlap <= sum over attributes of max over atoms of the weight there, because the best point collects at
most the maximum on each attribute. The split is improved by multiplicative weights against a soft maximum; weights are
scaled to integers that 64-bit floats add exactly, so every value on the way is a proof.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpdb.overlap.bounds.bound import Deadline
from dpdb.overlap.bounds.coverage import Coverage
from dpdb.overlap.bounds.relaxation import FamilyT, Relaxation

__all__ = ["Part", "Split", "dual_bound", "improve", "scale_for"]

Part = tuple[NDArray[np.int64], Coverage]
"""One attribute: the rows it restricts and the matrix (atom, row) of the atoms they cover."""


@dataclass(frozen=True)
class Split:
    """A split of integer weights and the bound that it proves, in scaled units."""

    value: float
    shares: NDArray[np.float64]
    masses: list[NDArray[np.float64]]


def scale_for(total: int) -> int:
    """Return how many units one unit of weight is cut into so that all sums stay exact."""
    return int(2 ** max(0, min(20, 51 - int(total).bit_length())))


class _Splitter:
    """Splits of one set of weights over one set of attributes."""

    def __init__(self, weights: NDArray[np.float64], parts: list[Part]) -> None:
        self.parts = parts
        self.used = np.zeros((len(weights), len(parts)), bool)
        for column, (users, _) in enumerate(parts):
            self.used[users, column] = True
        free = ~self.used.any(axis=1)
        self.constant = float(weights[free].sum())
        self.weights = np.where(free, 0.0, weights)

    def begin(self, start: NDArray[np.float64]) -> NDArray[np.float64]:
        """Shares near `start`, with a little on every attribute so that each can grow."""
        little = 1e-3 * self.weights[:, None] / max(len(self.parts), 1)
        return _normal(np.where(self.used, start + little, 0.0), self.weights)

    def prove(self, shares: NDArray[np.float64]) -> Split:
        """Round shares to integers and return the bound that they prove."""
        whole = _round(shares, self.weights)
        masses = [table @ whole[users, column] for column, (users, table) in enumerate(self.parts)]
        return Split(self.constant + float(sum(mass.max() for mass in masses)), whole, masses)

    def move(self, shares: NDArray[np.float64], masses: list[NDArray[np.float64]], step: int) -> NDArray[np.float64]:
        """One step: every row moves weight away from attributes where it sits on heavy atoms."""
        blame = np.zeros(shares.shape)
        for column, ((users, table), mass) in enumerate(zip(self.parts, masses, strict=True)):
            top = max(mass.max(), 1.0)
            soft = np.exp((10 + step / 5) * np.log(len(mass) + 1) / (2 * top) * (mass - top))
            blame[users, column] = (soft / soft.sum()) @ table
        excess = blame - ((blame * shares).sum(axis=1) / np.maximum(self.weights, 1.0))[:, None]
        return _normal(np.where(self.used, shares * np.exp(-1.5 / np.sqrt(step) * excess), 0.0), self.weights)


def improve(
    weights: NDArray[np.float64],
    parts: list[Part],
    start: NDArray[np.float64],
    iterations: int,
    *,
    target: float = -1.0,
    deadline: Deadline | None = None,
) -> Split:
    """Improve a split until it proves a value below `target`, or the iterations or the time run out.

    Parameters
    ----------
    weights
        Integer-valued scaled weights, one per row.
    parts
        The attributes.
    start
        Shares (row, attribute) to begin with, of any scale; entries outside the attributes' rows are ignored.
    iterations
        Most steps.
    target
        Value below which to stop; negative: never.
    deadline
        When to stop.
    """
    splitter = _Splitter(weights, parts)
    shares = splitter.begin(start)
    best = split = splitter.prove(shares)
    for step in range(1, iterations):
        hopeless = step == 8 and best.value > 1.15 * target > 0
        if best.value < target or hopeless or (deadline and deadline.passed):
            break
        shares = splitter.move(shares, split.masses, step)
        split = splitter.prove(shares)
        if split.value < best.value:
            best = split
    return best


def _normal(shares: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(shares * (weights / np.maximum(shares.sum(axis=1), 1e-300))[:, None])


def _round(shares: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Whole shares with the same row sums: round down, and give the remainder to the largest."""
    if not shares.shape[1]:
        return shares
    whole = np.floor(shares)
    whole[np.arange(len(whole)), shares.argmax(axis=1)] += weights - whole.sum(axis=1)
    return whole


def dual_bound(
    problem: Relaxation[FamilyT], deadline: Deadline, iterations: int = 300, enough: int | None = None
) -> tuple[int, Split]:
    """Return the dual bound of a problem (with its constant) and the split that proves it.

    Parameters
    ----------
    problem
        The families, the rows' weights and the constant.
    deadline
        When to stop; one step is done in any case.
    iterations
        Most steps.
    enough
        A bound at which to stop early; None: never.
    """
    scale = scale_for(problem.total)
    parts = [(family.users, family.matrix) for family in problem.families]
    target = -1.0 if enough is None else float((enough + 1 - problem.constant) * scale)
    weights = problem.weights.astype(np.float64) * scale
    split = improve(weights, parts, problem.used.astype(float), iterations, target=target, deadline=deadline)
    return problem.constant + int(split.value) // scale, split
