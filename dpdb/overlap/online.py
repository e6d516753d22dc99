"""The overlap of a growing set of releases: whether one more may be answered within the budget.

overlap(Q + q) = max(overlap(Q), w + overlap of the releases that meet q, inside q), so only the neighbourhood of the
new release is searched, and only to compare it with the rest of the budget. Two memories make decisions cheap: points
known to be nearly full (a new release that covers one is refused at once), and per release an upper bound on what any
point inside it collects (a point inside a release with room for the new weight needs no search). Releases of the same
rows are one query with all their weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from dpdb.errors import ParameterError
from dpdb.overlap.axis import Growing, Position, mixed_attributes, relax
from dpdb.overlap.index_rows import IndexRows, Point, covers, most_collected, most_of_all
from dpdb.overlap.instance import MOST_WEIGHT, Bound, Deadline, Witness
from dpdb.overlap.solver import maximum_overlap
from dpdb.predicates import Box, Region, ValueSet

_MOST_POINTS = 150
MOST_SEARCHED = 3000
"""Most rows whose overlap is searched for; of more it is bounded."""


@dataclass(frozen=True)
class Decision:
    """The decision whether one more release stays within a budget.

    Parameters
    ----------
    allowed
        True only if it is proven that no row collects more than the budget.
    upper
        A safe upper bound on the weight that a row covered by the new release collects with it.
    lower
        The weight that the witness collects with the new release.
    witness
        A row region that collects `lower`: above the budget for a certain refusal.
    """

    allowed: bool
    upper: int
    lower: int
    witness: Witness | None


@dataclass(frozen=True)
class Added:
    """All additions of one set of rows: their total weight, the number of releases, and the newest one's `upper`."""

    query: Region
    weight: int
    upper: int | None = None
    releases: int = 1


