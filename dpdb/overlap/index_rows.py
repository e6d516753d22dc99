"""The boxes of an overlap index: their weights, their axes, and upper bounds on the weight of any point inside them.

`tops[i]` is an upper bound on what a point inside box i collects. Let the boxes be numbered by the time of their
query's newest addition, W_i all of their weight and U_i the bound proven for that newest addition: what a point inside
the query collected then, all weight until then included. A point collects at most

- U_i of the newest box that covers it: nothing was added to it later;
- what any dual bound says on its atoms (`dpdb.overlap.bounds`).

`_replayed` refines the first: walking from old to new boxes, let A(p) be the weight of the boxes seen so far that cover
p. When box s comes, A(p) grows by W_s for p in s, and is then at most U_s and at most the weight seen that meets s; so
t_i >= A(p) for all p in i stays true with t_i := max(t_i, min(t_i + W_s, top_s)) for every i that meets s.

`most_collected` is one decision: it bounds what a point inside a box collects, to compare it with the rest of the
budget.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpdb.overlap.axis import Atoms, Axis, Growing, Position, holds
from dpdb.overlap.bounds import MOST_CELLS, WideFamily, WideProblem, ascend, dual_bound, tops_of, wide_dual, wide_tops
from dpdb.overlap.branching import ValueSearch
from dpdb.overlap.instance import Deadline
from dpdb.overlap.reductions import Family, Problem, maximal_columns
from dpdb.predicates import Box, ValueSet

MOST_REPLAYED = 4096

Point = dict[str, Position]
"""A point of the domain: a place in the order of each attribute; attributes left out are anywhere."""


class IndexRows:
    """Boxes with weights; made of many at once, in the order of their queries' newest additions, or one by one.

    Parameters
    ----------
    uppers
        Per box the bound of the decision that allowed its query's newest addition; None where there was none.
    """

    def __init__(
        self, boxes: Sequence[Box] = (), weights: Sequence[int] = (), uppers: Sequence[int | None] = ()
    ) -> None:
        members: defaultdict[str, tuple[list[int], list[ValueSet]]] = defaultdict(lambda: ([], []))
        for row, box in enumerate(boxes):
            for name, values in box:
                rows, sets = members[name]
                rows.append(row)
                sets.append(values)
        self.axes = {name: Axis(*found) for name, found in members.items()}
        self._weights = Growing(weights, np.int64)
        self._tops = Growing(np.zeros(0), np.int64)
        if boxes:
            self._tops.extend(self._proven(boxes, np.array([self.total if u is None else u for u in uppers])))

    def __len__(self) -> int:
        return len(self._weights)

    def copy(self) -> IndexRows:
        """Return a copy; boxes added to it are not added to this index."""
        same = IndexRows()
        same.axes = {name: axis.copy() for name, axis in self.axes.items()}
        same._weights, same._tops = self._weights.copy(), self._tops.copy()
        return same

    @property
    def weights(self) -> NDArray[np.int64]:
        """Weight of each box."""
        return self._weights.values

    @property
    def tops(self) -> NDArray[np.int64]:
        """Upper bound on what any point inside each box collects."""
        return self._tops.values

    @property
    def total(self) -> int:
        """Sum of the weights."""
        return int(self.weights.sum())

    def add(self, box: Box, weight: int, upper: int | None) -> None:
        """Add a box.

        Parameters
        ----------
        upper
            The bound on what a point inside it collects with this weight; None where no decision has proven one.
        """
        row = len(self)
        near = self.near(box)
        top = self._rise(near, weight, upper)
        self._weights.extend([weight])
        self._tops.extend([top])
        for name, values in box:
            self.axes.setdefault(name, Axis()).add(row, values)

    def add_again(self, row: int, box: Box, weight: int, upper: int | None) -> None:
        """Add weight to the box of a row.

        Parameters
        ----------
        upper
            The bound on what a point inside the box collects with this weight; None where no decision has proven one.
        """
        near = self.near(box)
        before = int(self.tops[row])
        top = self._rise(near, weight, upper)
        self.tops[row] = min(before + weight, top)
        self.weights[row] += weight

    def near(self, box: Box, rows: int | None = None) -> NDArray[np.int64]:
        """Rows, of the first so many, that share a point with a box."""
        meeting = np.ones(len(self) if rows is None else rows, bool)
        for name, values in box:
            axis = self.axes.get(name)
            if axis is not None:
                meeting &= axis.meeting(values, len(meeting))
        return np.flatnonzero(meeting)

    def covering(self, point: Point) -> NDArray[np.int64]:
        """Rows that cover a point."""
        covered = np.ones(len(self), bool)
        for name, axis in self.axes.items():
            covered &= axis.covering(point.get(name, "low"), len(self))
        return np.flatnonzero(covered)

    def atoms(self, rows: NDArray[np.int64], box: Box = ()) -> dict[str, Atoms]:
        """Return the undominated atoms inside a box, for each attribute that restricts some of the rows."""
        inside = dict(box)
        found = {name: axis.atoms(inside.get(name), rows) for name, axis in self.axes.items()}
        return {name: atoms for name, atoms in found.items() if atoms is not None}

    def _rise(self, near: NDArray[np.int64], weight: int, upper: int | None) -> int:
        """Raise the tops of the rows that meet new weight; return the top of the box that gets it."""
        top = int(self.weights[near].sum()) + weight
        top = top if upper is None else min(top, upper)
        tops = self.tops[near]
        self.tops[near] = np.maximum(tops, np.minimum(tops + weight, top))
        return top

    def _proven(self, boxes: Sequence[Box], uppers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Tops of boxes made at once."""
        tops = np.maximum.accumulate(uppers[::-1])[::-1]
        if len(boxes) <= MOST_REPLAYED:
            return np.minimum(tops, self._replayed(boxes, uppers))
        if len(boxes) * len(self.axes) > MOST_CELLS:
            return tops
        families = tuple(WideFamily(atoms.users, atoms.table) for atoms in self.atoms(np.arange(len(boxes))).values())
        return np.minimum(tops, wide_tops(self.weights, families))

    def _replayed(self, boxes: Sequence[Box], uppers: NDArray[np.int64]) -> NDArray[np.int64]:
        tops = np.zeros(len(boxes), np.int64)
        for row, (box, weight, upper) in enumerate(zip(boxes, self.weights.tolist(), uppers.tolist(), strict=True)):
            near = self.near(box, row)
            top = min(int(self.weights[near].sum()) + weight, upper)
            tops[near] = np.maximum(tops[near], np.minimum(tops[near] + weight, top))
            tops[row] = top
        return tops


