"""One attribute of an overlap problem: its cuts in order, and the intervals between them of each distinct value set.

Memory is that of the cuts that the ledger's predicates mention, not atoms times rows: a set is kept once however many
rows have it, as intervals of atoms. Atom k lies between cut k-1 and cut k; an interval `start <= atom < stop` begins at
cut start-1 and ends at cut stop-1, so a new cut at place p moves every end above p by one.

`encode` writes predicates as an `Instance`. Of the atoms between cuts only those are kept that no neighbour dominates
(see `Axis.atoms`): a workload of 5,000 nested ranges keeps one. Dropping dominated atoms changes no maximum.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from dpdb.overlap.instance import Attribute, Instance, IntervalTable
from dpdb.predicates import Box, Cut, Region, ValueSet, hull


class Growing:
    """A one-dimensional array with room to spare; `values` is the part in use, and may be written to."""

    def __init__(self, values: ArrayLike, dtype: DTypeLike) -> None:
        self._room: NDArray[Any] = np.array(values, dtype)
        self._used = len(self._room)

    def __len__(self) -> int:
        return self._used

    @property
    def values(self) -> NDArray[Any]:
        """The values that were added, as a view."""
        return self._room[: self._used]

    def extend(self, values: ArrayLike) -> None:
        """Append values."""
        added = np.asarray(values, self._room.dtype)
        end = self._used + len(added)
        if end > len(self._room):
            room = np.empty(max(64, 2 * end), self._room.dtype)
            room[: self._used] = self.values
            self._room = room
        self._room[self._used : end] = added
        self._used = end

    def copy(self) -> Growing:
        """An array of its own with the same values."""
        return Growing(self.values, self._room.dtype)


Position: TypeAlias = Cut | str | None
"""A place in the order: just right of a cut, `low` for below every cut, None for NULL."""

NULL = -1
"""The atom of NULL."""


def holds(values: ValueSet, place: Position) -> bool:
    """Return whether a place belongs to a value set."""
    if place is None:
        return values.null
    if isinstance(place, str):
        return values.low
    return values.low ^ (bisect_right(values.cuts, place) % 2 == 1)


@dataclass(frozen=True, eq=False)
class Atoms:
    """Undominated atoms of one attribute for some rows: `users` are positions of rows, `places` those of the atoms."""

    users: NDArray[np.int64]
    table: IntervalTable
    places: NDArray[np.int64]


class Axis:
    """Atoms and rows of one attribute; made of many rows at once, or row by row."""

    def __init__(self, rows: Sequence[int] = (), sets: Sequence[ValueSet] = ()) -> None:
        self._sets = {values: code for code, values in enumerate(dict.fromkeys(sets))}
        self.cuts: list[Cut] = sorted({cut for values in self._sets for cut in values.cuts})
        self.kind = next((values.kind for values in self._sets if values.kind), None)
        place = {cut: number for number, cut in enumerate(self.cuts)}
        ends = [self._ends(values, [place[cut] for cut in values.cuts]) for values in self._sets]
        self._start = Growing([start for found in ends for start in found[::2]], np.int64)
        self._stop = Growing([stop for found in ends for stop in found[1::2]], np.int64)
        self._owner = Growing(np.repeat(np.arange(len(ends)), [len(found) // 2 for found in ends]), np.int64)
        self._null = Growing([values.null for values in self._sets], bool)
        codes = np.full(rows[-1] + 1 if len(rows) else 0, -1)
        codes[list(rows)] = [self._sets[values] for values in sets]
        self._codes = Growing(codes, np.int64)

    def copy(self) -> Axis:
        """An axis of its own with the same rows."""
        same = Axis()
        same._sets, same.cuts, same.kind = dict(self._sets), list(self.cuts), self.kind
        for name in ("_start", "_stop", "_owner", "_null", "_codes"):
            setattr(same, name, getattr(self, name).copy())
        return same

    def add(self, row: int, values: ValueSet) -> None:
        """Add a row, later than all others, that keeps `values`."""
        code = self._sets.get(values)
        if code is None:
            code = self._sets[values] = len(self._sets)
            self.kind = self.kind or values.kind
            ends = self._ends(values, [self._insert(cut) for cut in values.cuts])
            self._start.extend(ends[::2])
            self._stop.extend(ends[1::2])
            self._owner.extend(np.full(len(ends) // 2, code))
            self._null.extend([values.null])
        self._codes.extend(np.full(row - len(self._codes), -1))
        self._codes.extend([code])

    def meeting(self, values: ValueSet, rows: int) -> NDArray[np.bool_]:
        """Per row whether it shares a value of this attribute with `values`; rows without restriction do."""
        met = self._null.values & values.null
        met[self._owner.values[self._within(self._ranges(values))]] = True
        return self._by_row(met, rows)

    def covering(self, place: Position, rows: int) -> NDArray[np.bool_]:
        """Per row whether it covers a place."""
        if place is None:
            return self._by_row(self._null.values, rows)
        atom = 0 if isinstance(place, str) else bisect_right(self.cuts, place)
        met = np.zeros(len(self._sets), bool)
        met[self._owner.values[(self._start.values <= atom) & (atom < self._stop.values)]] = True
        return self._by_row(met, rows)

    def atoms(self, values: ValueSet | None, rows: NDArray[np.int64]) -> Atoms | None:
        """Atoms inside `values` that no neighbour dominates among `rows`; None when none of the rows is restricted.

        Walking along the order, an atom is kept where an interval of the rows has just begun and before the next one
        ends (interval dominance): any other atom is covered by no row that its neighbour is not covered by.
        """
        codes = self._codes_of(rows)
        users = np.flatnonzero(codes >= 0)
        if not len(users):
            return None
        codes = codes[users]
        everything = ValueSet.everything() if values is None else values
        wanted = np.zeros(len(self._sets), bool)
        wanted[codes] = True
        ranges = self._ranges(everything)
        mine = np.flatnonzero(wanted[self._owner.values] & self._within(ranges))
        start, stop, owner = (part.values[mine] for part in (self._start, self._stop, self._owner))
        parts = [_within_range(start, stop, owner, *ends) for ends in ranges]
        null = np.flatnonzero(wanted & self._null.values) if everything.null else np.zeros(0, np.int64)
        if len(null) or not parts:
            parts.append((np.array([NULL]), np.zeros(len(null), np.int64), np.ones(len(null), np.int64), null))
        places, starts, stops, owners = (np.concatenate(found) for found in zip(*_shifted(parts), strict=True))
        return Atoms(users, IntervalTable(len(places), starts, stops, owners, codes), places)

    def place(self, atom: int) -> Position:
        """Return where an atom begins."""
        if atom == NULL:
            return None
        return self.cuts[atom - 1] if atom else "low"

    def describe(self, name: str, place: Position) -> str:
        """Words for the atom at a place."""
        if place is None:
            return ValueSet.only_null().describe(name)
        if isinstance(place, str):
            return ValueSet(tuple(self.cuts[:1]), True, False).describe(name)
        after = bisect_right(self.cuts, place)
        return ValueSet((place, *self.cuts[after : after + 1]), False, False).describe(name)

    def _ends(self, values: ValueSet, places: list[int]) -> list[int]:
        """Starts and stops of the intervals of a set, in turn, whose cuts have these places."""
        ends = [0] if values.low else []
        ends += [place + 1 for place in places]
        return [*ends, len(self.cuts) + 1] if len(ends) % 2 else ends

    def _insert(self, cut: Cut) -> int:
        """Return the place of a cut, inserting it if it is new; cuts inserted later must be greater."""
        place = bisect_left(self.cuts, cut)
        if place == len(self.cuts) or self.cuts[place] != cut:
            self.cuts.insert(place, cut)
            self._start.values[:] += self._start.values > place
            self._stop.values[:] += self._stop.values > place
        return place

    def _ranges(self, values: ValueSet) -> list[tuple[int, int]]:
        """Ranges of atoms that meet a value set."""
        ends = [0] if values.low else []
        inside = values.low
        for cut in values.cuts:
            place = bisect_left(self.cuts, cut)
            known = place < len(self.cuts) and self.cuts[place] == cut
            ends.append(place + 1 if inside or known else place)
            inside = not inside
        if inside:
            ends.append(len(self.cuts) + 1)
        return list(zip(ends[::2], ends[1::2], strict=True))

    def _within(self, ranges: list[tuple[int, int]]) -> NDArray[np.bool_]:
        """Per interval whether it meets one of the ranges, which are ascending."""
        if len(ranges) == 1:
            [(low, high)] = ranges
            return np.asarray((self._start.values < high) & (self._stop.values > low))
        lows, highs = np.array([*ranges, (len(self.cuts) + 2,) * 2], np.int64).T
        first = np.searchsorted(highs, self._start.values, side="right")
        return np.asarray(lows[np.minimum(first, len(ranges))] < self._stop.values)

    def _codes_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The set of each of some ascending rows, -1 for none; rows added since the last restricted one have none."""
        known = int(np.searchsorted(rows, len(self._codes)))
        return np.append(self._codes.values[rows[:known]], np.full(len(rows) - known, -1))

    def _by_row(self, met: NDArray[np.bool_], rows: int) -> NDArray[np.bool_]:
        """Booleans per set as booleans per row; rows without restriction cover everything."""
        found = np.append(met, True)[self._codes.values[:rows]]
        return np.append(found, np.ones(rows - len(found), bool))


