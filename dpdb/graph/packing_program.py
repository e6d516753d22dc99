"""`PackingProgram`: a maximum fractional b-matching as a linear program; exact reductions and exact proofs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["PackingProgram", "settle"]

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PackingProgram:
    """Maximize the sum of x over pairs (u, v), 0 <= x <= upper, with at most `capacity` in total at every node.

    Attributes
    ----------
    u, v, upper : int64, shape (pairs,)
        Two different nodes per pair.
    capacity : int64, shape (nodes,)
    """

    u: Integers
    v: Integers
    upper: Integers
    capacity: Integers

    def at_nodes(self, amount: Integers) -> Integers:
        """Sum an amount per pair at both its nodes."""
        return _sums(self.u, amount, len(self.capacity)) + _sums(self.v, amount, len(self.capacity))

    def compact(self) -> PackingProgram:
        """Leave out the nodes without pairs."""
        nodes, ends = np.unique(np.concatenate([self.u, self.v]), return_inverse=True)
        u, v = np.split(ends.astype(np.int64), 2)
        return PackingProgram(u, v, self.upper, self.capacity[nodes])

    def proved_optimum(self, doubled: Integers, twice_price: Integers) -> int:
        """Twice the optimum, given twice a solution and twice a price per node; all arithmetic is in integers.

        Weak duality: every price y >= 0 per node bounds the optimum by the sum of capacity y plus the sum of upper
        max(0, 1 - y_u - y_v). A feasible solution that reaches such a bound is optimal.

        Raises
        ------
        ArithmeticError
            If the solution is not feasible or the bound is not reached.
        """
        feasible = (
            (doubled >= 0).all()
            and (doubled <= 2 * self.upper).all()
            and (self.at_nodes(doubled) <= 2 * self.capacity).all()
            and (twice_price >= 0).all()
        )
        slack = np.maximum(0, 2 - twice_price[self.u] - twice_price[self.v])
        value, bound = int(doubled.sum()), int(self.capacity @ twice_price + self.upper @ slack)
        if not feasible or value != bound:
            raise ArithmeticError("the solution of the truncation program is not proved optimal")
        return value


def settle(program: PackingProgram) -> tuple[int, PackingProgram]:
    """Fix the values of x that some optimal solution has, until no more can be fixed.

    A node whose pairs do not exceed its capacity limits nothing and is free. A pair of free nodes is used up to its
    bound. A node that is not free spends its capacity on pairs with free nodes first: moving x there from another of
    its pairs keeps the sum and burdens no node that has a limit. A node without capacity has no x.

    Returns
    -------
    (int, PackingProgram)
        The sum of x that is fixed, and the program that remains: the optimum is that sum plus its optimum.
    """
    u, v, upper, capacity = program.u, program.v, program.upper, program.capacity
    fixed = 0
    while True:
        free = PackingProgram(u, v, upper, capacity).at_nodes(upper) <= capacity
        closed = capacity == 0
        both, one = free[u] & free[v], free[u] != free[v]
        limited = np.where(free[u], v, u)[one]
        spent = np.minimum(_sums(limited, upper[one], len(capacity)), capacity)
        fixed += int(upper[both].sum()) + int(spent.sum())
        capacity = capacity - spent
        kept = ~(both | one | closed[u] | closed[v])
        if kept.all():
            return fixed, PackingProgram(u, v, upper, capacity)
        u, v, upper = u[kept], v[kept], upper[kept]


def _sums(nodes: Integers, amount: Integers, count: int) -> Integers:
    # Sums of integers below 2**53 are exact in float64.
    return np.bincount(nodes, weights=amount, minlength=count).astype(np.int64)
