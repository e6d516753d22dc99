"""The query graph (paper B, section 5), and the search of its heaviest clique: Algorithm 1, pruned by colouring.

An edge joins two rows that overlap, attribute by attribute. As printed, lines 14 and 16 of the algorithm return and
pass B where B' is meant, which loses the best clique of the first branch and underestimates; here one incumbent is
shared by all branches. With `joint`, a clique counts only while its rows share a point (section 6.2), which makes the
result the maximum overlap itself.

An interrupted clique search is not safe by its incumbent: the bound returned covers every branch left open.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpdb.overlap.bounds.bound import Deadline
from dpdb.overlap.reductions import Problem

__all__ = ["CliqueSearch", "components", "overlap_graph"]

MOST_DENSE_ATOMS = 20_000
"""Up to here a matrix product finds the overlapping pairs of an attribute; beyond, bits are faster."""


def overlap_graph(problem: Problem) -> NDArray[np.bool_]:
    """Adjacency matrix: True where two different rows share a point (Proposition 3).

    Small attributes first; when few pairs are left undecided, only those are compared.
    """
    size = problem.size
    graph = np.ones((size, size), bool)
    pairs: tuple[NDArray[np.intp], NDArray[np.intp]] | None = None
    packed, starts = problem.bits
    for family, start in zip(problem.families, starts, strict=True):
        end = start + -(-len(family.atoms) // 8)
        if pairs is None and np.count_nonzero(graph) * int(end - start) < 4 * len(family.users) ** 2:
            one, two = np.nonzero(np.triu(graph, 1))
            pairs = one, two
        if pairs is None and len(family.atoms) > MOST_DENSE_ATOMS:
            for row in family.users.tolist():
                graph[row, family.users] &= (packed[family.users, start:end] & packed[row, start:end]).any(axis=1)
        elif pairs is None:
            table = family.member.T.astype(np.float32)
            graph[np.ix_(family.users, family.users)] &= (table @ table.T) > 0
        else:
            block = np.ascontiguousarray(packed[:, start:end])
            meets = (block[pairs[0]] & block[pairs[1]]).any(axis=1)
            pairs = (pairs[0][meets], pairs[1][meets])
    if pairs is not None:
        graph = np.zeros((size, size), bool)
        graph[pairs] = True
        graph |= graph.T
    np.fill_diagonal(graph, False)
    return graph


def components(graph: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
    """Connected components as ascending row indices: no point is covered by rows of two of them."""
    left = np.ones(len(graph), bool)
    found = []
    while left.any():
        reached = np.zeros(len(graph), bool)
        frontier = np.array([int(left.argmax())])
        reached[frontier] = True
        while len(frontier):
            near = graph[frontier].any(axis=0) & ~reached
            frontier = np.flatnonzero(near)
            reached |= near
        left &= ~reached
        found.append(np.flatnonzero(reached))
    return found


@dataclass(frozen=True)
class _Branch:
    """Rows that may still join (as bits), the chosen rows, their weight, the atoms they share, a bound on the value."""

    candidates: int
    chosen: tuple[int, ...]
    weight: int
    common: NDArray[np.uint8] | None
    bound: int


class CliqueSearch:
    """One search over one problem; `best` and `clique` (rows of the problem) are the incumbent.

    Parameters
    ----------
    problem, graph
        The problem and its query graph.
    joint
        Whether the rows of a clique must share a point.
    best
        A value to beat, without the problem's constant.
    """

    def __init__(
        self, problem: Problem, graph: NDArray[np.bool_], deadline: Deadline, *, joint: bool, best: int = 0
    ) -> None:
        self.order = np.argsort(-problem.weights, kind="stable")  # bit 0 is the heaviest row
        self.weights: list[int] = problem.weights[self.order].tolist()
        ordered = graph[np.ix_(self.order, self.order)]
        packed = np.packbits(ordered, axis=1, bitorder="little")
        self.near = [int.from_bytes(row.tobytes(), "little") for row in packed]
        self.bits, self.starts = problem.bits
        self.bits = self.bits[self.order]
        self.deadline = deadline
        self.joint = joint and len(self.starts) > 0
        self.best = best
        self.clique: tuple[int, ...] = ()

    def run(self) -> int:
        """Search everything; returns an upper bound, equal to `best` when the search finished."""
        everything = (1 << len(self.weights)) - 1
        return self.search(everything, (), 0, sum(self.weights))

    def search(self, candidates: int, chosen: tuple[int, ...], weight: int, bound: int) -> int:
        """Search the cliques that contain `chosen` and else only candidates; returns an upper bound.

        Parameters
        ----------
        candidates
            Rows that may join, as bits.
        chosen
            Rows of every clique, as bit numbers.
        weight
            Weight of the chosen rows.
        bound
            A known upper bound on the weight of these cliques.
        """
        common = self._common(chosen) if self.joint else None
        stack = [_Branch(candidates, chosen, weight, common, bound)]
        while stack:
            if self.deadline.passed:
                return max(self.best, *(branch.bound for branch in stack))
            branch = stack.pop()
            if branch.weight > self.best:
                self.best, self.clique = branch.weight, tuple(int(self.order[bit]) for bit in branch.chosen)
            if not branch.candidates or branch.bound <= self.best:
                continue
            bound = min(branch.bound, branch.weight + self.colour(branch.candidates))
            if bound <= self.best:
                continue
            row = self._busiest(branch.candidates)
            rest = branch.candidates & ~(1 << row)
            stack.append(_Branch(rest, branch.chosen, branch.weight, branch.common, bound))
            stack.append(self._with(branch, row, bound))
        return self.best

    def colour(self, candidates: int) -> int:
        """Cost of a greedy colouring of the candidates, heavy rows first."""
        cost = 0
        while candidates:
            left = candidates
            cost += self.weights[(left & -left).bit_length() - 1]
            while left:
                low = left & -left
                candidates ^= low
                left &= ~(self.near[low.bit_length() - 1] | low)
        return cost

    def _busiest(self, candidates: int) -> int:
        """The candidate with most neighbours among the candidates."""
        most, row, left = -1, 0, candidates
        while left:
            low = left & -left
            left ^= low
            bit = low.bit_length() - 1
            degree = (self.near[bit] & candidates).bit_count()
            if degree > most:
                most, row = degree, bit
        return row

    def _with(self, branch: _Branch, row: int, bound: int) -> _Branch:
        candidates = branch.candidates & self.near[row]
        common = branch.common
        if common is not None:
            common = common & self.bits[row]
            candidates = self._compatible(candidates, common)
        return _Branch(candidates, (*branch.chosen, row), branch.weight + self.weights[row], common, bound)

    def _common(self, chosen: tuple[int, ...]) -> NDArray[np.uint8]:
        return np.asarray(np.bitwise_and.reduce(self.bits[list(chosen)], axis=0), np.uint8)

    def _compatible(self, candidates: int, common: NDArray[np.uint8]) -> int:
        """The candidates that share a point with all rows chosen so far."""
        rows = _bit_numbers(candidates)
        if not len(rows):
            return 0
        shared = np.bitwise_or.reduceat(self.bits[rows] & common, self.starts, axis=1)
        fits = (shared != 0).all(axis=1)
        kept = np.zeros(int(rows[-1]) // 8 * 8 + 8, bool)
        kept[rows[fits]] = True
        return int.from_bytes(np.packbits(kept, bitorder="little").tobytes(), "little")


def _bit_numbers(mask: int) -> NDArray[np.int64]:
    raw = np.frombuffer(mask.to_bytes((mask.bit_length() + 7) // 8, "little"), np.uint8)
    return np.flatnonzero(np.unpackbits(raw, bitorder="little"))
