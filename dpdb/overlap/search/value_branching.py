"""Branch and bound over values: fix one attribute to an atom, keep the rows that cover it, bound the rest by the dual.

Made for dense sets over few attributes. Each node improves the split it inherits; the split also tells which atoms can
still be part of a better point (mass plus the other maxima above the incumbent), the others are dropped on all
attributes at once. If interrupted, the largest bound among the open nodes is still an upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpdb.overlap.bounds.bound import Deadline
from dpdb.overlap.bounds.coverage import coverage
from dpdb.overlap.bounds.dual import Split, improve, scale_for
from dpdb.overlap.reductions import Problem, maximal_columns

__all__ = ["ValueSearch"]

_ROOT_STEPS = 40
_NODE_STEPS = 24

Side: TypeAlias = tuple[int, NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]
"""One open attribute of a node: family, its rows (ascending), the atoms they cover (atom, row), its atoms."""


@dataclass(frozen=True)
class _Node:
    """Points that agree on `fixed` (family -> atom), with the rows still alive, the open attributes and a bound."""

    rows: NDArray[np.int64]
    sides: list[Side]
    shares: NDArray[np.float64]
    fixed: dict[int, int]
    bound: int


class ValueSearch:
    """One search over one problem.

    Parameters
    ----------
    problem
        The reduced problem.
    best, choice
        A value to beat and the point that reaches it (family -> atom).
    enough
        Stop as soon as the incumbent is at least this; for decisions.
    """

    def __init__(
        self, problem: Problem, best: int, choice: dict[int, int], deadline: Deadline, enough: int | None = None
    ) -> None:
        self.problem = problem
        self.best = best
        self.choice = choice
        self.deadline = deadline
        self.enough = enough
        self.scale = scale_for(problem.total)
        self.weights = problem.weights.astype(np.float64) * self.scale
        self.hardness = 4.0 * float(self.weights.mean())  # loss of weight that makes a branch e times easier

    def run(self, split: Split, root_bound: int) -> int:
        """Search from the root; returns an upper bound on the overlap, equal to `best` when the search finished."""
        sides: list[Side] = [
            (k, family.users, family.member, np.arange(len(family.atoms)))
            for k, family in enumerate(self.problem.families)
        ]
        root = _Node(np.arange(self.problem.size), sides, split.shares, {}, root_bound)
        return max(self.best, self._bound(root, _ROOT_STEPS))

    @property
    def _stopped(self) -> bool:
        return self.deadline.passed or (self.enough is not None and self.best >= self.enough)

    def _bound(self, node: _Node, steps: int) -> int:
        """An upper bound for all points of a node, searched as far as time allows."""
        if self._stopped:
            return node.bound
        if not node.sides:
            return self._reach(node)
        constant = self.problem.constant
        target = float((self.best + 1 - constant) * self.scale)
        place = self._places(node.rows)
        split = improve(
            self.weights[node.rows],
            [(place[users], coverage(member)) for _, users, member, _ in node.sides],
            node.shares,
            steps,
            target=target,
            deadline=self.deadline,
        )
        bound = min(node.bound, constant + int(split.value) // self.scale)
        if bound <= self.best:
            return bound
        slack = split.value - target
        keep = [np.flatnonzero(mass >= mass.max() - slack) for mass in split.masses]
        masses = [mass[chosen] for mass, chosen in zip(split.masses, keep, strict=True)]
        sides = [
            (k, users, member[chosen], atoms[chosen])
            for (k, users, member, atoms), chosen in zip(node.sides, keep, strict=True)
        ]
        filtered = _Node(node.rows, sides, split.shares, node.fixed, bound)
        return self._children(filtered, split.value, masses)

    def _reach(self, node: _Node) -> int:
        """The value of the only point of a node."""
        value = self.problem.constant + int(self.problem.weights[node.rows].sum())
        if value > self.best:
            self.best, self.choice = value, node.fixed
        return value

    def _places(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Position of every row of the problem among `rows`."""
        place = np.full(self.problem.size, -1)
        place[rows] = np.arange(len(rows))
        return place

    def _branch_on(self, node: _Node, masses: list[NDArray[np.float64]]) -> int:
        """Return the attribute to branch on: its atoms lose most weight elsewhere and stay below its maximum."""
        place = self._places(node.rows)
        work = []
        for column, ((_, users, member, _), mass) in enumerate(zip(node.sides, masses, strict=True)):
            elsewhere = self.weights[users] - node.shares[place[users], column]
            lost = elsewhere.sum() - coverage(member) @ elsewhere + mass.max() - mass
            work.append(float(np.exp(-lost / self.hardness).sum()))
        return int(np.argmin(work))

    def _children(self, node: _Node, value: float, masses: list[NDArray[np.float64]]) -> int:
        """Fix one attribute to each of its atoms, heavy ones first."""
        column = self._branch_on(node, masses)
        family, users, member, atoms = node.sides[column]
        mass = masses[column]
        others = value - mass.max()
        place = self._places(node.rows)
        upper = self.best
        for atom in np.argsort(-mass, kind="stable").tolist():
            here = min(node.bound, int(others + mass[atom]) // self.scale + self.problem.constant)
            if here <= self.best:
                break
            if self._stopped:
                return max(upper, here)
            alive = np.zeros(self.problem.size, bool)
            alive[node.rows] = True
            alive[users[~member[atom]]] = False
            rows = np.flatnonzero(alive)
            columns, sides, settled = self._shrink(node.sides, column, alive)
            shares = node.shares[np.ix_(place[rows], np.array(columns, np.int64))]
            fixed = {**node.fixed, family: int(atoms[atom]), **settled}
            upper = max(upper, self._bound(_Node(rows, sides, shares, fixed, here), _NODE_STEPS))
        return upper

    @staticmethod
    def _shrink(
        sides: list[Side], fixed: int, alive: NDArray[np.bool_]
    ) -> tuple[list[int], list[Side], dict[int, int]]:
        """Return the other attributes among the alive rows, with maximal atoms only, and the settled choices."""
        columns: list[int] = []
        kept: list[Side] = []
        settled: dict[int, int] = {}
        for column, (family, users, member, atoms) in enumerate(sides):
            chosen = alive[users]
            if column == fixed or not chosen.any():
                continue
            table = member[:, chosen]
            first = maximal_columns(table, most=400)
            if len(first) == 1 and table[first[0]].all():
                settled[family] = int(atoms[first[0]])  # one atom suits everybody
                continue
            columns.append(column)
            kept.append((family, users[chosen], table[first], atoms[first]))
        return columns, kept, settled
