"""LP truncation of the number of edges to at most tau per node, the statistic of R2T.

Q(tau) is the maximum of the sum of x over the edges, with 0 <= x <= 1 on every edge and at most tau in total at every
node (Dong, Fang, Yi, Tao and Machanavajjhala, R2T, SIGMOD 2022, applied to counting edges).

2 Q(tau) is an integer, the maximum flow through the bipartite double cover with node capacities tau and edge capacities
1: the two copies of an edge carry x each, and conversely their mean is an x. HiGHS solves the program in floating
point; its answer is used only if, rounded to multiples of 1/2, it is proved optimal in integers by weak duality.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpdb.graph.exact.solver import PackingLP, solve
from dpdb.graph.listed.edge_graph import Adjacency, adjacency_of, false_twin_classes
from dpdb.graph.listed.listed_edges import OrderedEdges, check_theta

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


def twice_truncated_edges(edges: OrderedEdges | Adjacency, taus: Sequence[int]) -> tuple[int, ...]:
    """Twice the LP-truncated number of edges, 2 Q(tau), for every tau.

    Sensitivity 2 tau, monotone (change in [0, 2 tau]): a new row adds two nodes of capacity tau to the double cover,
    and an arc through neither of them keeps its flow. The order of the edges does not matter.

    Exact reductions come first: rows with the same neighbours become one node whose capacity is their sum (the mean
    over all exchanges of such rows is as good as any solution), and `settle` fixes what no capacity limits.

    Parameters
    ----------
    edges
        The graph; it is held in memory, 8 bytes per edge.
    taus
        At least 1, in any order, of any size. Q(tau) is the number of edges from the maximum degree on.

    Returns
    -------
    tuple of int
        One value per tau, in the order of `taus`.

    Raises
    ------
    ParameterError
        A tau is not an integer or is below 1.
    ArithmeticError
        HiGHS gave no solution that is proved optimal.
    """
    graph = adjacency_of(edges)
    limits = [check_theta(tau) for tau in taus]
    largest = int(graph.degrees.max(initial=0))
    binding = sorted({tau for tau in limits if tau < largest})
    truncated: dict[int, int] = {}
    if binding:
        rows, u, v, pairs = _twin_pairs(graph)
        truncated = {tau: _twice_optimum(PackingProgram(u, v, pairs, rows * tau)) for tau in binding}
    return tuple(truncated.get(tau, 2 * graph.edge_count) for tau in limits)


_Array = NDArray[np.int64]


def _twin_pairs(graph: Adjacency) -> tuple[_Array, _Array, _Array, _Array]:
    """Rows in every twin class; both ends of every pair of classes in conflict, and how many edges it stands for."""
    representatives, rows = false_twin_classes(graph)
    merged = graph.induced(representatives)
    first = np.repeat(np.arange(merged.node_count), merged.degrees)
    second = merged.neighbours.astype(np.int64)
    once = first < second
    u, v = first[once], second[once]
    return rows, u, v, rows[u] * rows[v]


def _twice_optimum(program: PackingProgram) -> int:
    settled, core = settle(program)
    return 2 * settled + (_solve(core.compact()) if len(core.u) else 0)


def _solve(program: PackingProgram) -> int:
    """Twice the optimum by HiGHS' dual simplex, proved in integers."""
    found = solve(PackingLP(program.u, program.v, program.upper, program.capacity))
    if not found.solved or found.x is None or found.prices is None:
        raise ArithmeticError(f"HiGHS did not solve the truncation program: {found.message}")
    doubled = np.rint(2 * found.x).astype(np.int64)
    return program.proved_optimum(doubled, np.rint(2 * found.prices).astype(np.int64))