def covers(box: Box, point: Point) -> bool:
    """Return whether a box covers a point."""
    return all(holds(values, point.get(name, "low")) for name, values in box)


_FEW_ATOMS = 64  # up to here dominated atoms are looked for; an ordered attribute has few


def most_collected(rows: IndexRows, box: Box, chosen: NDArray[np.int64], room: int, end: Deadline) -> tuple[int, Point]:
    """Return an upper bound on what a point inside a box collects of some rows, and the best point found.

    The bound is improved until it is at most `room`, a point above it is found, or time is over.

    Parameters
    ----------
    rows
        All rows of the index.
    box
        Where the point must lie.
    room
        How much a point may collect.
    end
        When to stop.
    """
    atoms = rows.atoms(chosen, box)
    weights = rows.weights[chosen]
    if not _is_wide(atoms):
        return _searched(rows, atoms, weights, room, end)
    problem = _wide_problem(atoms, weights)
    upper, split = wide_dual(problem, end.share(0.4), 16, enough=room)
    if upper <= room:
        return upper, {}
    tops = tops_of(problem, split)
    cold = tops <= room  # no point inside such a row collects too much, whatever the others do
    fewer = rows.atoms(chosen[~cold], box)
    if cold.any() and not _is_wide(fewer):
        upper, point = _searched(rows, fewer, weights[~cold], room, end)
        return max(upper, int(tops[cold].max())), point
    _, choice = ascend(problem, end.share(0.3), 8, enough=room + 1)
    return upper, _point(rows, atoms, choice)


def most_of_all(rows: IndexRows, end: Deadline) -> tuple[int, Point]:
    """Bound the weight that any point collects of all rows, in time that grows with their number."""
    found = rows.atoms(np.arange(len(rows)))
    problem = _wide_problem(found, rows.weights)
    lower, choice = ascend(problem, end.share(0.3), 8)
    upper, _ = wide_dual(problem, end, 100, enough=lower)
    return upper, _point(rows, found, choice)


def _is_wide(found: dict[str, Atoms]) -> bool:
    return sum(atoms.table.cells for atoms in found.values()) > MOST_CELLS


def _wide_problem(found: dict[str, Atoms], weights: NDArray[np.int64]) -> WideProblem:
    return WideProblem(weights, 0, tuple(WideFamily(atoms.users, atoms.table) for atoms in found.values()))


def _point(rows: IndexRows, found: dict[str, Atoms], choice: dict[int, int]) -> Point:
    names = list(found)
    return {names[k]: rows.axes[names[k]].place(int(found[names[k]].places[atom])) for k, atom in choice.items()}


def _searched(
    rows: IndexRows, found: dict[str, Atoms], weights: NDArray[np.int64], room: int, end: Deadline
) -> tuple[int, Point]:
    """Do `most_collected` by branch and bound."""
    families: list[Family] = []
    searched: dict[str, Atoms] = {}
    settled: Point = {}
    for name, atoms in found.items():
        member = atoms.table.dense()
        keep = maximal_columns(member) if len(member) <= _FEW_ATOMS else np.arange(len(member))
        member = member[keep]
        if len(keep) == 1 and member.all():  # one atom suits everybody
            settled[name] = rows.axes[name].place(int(atoms.places[keep[0]]))
            continue
        searched[name] = atoms
        families.append(Family(len(families), atoms.users, member, keep))
    problem = Problem(weights, 0, tuple(families), np.zeros(len(families), np.int64))
    upper, choice = _decide(problem, room, end)
    chosen = {k: int(families[k].atoms[atom]) for k, atom in choice.items()}
    return upper, settled | _point(rows, searched, chosen)


def _decide(problem: Problem, room: int, end: Deadline) -> tuple[int, dict[int, int]]:
    """An upper bound on the overlap, good enough to compare it with `room`, and the best point found."""
    if problem.total <= room or not problem.families:
        return problem.total, {}
    upper, split = dual_bound(problem, end.share(0.4), 16, enough=room)
    if upper <= room:
        return upper, {}
    lower, choice = ascend(problem, end.share(0.3), 8, enough=room + 1)
    if lower > room:
        return upper, choice
    search = ValueSearch(problem, room, choice, end, enough=room + 1)
    return min(upper, search.run(split, upper)), search.choice
