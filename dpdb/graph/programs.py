"""Linear and integer programs for HiGHS: arrays in, arrays out, so that they can be solved in another process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["CoverProgram", "PackingLP", "Solution"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Solution:
    """The outcome of a run of HiGHS.

    Attributes
    ----------
    finished : bool
        False if the time limit came first.
    solved : bool
        Whether `x` is optimal as far as HiGHS can tell.
    message : str
    x, prices : float64, optional
        A solution; for a linear program, the dual values of its rows.
    lower : float, optional
        For an integer program, a lower bound of the minimum.
    """

    finished: bool
    solved: bool
    message: str
    x: Floats | None
    prices: Floats | None = None
    lower: float | None = None


@dataclass(frozen=True, eq=False)
class PackingLP:
    """Maximize the sum of x over pairs (u, v), 0 <= x <= upper, with at most `capacity` in total at every node.

    By the dual simplex, whose vertices are multiples of 1/2, because every column has two entries of 1.
    """

    u: Integers
    v: Integers
    upper: Integers
    capacity: Integers

    @property
    def size(self) -> int:
        """Number of variables."""
        return len(self.u)

    def solve(self, time_limit: float | None) -> Solution:
        """Solve it; without a limit, to the end."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array

        pairs = len(self.u)
        incidence = csr_array(
            (np.ones(2 * pairs), (np.concatenate([self.u, self.v]), np.tile(np.arange(pairs), 2))),
            shape=(len(self.capacity), pairs),
        )
        result = linprog(
            -np.ones(pairs),
            A_ub=incidence,
            b_ub=self.capacity,
            bounds=np.column_stack([np.zeros(pairs), self.upper]),
            method="highs-ds",
            options=_limit(time_limit),
        )
        solved = result.status == 0
        return Solution(
            finished=result.status != 1,
            solved=solved,
            message=str(result.message),
            x=result.x,
            prices=-result.ineqlin.marginals if solved else None,
        )


@dataclass(frozen=True, eq=False)
class CoverProgram:
    """Minimize the weight of a set of nodes that has all nodes but one of every clique.

    Attributes
    ----------
    weight : float64, shape (nodes,)
    members : int64
        The cliques' nodes, one clique after the other.
    sizes : int64, shape (cliques,)
    """

    weight: Floats
    members: Integers
    sizes: Integers

    @property
    def size(self) -> int:
        """Number of variables."""
        return len(self.weight)

    def solve(self, time_limit: float | None) -> Solution:
        """Solve it; without a limit, to the end."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        matrix = csr_array(
            (np.ones(len(self.members)), self.members, np.concatenate([[0], np.cumsum(self.sizes)])),
            shape=(len(self.sizes), len(self.weight)),
        )
        result = milp(
            self.weight,
            integrality=np.ones(len(self.weight)),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(matrix, lb=self.sizes - 1),
            options={**_limit(time_limit), "mip_rel_gap": 0.0},
        )
        return Solution(
            finished=result.status != 1,
            solved=result.status == 0,
            message=str(result.message),
            x=result.x,
            lower=result.mip_dual_bound,
        )


def _limit(seconds: float | None) -> dict[str, Any]:
    return {} if seconds is None else {"time_limit": seconds}