class OverlapIndex:
    """Queries and weights of a ledger, ready for the next decision.

    Every decision is safe: an undecided one (deadline) is a refusal. Queries are only added, never removed.
    """

    def __init__(self, queries: Sequence[tuple[Region, int]] = ()) -> None:
        self._mixed: frozenset[str]
        self._queries: list[Region]
        self._weights: list[int]
        self._releases: list[int]
        self._numbers: dict[tuple[Box, ...], int]
        self._first: list[int]  # first row of each query
        self._origin: Growing  # query of each row
        self._rows: IndexRows
        self._points: list[tuple[int, Point]]
        self._fill([], frozenset())
        for predicate, weight in queries:
            self.add(predicate, weight)

    @classmethod
    def of(cls, known: Iterable[Added]) -> OverlapIndex:
        """Make an index of many queries at once, in the order in which each was added last."""
        made = cls()
        queries = list(known)
        made._fill(queries, mixed_attributes([added.query for added in queries]))
        return made

    def copy(self) -> OverlapIndex:
        """Return a copy; queries added to it are not added to this index."""
        same = OverlapIndex()
        same._mixed, same._rows, same._origin = self._mixed, self._rows.copy(), self._origin.copy()
        same._queries, same._weights, same._releases = list(self._queries), list(self._weights), list(self._releases)
        same._numbers, same._first, same._points = dict(self._numbers), list(self._first), list(self._points)
        return same

    def __len__(self) -> int:
        return sum(self._releases)

    def __bool__(self) -> bool:
        return bool(self._queries)

    @property
    def queries(self) -> Sequence[Region]:
        """The queries that were added, each once."""
        return self._queries

    @property
    def total(self) -> int:
        """Sum of all weights: the cost without parallel composition."""
        return sum(self._weights)

    def releases(self, queries: Iterable[int]) -> int:
        """Return how many releases some queries stand for."""
        return sum(self._releases[query] for query in queries)

    def bound(self, deadline: float = 10.0) -> Bound:
        """Bound the overlap of all queries added so far, no worse than the decisions have proven."""
        proven = int(self._rows.tops.max(initial=0))
        if len(self._rows) <= MOST_SEARCHED:
            overlap = maximum_overlap(self._queries, self._weights, deadline=deadline)
        else:
            upper, point = most_of_all(self._rows, Deadline(deadline))
            lower, witness = self._collected(point)
            overlap = Bound(lower, upper, witness)
        return Bound(overlap.lower, max(overlap.lower, min(overlap.upper, proven)), overlap.witness, overlap.method)

    def would_exceed(self, query: Region, weight: int, budget: int, deadline: float = 0.1) -> Decision:
        """Decide whether `query` may be added: whether no row inside it would collect more than `budget`.

        The overlap of the queries already added is not looked at again; if each of them was allowed under the same or
        a smaller budget, the whole set stays within it. Once queries compare a column without declared type with
        numbers and with text, the index tells only NULL from values there.

        Parameters
        ----------
        weight
            Its charge, an integer of at least 0.
        budget
            The most that a row may collect, in the unit of the weights.
        deadline
            Seconds; a decision that is still open then is a refusal.

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
            decision = self._inside(box, weight, budget, end)
            upper = max(upper, decision.upper)
            if witness is None or decision.lower > lower:
                lower, witness = decision.lower, decision.witness
            if not decision.allowed:
                return Decision(False, upper, lower, witness)
        return Decision(True, upper, lower, witness)

    def add(self, query: Region, weight: int, upper: int | None = None) -> None:
        """Add a query.

        Parameters
        ----------
        weight
            Its charge, an integer of at least 0.
        upper
            The bound of the decision that allowed it, made with nothing added in between; None when there was none.
        """
        _check(weight)
        if self._rows.total + weight > MOST_WEIGHT:
            raise ParameterError(f"the charges sum to more than {MOST_WEIGHT}; use a coarser unit of charge")
        self._settle(query)
        boxes = relax(query, self._mixed)
        number = self._numbers.get(query.boxes)
        if number is None:
            number = self._numbers[query.boxes] = len(self._queries)
            self._queries.append(query)
            self._weights.append(weight)
            self._releases.append(1)
            self._first.append(len(self._origin))
            self._origin.extend([number] * len(boxes))
            for box in boxes:
                self._rows.add(box, weight, upper)
        else:
            self._weights[number] += weight
            self._releases[number] += 1
            for row, box in enumerate(boxes, self._first[number]):
                self._rows.add_again(row, box, weight, upper)
        for box in boxes:
            self._points = [(mass + weight * covers(box, point), point) for mass, point in self._points]

    def _fill(self, known: Sequence[Added], mixed: frozenset[str]) -> None:
        """Begin with some queries."""
        self._mixed = mixed
        self._queries = [added.query for added in known]
        self._weights = [added.weight for added in known]
        self._releases = [added.releases for added in known]
        self._numbers = {added.query.boxes: number for number, added in enumerate(known)}
        self._points = []
        boxes = [relax(added.query, mixed) for added in known]
        sizes = [len(found) for found in boxes]
        self._first = [0, *accumulate(sizes)][:-1]
        origin = np.repeat(np.arange(len(known)), sizes)
        self._origin = Growing(origin, np.int64)
        rows = [known[number] for number in origin.tolist()]
        self._rows = IndexRows(
            [box for found in boxes for box in found], [row.weight for row in rows], [row.upper for row in rows]
        )

    def _settle(self, query: Region) -> None:
        """Rebuild the index if the query makes an attribute one that is compared with numbers and with text."""
        axes = self._rows.axes
        kinds = [(name, values.kind) for box in query.boxes for name, values in box if values.kind]
        if all(name in self._mixed or name not in axes or axes[name].kind in (None, kind) for name, kind in kinds):
            return
        known = [
            Added(predicate, weight, None, releases)
            for predicate, weight, releases in zip(self._queries, self._weights, self._releases, strict=True)
        ]
        self._fill(known, self._mixed | mixed_attributes([*self._queries, query]))

    def _inside(self, box: Box, weight: int, budget: int, end: Deadline) -> Decision:
        """The decision for one box of a query."""
        for mass, point in self._points:
            if mass + weight > budget and covers(box, point):
                return Decision(False, self._rows.total + weight, mass + weight, self._collected(point)[1])
        near = self._rows.near(box)
        together = int(self._rows.weights[near].sum())
        if together + weight <= budget:
            return Decision(True, together + weight, weight, None)
        tops = self._rows.tops[near]
        is_hot = tops + weight > budget
        room = budget - weight
        upper, found = most_collected(self._rows, box, near[is_hot], room, end)
        point = {name: _first(values) for name, values in box} | found
        lower, witness = self._collected(point)
        self._remember(lower, point)
        upper = max(upper, int(tops[~is_hot].max(initial=0)))
        return Decision(upper <= room, upper + weight, lower + weight, witness)

    def _remember(self, mass: int, point: Point) -> None:
        """Keep a point and the weight that it collects for later refusals."""
        if (mass, point) not in self._points:
            self._points.append((mass, point))
            self._points.sort(key=lambda pair: -pair[0])
            del self._points[_MOST_POINTS:]

    def _collected(self, point: Point) -> tuple[int, Witness]:
        """Return the weight that a point collects, and the queries that cover it."""
        axes = self._rows.axes
        rows = self._rows.covering(point)
        region = {name: axes[name].describe(name, place) for name, place in point.items() if name in axes}
        queries = np.unique(self._origin.values[rows])
        return int(self._rows.weights[rows].sum()), Witness(region, tuple(queries.tolist()))


def _check(weight: int) -> None:
    if int(weight) != weight or weight < 0:
        raise ParameterError(f"a weight is a charge in whole units and cannot be {weight!r}; round it up first")


def enumerate_words(query: Region) -> list[tuple[str, str]]:
    """Words for the first box of a predicate, attribute by attribute."""
    return [(name, values.describe(name)) for name, values in (query.boxes[0] if query.boxes else ())]


def _first(values: ValueSet) -> Position:
    """Some place inside a value set."""
    if values.low:
        return "low"
    return values.cuts[0] if values.cuts else None
