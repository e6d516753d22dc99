"""Branch and bound for the maximum overlap: over values, over queries as bitsets, and over cliques of the query graph.

`ValueSearch` is for dense sets over few attributes, `QuerySearch` for sparse sets; `CliqueSearch` is the paper's own
(paper B, section 5).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpdb.overlap.bounds import Split, improve, scale_for
from dpdb.overlap.compact import MOST_CELLS, CompactSearch, Side, cells, is_ready
from dpdb.overlap.instance import Deadline, coverage
from dpdb.overlap.reductions import Problem, maximal_columns

_ROOT_STEPS = 40
_NODE_STEPS = 24

_PATIENCE = 20
"""Nodes after which a search is a long one, and machine code is worth its loading."""


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

    Fix one attribute to an atom, keep the rows that cover it, bound the rest by the dual.

    Made for dense sets over few attributes. Each node improves the split it inherits; the split also tells which atoms
    can still be part of a better point (mass plus the other maxima above the incumbent), the others are dropped on all
    attributes at once. If interrupted, the largest bound among the open nodes is still an upper bound.

    Parameters
    ----------
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
        self.nodes = 0

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
        self.nodes += 1
        if self.nodes > _PATIENCE and cells(node.sides) <= MOST_CELLS and is_ready(self.deadline):
            return self._bound_compactly(node)
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

    def _bound_compactly(self, node: _Node) -> int:
        """The same by machine code, all of what is below the node at once."""
        constant, place = self.problem.constant, self._places(node.rows)
        sides = [(family, place[users], member, atoms) for family, users, member, atoms in node.sides]
        below = CompactSearch(
            self.weights[node.rows].astype(np.int64),
            sides,
            node.shares,
            families=len(self.problem.families),
            scale=self.scale,
            deadline=self.deadline,
            best=self.best - constant,
            enough=None if self.enough is None else self.enough - constant,
        )
        upper = constant + below.run(node.rows, node.bound - constant)
        if below.settled is not None:
            self.best = constant + below.best
            self.choice = node.fixed | {k: atom for k, atom in enumerate(below.settled.tolist()) if atom >= 0}
        return upper

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


class QuerySearch:
    """One search over one problem; afterwards `best` is the incumbent and `rows` the rows that share its point.

    Every point is searched from its last row.

    Rows are put in degeneracy order; then overlap = max over rows of (its weight + overlap of its later neighbours).
    The neighbourhoods are small when overlaps are rare. They are searched from the largest bound down, so that at any
    moment the largest bound not yet searched is an upper bound.
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
            first, second = np.nonzero(np.triu(graph, 1))
            pairs = first, second
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
    parts = []
    while left.any():
        reached = np.zeros(len(graph), bool)
        frontier = np.array([int(left.argmax())])
        reached[frontier] = True
        while len(frontier):
            near = graph[frontier].any(axis=0) & ~reached
            frontier = np.flatnonzero(near)
            reached |= near
        left &= ~reached
        parts.append(np.flatnonzero(reached))
    return parts


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

    The heaviest clique of the query graph is searched by Algorithm 1 (paper B, section 5), pruned by colouring.

    An edge joins two rows that overlap, attribute by attribute. As printed, lines 14 and 16 of the algorithm return and
    pass B where B' is meant, which loses the best clique of the first branch and underestimates; here one incumbent is
    shared by all branches. With `joint`, a clique counts only while its rows share a point (section 6.2), which makes
    the result the maximum overlap itself.

    An interrupted clique search is not safe by its incumbent: the bound returned covers every branch left open.

    Parameters
    ----------
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
