"""Bounds of the maximum overlap: above by duals and by colouring the query graph, below by good points.

Problems too wide for tables of booleans, of many rows over many atoms, are kept as intervals. Good points come by
coordinate ascent: the lower bound, and the first incumbent of every search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpdb.overlap.instance import Coverage, Deadline, FamilyT, IntervalTable, Relaxation
from dpdb.overlap.reductions import Problem

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

    Split every row's weight over its attributes; the sum of the heaviest atoms is safe.

    For any split, overlap <= sum over attributes of max over atoms of the weight there, because the best point collects
    at most the maximum on each attribute. The split is improved by multiplicative weights against a soft maximum;
    weights are scaled to integers that 64-bit floats add exactly, so every value on the way is a proof.

    Parameters
    ----------
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
    """Return the dual bound (see `dual_bound`) from the better of two first splits, in time linear in the rows.

    One is even. In the other every row puts all of its weight on the attribute where it is least crowded: where the
    heaviest atom that it covers is lightest, if all rows put their weight there.

    Parameters
    ----------
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


def ascend(
    problem: Relaxation[FamilyT], deadline: Deadline, tries: int = 60, *, enough: int | None = None
) -> tuple[int, dict[int, int]]:
    """Climb from several starts, one attribute at a time, and return the best value and choice (family -> atom).

    The starts are drawn from a fixed seed: nothing private is involved and equal inputs give equal answers.

    Parameters
    ----------
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


def dsatur(graph: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Colours by DSatur: next the row with most neighbouring colours; on ties with most neighbours, then the first."""
    size = len(graph)
    degree = graph.sum(axis=1)
    colours = np.full(size, -1, np.int64)
    seen = np.zeros((size, 1), bool)
    order = degree.astype(np.int64)  # saturation * (size + 1) + degree, -1 once coloured
    for _ in range(size):
        row = int(order.argmax())
        colour = _first_free(seen[row])
        if colour == seen.shape[1]:
            seen = np.concatenate([seen, np.zeros((size, max(8, colour // 2)), bool)], axis=1)
        colours[row] = colour
        order += (graph[row] & ~seen[:, colour]) * (size + 1)
        seen[:, colour] |= graph[row]
        order[colours >= 0] = -1
    return colours


def heaviest_first(graph: NDArray[np.bool_], weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Greedy colours in order of falling weight."""
    colours = np.full(len(graph), -1, np.int64)
    for row in np.argsort(-weights, kind="stable").tolist():
        near = colours[graph[row]]
        taken = np.zeros(len(near) + 1, bool)
        taken[near[(near >= 0) & (near <= len(near))]] = True
        colours[row] = _first_free(taken)
    return colours


def _first_free(taken: NDArray[np.bool_]) -> int:
    free = int(taken.argmin())
    return len(taken) if taken[free] else free


def colouring_cost(colours: NDArray[np.int64], weights: NDArray[np.int64]) -> int:
    """Sum over colours of the heaviest row: at least the overlap, for any proper colouring (paper B, Eq. 8)."""
    if not len(colours):
        return 0
    heaviest = np.zeros(int(colours.max()) + 1, np.int64)
    np.maximum.at(heaviest, colours, weights)
    return int(heaviest.sum())


def colouring_bound(graph: NDArray[np.bool_], weights: NDArray[np.int64]) -> int:
    """The cheaper of both colourings.

    Safe, since rows of one colour are disjoint and charged once (paper B, section 6.3).

    A colouring with few colours is found by DSatur (Brelaz 1979; paper B, Algorithm 2). For weights, a colour costs its
    heaviest row, and colouring heavy rows first is often cheaper; the smaller of both counts.
    """
    bound = colouring_cost(dsatur(graph), weights)
    if len(weights) and weights.min() != weights.max():
        bound = min(bound, colouring_cost(heaviest_first(graph, weights), weights))
    return bound