_Part: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
"""Kept atoms of one range, and the intervals (start, stop, owner) over them."""


def _within_range(
    start: NDArray[np.int64], stop: NDArray[np.int64], owner: NDArray[np.int64], low: int, high: int
) -> _Part:
    """The atoms of a range that no neighbour dominates, and the intervals in terms of them."""
    begins, ends = np.maximum(start, low), np.minimum(stop, high)
    here = begins < ends
    if not here.all():
        begins, ends, owner = begins[here], ends[here], owner[here]
    is_begin, is_end = np.zeros((2, high - low + 1), bool)
    is_begin[begins - low] = is_begin[0] = True
    is_end[ends - low] = is_end[-1] = True
    turns = np.flatnonzero(is_begin | is_end)  # between two turns all atoms are covered by the same
    places = turns[1:][is_begin[turns[:-1]] & is_end[turns[1:]]] + (low - 1)
    first, last = np.searchsorted(places, begins), np.searchsorted(places, ends)
    some = first < last
    return places, first[some], last[some], owner[some]


def _shifted(parts: list[_Part]) -> list[_Part]:
    """Return the parts with their intervals numbered consecutively."""
    shifted, before = [], 0
    for places, start, stop, owner in parts:
        shifted.append((places, start + before, stop + before, owner))
        before += len(places)
    return shifted


