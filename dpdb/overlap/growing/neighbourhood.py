"""One decision: bound the weight that a point inside a box collects, to compare it with the rest of the budget."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpdb.overlap.bounds.ascent import ascend
from dpdb.overlap.bounds.bound import Deadline
from dpdb.overlap.bounds.dual import dual_bound
from dpdb.overlap.bounds.wide import MOST_CELLS, WideFamily, WideProblem, tops_of, wide_dual
from dpdb.overlap.growing.axis import Atoms
from dpdb.overlap.growing.index_rows import IndexRows, Point
from dpdb.overlap.reductions import Family, Problem, maximal_columns
from dpdb.overlap.search.value_branching import ValueSearch
from dpdb.predicates import Box

__all__ = ["most_collected", "most_of_all"]

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
    chosen
        Numbers of the rows that count.
    room
        How much a point may collect.
    end
        When to stop.
    """
    found = rows.atoms(chosen, box)
    weights = rows.weights[chosen]
    if not _is_wide(found):
        return _searched(rows, found, weights, room, end)
    problem = _wide_problem(found, weights)
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
    return upper, _point(rows, found, choice)


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
