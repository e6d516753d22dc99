"""Branch and bound over queries with bitsets, for sparse sets: every point is searched from its last row.

Rows are put in degeneracy order; then overlap = max over rows of (its weight + overlap of its later neighbours). The
neighbourhoods are small when overlaps are rare. They are searched from the largest bound down, so that at any moment
the largest bound not yet searched is an upper bound.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from dpdb.overlap.bounds.bound import Deadline
from dpdb.overlap.reductions import Problem
from dpdb.overlap.search.clique import CliqueSearch

__all__ = ["QuerySearch"]


class QuerySearch:
    """One search over one problem; afterwards `best` is the incumbent and `rows` the rows that share its point.

    Parameters
    ----------
    problem, graph
        The problem and its query graph.
    best
        A value to beat, with the problem's constant.
    """

    def __init__(self, problem: Problem, graph: NDArray[np.bool_], best: int, deadline: Deadline) -> None:
        self.constant = problem.constant
        self.inner = CliqueSearch(problem, graph, deadline, joint=True, best=best - problem.constant)
        self.deadline = deadline

    @property
    def best(self) -> int:
        """Value of the incumbent."""
        return self.constant + self.inner.best

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of the incumbent; empty while nothing better than the value to beat was found."""
        return self.inner.clique

    def run(self, bound: int) -> int:
        """Search from a known upper bound; returns an upper bound, equal to `best` when the search finished."""
        inner, bound = self.inner, bound - self.constant
        open_bounds: list[tuple[int, int, int]] = []
        left = (1 << len(inner.weights)) - 1
        for row in degeneracy_order(inner.near):
            if self.deadline.passed:
                return self.constant + max(inner.best, bound)
            left &= ~(1 << row)
            later = left & inner.near[row]
            here = inner.weights[row] + inner.colour(later)
            if here > inner.best:
                heapq.heappush(open_bounds, (-min(here, bound), row, later))
        while open_bounds and -open_bounds[0][0] > inner.best:
            most, row, later = heapq.heappop(open_bounds)
            reached = inner.search(later, (row,), inner.weights[row], -most)
            if self.deadline.passed:
                return self.constant + max(inner.best, reached, *(-other for other, _, _ in open_bounds), 0)
        return self.best


def degeneracy_order(near: list[int]) -> list[int]:
    """Rows so that each has few later neighbours: repeatedly the row with fewest neighbours left."""
    degree = [mask.bit_count() for mask in near]
    queue = [(count, row) for row, count in enumerate(degree)]
    heapq.heapify(queue)
    order: list[int] = []
    left = (1 << len(near)) - 1
    while queue:
        count, row = heapq.heappop(queue)
        if not left >> row & 1 or count != degree[row]:
            continue
        left ^= 1 << row
        order.append(row)
        touched = near[row] & left
        while touched:
            low = touched & -touched
            touched ^= low
            other = low.bit_length() - 1
            degree[other] -= 1
            heapq.heappush(queue, (degree[other], other))
    return order