MOST_CELLS = 400_000_000
"""Largest table (pattern, atom) of one attribute; a larger attribute is taken to restrict nothing."""


def encode(predicates: Sequence[Region], weights: NDArray[np.int64]) -> Instance:
    """Number the atoms and rows of a workload."""
    mixed = mixed_attributes(predicates)
    row_weights: list[int] = []
    origin: list[int] = []
    members: defaultdict[str, tuple[list[int], list[ValueSet]]] = defaultdict(lambda: ([], []))
    for query, (predicate, weight) in enumerate(zip(predicates, weights.tolist(), strict=True)):
        for box in relax(predicate, mixed) if mixed else predicate.boxes:
            for name, values in box:
                rows, sets = members[name]
                rows.append(len(origin))
                sets.append(values)
            origin.append(query)
            row_weights.append(weight)
    attributes = (_attribute(name, len(origin), *members[name]) for name in sorted(members))
    return Instance(
        np.array(row_weights, np.int64), np.array(origin, np.int64), len(predicates), tuple(filter(None, attributes))
    )


def mixed_attributes(predicates: Sequence[Region]) -> frozenset[str]:
    """Attributes compared both with numbers and with text: their values have no common order."""
    members: defaultdict[str, set[ValueSet]] = defaultdict(set)
    for predicate in predicates:
        for box in predicate.boxes:
            for name, values in box:
                members[name].add(values)
    kinds = {name: {values.kind for values in found} - {None} for name, found in members.items()}
    return frozenset(name for name, found in kinds.items() if len(found) > 1)


def relax(predicate: Region, mixed: frozenset[str]) -> tuple[Box, ...]:
    """The box around a predicate with every mixed attribute reduced to NULL or not; other predicates as they are."""
    if not mixed or not predicate.attributes & mixed:
        return predicate.boxes
    boxes = [
        tuple(
            (name, values.without_values() if name in mixed else values)
            for name, values in box
            if name not in mixed or not values.without_values().is_everything
        )
        for box in predicate.boxes
    ]
    return (hull(boxes),)


def _attribute(name: str, rows: int, users: list[int], sets: list[ValueSet]) -> Attribute | None:
    axis = Axis(users, sets)
    atoms = axis.atoms(None, np.arange(rows))
    if atoms is None or atoms.table.atoms * atoms.table.sets > MOST_CELLS:
        return None
    codes = np.full(rows, -1, np.int32)
    codes[atoms.users] = atoms.table.codes
    return Attribute(
        name, codes, atoms.table.by_set(), lambda atom: axis.describe(name, axis.place(int(atoms.places[atom])))
    )
