"""The overlap of a growing set of releases: whether one more may be answered within the budget.

overlap(Q + q) = max(overlap(Q), w + overlap of the releases that meet q, inside q), so only the neighbourhood of the
new release is looked at, and only as a decision against what is left. Two memories make most decisions cheap: points
known to be nearly full (a new release that covers one is refused at once), and per release an upper bound on what any
point inside it collects (a point inside a release with room for the new weight needs no search).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpdb.accounting.ascent import ascend
from dpdb.accounting.attribute_sets import ValueSet
from dpdb.accounting.axis import Axis, Position, holds
from dpdb.accounting.bound import Bound, Deadline, Witness
from dpdb.accounting.boxes import Box
from dpdb.accounting.dual import dual_bound
from dpdb.accounting.encoding import mixed_attributes, relax
from dpdb.accounting.instance import MOST_WEIGHT
from dpdb.accounting.overlap import maximum_overlap
from dpdb.accounting.predicates import Predicate
from dpdb.accounting.reductions import Family, Problem, maximal_columns
from dpdb.accounting.value_branching import ValueSearch
from dpdb.errors import ParameterError

__all__ = ["Decision", "OverlapIndex"]

_MOST_POINTS = 150
_FEW_ATOMS = 64  # up to here dominated atoms are looked for; an ordered attribute has few

Point = dict[str, Position]
"""A point of the domain: a place in the order of each attribute; attributes left out are anywhere."""


@dataclass(frozen=True)
class Decision:
    """Whether one more release stays within a budget.

    Parameters
    ----------
    allowed
        Only when it is proven that no row collects more than the budget.
    upper
        A safe upper bound on what a row covered by the new release collects with it.
    lower
        What the witness collects with the new release.
    witness
        A row region that collects `lower`: above the budget for a certain refusal.
    """

    allowed: bool
    upper: int
    lower: int
    witness: Witness | None


class OverlapIndex:
    """Queries and weights of a ledger, ready for the next decision.

    Every decision is safe: an undecided one (deadline) is a refusal. Queries are only added, never removed.
    """

    def __init__(self, queries: Sequence[tuple[Predicate, int]] = ()) -> None:
        self._clear()
        self._queries: list[tuple[Predicate, int]] = []
        self._mixed: frozenset[str] = frozenset()
        for predicate, weight in queries:
            self.add(predicate, weight)

    def __len__(self) -> int:
        return len(self._queries)

    @property
    def total(self) -> int:
        """Sum of all weights: the cost without parallel composition."""
        return sum(weight for _, weight in self._queries)

    def bound(self, deadline: float = 10.0) -> Bound:
        """Bounds on the overlap of everything added so far, no worse than what the decisions have proven."""
        predicates = [predicate for predicate, _ in self._queries]
        found = maximum_overlap(predicates, [weight for _, weight in self._queries], deadline=deadline)
        proven = int(self._tops.max(initial=0))
        return replace(found, upper=max(found.lower, min(found.upper, proven)))

    def would_exceed(self, query: Predicate, weight: int, budget: int, deadline: float = 0.1) -> Decision:
        """Decide whether `query` may be added: whether no row inside it would collect more than `budget`.

        The overlap of the queries already added is not looked at again; if each of them was allowed under the same or
        a smaller budget, the whole set stays within it. A column without declared type that is asked about with numbers
        and with text tells only NULL from values from then on.

        Raises
        ------
        ParameterError
            The weight is not a non-negative integer.
        """
        _check(weight)
        self._settle(query)
        end = Deadline(deadline)
        if weight > budget:
            return Decision(False, self.total + weight, weight, Witness(dict(enumerate_words(query)), ()))
        upper, lower, witness = weight, weight, None
        for box in relax(query, self._mixed):
            found = self._inside(box, weight, budget, end)
            upper = max(upper, found.upper)
            if witness is None or found.lower > lower:
                lower, witness = found.lower, found.witness
            if not found.allowed:
                return Decision(False, upper, lower, witness)
        return Decision(True, upper, lower, witness)

    def add(self, query: Predicate, weight: int, upper: int | None = None) -> None:
        """Add a query.

        `upper` is the bound of the decision that allowed it, made with nothing added in between; None when there was
        none.

        Raises
        ------
        ParameterError
            The weight is not a non-negative integer, or the total becomes too large.
        """
        _check(weight)
        if self._total + weight > MOST_WEIGHT:
            raise ParameterError(f"the charges sum to more than {MOST_WEIGHT}; use a coarser unit of charge")
        self._settle(query)
        self._queries.append((query, weight))
        for box in relax(query, self._mixed):
            self._add_box(box, len(self._queries) - 1, weight, upper)

    def _clear(self) -> None:
        self._axes: dict[str, Axis] = {}
        self._weights = np.zeros(0, np.int64)
        self._tops = np.zeros(0, np.int64)
        self._origin: list[int] = []
        self._points: list[tuple[int, Point]] = []
        self._total = 0

    def _settle(self, query: Predicate) -> None:
        """Start again when an attribute turns out to be compared with numbers and with text."""
        kinds = [(name, values.kind) for box in query.boxes for name, values in box if values.kind]
        if all(
            name in self._mixed or name not in self._axes or self._axes[name].kind in (None, kind)
            for name, kind in kinds
        ):
            return
        known = [predicate for predicate, _ in self._queries]
        self._mixed |= mixed_attributes([*known, query])
        self._clear()
        for number, (predicate, weight) in enumerate(self._queries):
            for box in relax(predicate, self._mixed):
                self._add_box(box, number, weight, None)

    def _add_box(self, box: Box, query: int, weight: int, upper: int | None) -> None:
        row = len(self._origin)
        near = self._near(box, row)
        top = int(self._weights[near].sum()) + weight
        top = top if upper is None else min(top, upper)
        self._tops[near] = np.maximum(self._tops[near], np.minimum(self._tops[near] + weight, top))
        self._origin.append(query)
        self._weights = np.append(self._weights, weight)
        self._tops = np.append(self._tops, top)
        self._total += weight
        for name, values in box:
            self._axes.setdefault(name, Axis()).add(row, values)
        self._points = [(mass + weight * _covers(box, point), point) for mass, point in self._points]

    def _near(self, box: Box, rows: int) -> NDArray[np.int64]:
        """Rows that share a point with the box."""
        meeting = np.ones(rows, bool)
        for name, values in box:
            axis = self._axes.get(name)
            if axis is not None:
                meeting &= axis.meeting(values, rows)
        return np.flatnonzero(meeting)

    def _inside(self, box: Box, weight: int, budget: int, end: Deadline) -> Decision:
        """The decision for one box of a query."""
        for mass, point in self._points:
            if mass + weight > budget and _covers(box, point):
                return Decision(False, self._total + weight, mass + weight, self._witness(point))
        near = self._near(box, len(self._origin))
        together = int(self._weights[near].sum())
        if together + weight <= budget:
            return Decision(True, together + weight, weight, None)
        hot = near[self._tops[near] + weight > budget]
        cold_top = int(self._tops[near].max(where=self._tops[near] + weight <= budget, initial=0))
        problem, places, settled = self._problem(box, hot)
        room = budget - weight
        upper, choice = _decide(problem, room, end)
        point = {**{name: _first(values) for name, values in box}, **settled}
        point |= {places[k][0]: places[k][1][atom] for k, atom in choice.items()}
        lower = self._remember(point)
        upper = max(upper, cold_top)
        return Decision(upper <= room, upper + weight, lower + weight, self._witness(point))

    def _problem(self, box: Box, rows: NDArray[np.int64]) -> tuple[Problem, list[tuple[str, list[Position]]], Point]:
        """The rows as a problem inside the box, where the atoms of its families lie, and what needs no choice."""
        inside = dict(box)
        families: list[Family] = []
        places: list[tuple[str, list[Position]]] = []
        settled: Point = {}
        for name, axis in self._axes.items():
            found = axis.atoms(inside.get(name), rows)
            if found is None:
                continue
            users, member, positions = found
            keep = maximal_columns(member) if len(member) <= _FEW_ATOMS else np.arange(len(member))
            member = member[keep]
            if len(keep) == 1 and member.all():
                settled[name] = positions[int(keep[0])]
                continue
            places.append((name, [positions[atom] for atom in keep.tolist()]))
            families.append(Family(len(families), users, member, np.arange(len(keep))))
        problem = Problem(self._weights[rows], 0, tuple(families), np.zeros(len(families), np.int64))
        return problem, places, settled

    def _remember(self, point: Point) -> int:
        """Keep a point for later refusals; returns what it collects."""
        mass = int(self._weights[self._covering(point)].sum())
        if all(known != point for _, known in self._points):
            self._points.append((mass, point))
            self._points.sort(key=lambda pair: -pair[0])
            del self._points[_MOST_POINTS:]
        return mass

    def _covering(self, point: Point) -> NDArray[np.int64]:
        covered = np.ones(len(self._origin), bool)
        for name, axis in self._axes.items():
            covered &= axis.covering(point.get(name, "low"), len(self._origin))
        return np.flatnonzero(covered)

    def _witness(self, point: Point) -> Witness:
        region = {name: self._axes[name].describe(name, place) for name, place in point.items() if name in self._axes}
        rows = self._covering(point)
        return Witness(region, tuple(sorted({self._origin[row] for row in rows.tolist()})))


def _check(weight: int) -> None:
    if int(weight) != weight or weight < 0:
        raise ParameterError(f"a weight is a charge in whole units and cannot be {weight!r}; round it up first")


def enumerate_words(query: Predicate) -> list[tuple[str, str]]:
    """Words for the first box of a predicate, attribute by attribute."""
    return [(name, values.describe(name)) for name, values in (query.boxes[0] if query.boxes else ())]


def _covers(box: Box, point: Point) -> bool:
    return all(holds(values, point.get(name, "low")) for name, values in box)


def _first(values: ValueSet) -> Position:
    """Some place inside a value set."""
    if values.low:
        return "low"
    return values.cuts[0] if values.cuts else None


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
