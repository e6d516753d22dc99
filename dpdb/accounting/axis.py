"""One attribute of an `OverlapIndex`: its cuts in order, and per atom between them the rows that cover it, as bits."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpdb.accounting.attribute_sets import Cut, ValueSet

__all__ = ["Axis", "Position", "holds"]

Position: TypeAlias = Cut | str | None
"""A place in the order: just right of a cut, `low` for below every cut, None for NULL."""


def holds(values: ValueSet, place: Position) -> bool:
    """Whether a place belongs to a value set."""
    if place is None:
        return values.null
    if isinstance(place, str):
        return values.low
    return values.low ^ (bisect_right(values.cuts, place) % 2 == 1)


class Axis:
    """Atoms and rows of one attribute; grows with every row."""

    def __init__(self) -> None:
        self.cuts: list[Cut] = []
        self.table = np.zeros((64, 32), np.uint8)  # (atom, byte of row numbers); atoms 0..len(cuts) are in use
        self.null = np.zeros(32, np.uint8)
        self.users = np.zeros(32, np.uint8)
        self.kind: str | None = None

    def add(self, row: int, values: ValueSet) -> None:
        """Add a row that keeps `values`."""
        self.kind = self.kind or values.kind
        self._reserve(row, len(self.cuts) + len(values.cuts) + 1)
        for cut in values.cuts:
            place = bisect_left(self.cuts, cut)
            if place == len(self.cuts) or self.cuts[place] != cut:
                used = len(self.cuts) + 1
                self.table[place + 1 : used + 1] = self.table[place:used].copy()
                self.cuts.insert(place, cut)
        byte, bit = row // 8, np.uint8(1 << row % 8)
        for start, stop in self._ranges(values):
            self.table[start:stop, byte] |= bit
        if values.null:
            self.null[byte] |= bit
        self.users[byte] |= bit

    def meeting(self, values: ValueSet, rows: int) -> NDArray[np.bool_]:
        """Per row whether it shares a value of this attribute with `values`; rows without restriction do."""
        met = ~self.users
        for start, stop in self._ranges(values):
            met |= np.bitwise_or.reduce(self.table[start:stop], axis=0)
        if values.null:
            met |= self.null
        return _unpack(met, rows, beyond=True)

    def covering(self, place: Position, rows: int) -> NDArray[np.bool_]:
        """Per row whether it covers a place."""
        return _unpack(~self.users | self._at(place), rows, beyond=True)

    def atoms(
        self, values: ValueSet | None, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_], list[Position]] | None:
        """Atoms inside `values` that no neighbour dominates among `rows`.

        Returns the positions in `rows` of those restricted here, booleans (atom, user) and the place of each atom; None
        when none of the rows is restricted here.
        """
        count = int(rows[-1]) + 1 if len(rows) else 0
        users = np.flatnonzero(_unpack(self.users, count)[rows]) if count else np.zeros(0, np.int64)
        if not len(users):
            return None
        everything = ValueSet.everything() if values is None else values
        ranges = self._ranges(everything)
        mask = np.zeros(self.users.shape[0] * 8, bool)
        mask[rows[users]] = True
        width = int(rows[-1]) // 8 + 1
        words = np.packbits(mask, bitorder="little")[:width]
        pieces = [self.table[start:stop, :width] & words for start, stop in ranges]
        numbers = [np.arange(start, stop) for start, stop in ranges]
        if everything.null:
            pieces.append((self.null[:width] & words)[None])
            numbers.append(np.array([-1]))
        table = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
        keep = _not_dominated(table)
        chosen = np.concatenate(numbers)[keep].tolist()
        member = np.unpackbits(table[keep], axis=1, bitorder="little")[:, rows[users]].astype(bool)
        return users, member, [self._place(atom) for atom in chosen]

    def _place(self, atom: int) -> Position:
        """Where an atom begins; -1 is NULL."""
        if atom < 0:
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

    def _at(self, place: Position) -> NDArray[np.uint8]:
        if place is None:
            return self.null
        return np.asarray(self.table[0 if isinstance(place, str) else bisect_right(self.cuts, place)], np.uint8)

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

    def _reserve(self, row: int, atoms: int) -> None:
        height, width = self.table.shape
        if atoms >= height or row // 8 >= width:
            tall = max(height, 2 * atoms) if atoms >= height else height
            wide = max(width, 2 * (row // 8 + 1)) if row // 8 >= width else width
            table = np.zeros((tall, wide), np.uint8)
            table[:height, :width] = self.table
            self.table = table
            self.null = np.append(self.null, np.zeros(wide - width, np.uint8))
            self.users = np.append(self.users, np.zeros(wide - width, np.uint8))


def _unpack(words: NDArray[np.uint8], rows: int, *, beyond: bool = False) -> NDArray[np.bool_]:
    """One boolean per row; rows added since this attribute was last restricted have no bits and are `beyond`."""
    bits = np.unpackbits(words[: -(-rows // 8)], bitorder="little")[:rows].astype(bool)
    return np.append(bits, np.full(rows - len(bits), beyond))


def _not_dominated(table: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Rows of the table that neither neighbour contains; of equal neighbours the last."""
    if len(table) < 2:
        return np.arange(len(table))
    different = np.append((table[1:] != table[:-1]).any(axis=1), True)
    kept = np.flatnonzero(different)
    rest = table[kept]
    starts = np.insert((rest[1:] & ~rest[:-1]).any(axis=1), 0, True)
    ends = np.append((rest[:-1] & ~rest[1:]).any(axis=1), True)
    return np.asarray(kept[starts & ends], np.int64)
