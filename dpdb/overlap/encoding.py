"""Encode predicates as an `Instance`: per attribute the distinct value sets, the cuts between them, undominated atoms.

Of the atoms between cuts only those are kept that no neighbour dominates (interval dominance): walking along the order,
an atom at which nothing is about to end is covered by fewer rows than the next one. A workload of 5,000 nested ranges
keeps one atom. Dropping dominated atoms changes no maximum.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdb.overlap.instance import Attribute, Instance
from dpdb.predicates import Box, Cut, Region, ValueSet, hull

__all__ = ["encode", "mixed_attributes", "relax"]

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
    distinct: dict[ValueSet, int] = {}
    by_identity: dict[int, int] = {}
    codes = np.full(rows, -1, np.int32)
    for row, values in zip(users, sets, strict=True):
        code = by_identity.get(id(values))
        if code is None:
            code = by_identity[id(values)] = distinct.setdefault(values, len(distinct))
        codes[row] = code
    found = atoms_of(list(distinct))
    if found is None:
        return None
    patterns, describe = found
    return Attribute(name, codes, patterns, lambda atom: describe(name, atom))


def atoms_of(sets: list[ValueSet]) -> tuple[NDArray[np.bool_], Callable[[str, int], str]] | None:
    """Patterns (set, atom) over the atoms no neighbour dominates, and words for each; None when there are too many.

    Atom k lies between cut k-1 and cut k; the last column, when some set has NULL, is NULL.
    """
    cuts: list[Cut] = sorted({cut for values in sets for cut in values.cuts})
    place = {cut: k for k, cut in enumerate(cuts)}
    sizes = [len(values.cuts) for values in sets]
    where = np.fromiter((place[cut] for values in sets for cut in values.cuts), np.int64, sum(sizes))
    who = np.repeat(np.arange(len(sets)), sizes)
    low = np.array([values.low for values in sets], bool)
    rank = np.arange(len(where)) - np.repeat(np.cumsum([0, *sizes[:-1]]), sizes)
    begins = low[who] ^ (rank % 2 == 0)
    starting = np.bincount(where[begins], minlength=len(cuts))
    ending = np.bincount(where[~begins], minlength=len(cuts))
    keep = np.flatnonzero(np.append(ending > 0, True) & np.insert(starting > 0, 0, True))
    nulls = np.array([values.null for values in sets], bool)
    if len(keep) * len(sets) > MOST_CELLS:
        return None
    flips = np.zeros((len(sets), len(keep)), bool)
    slot = np.searchsorted(keep, where, side="right")  # first kept atom right of the cut
    inside = slot < len(keep)
    np.logical_xor.at(flips, (who[inside], slot[inside]), True)
    patterns = np.logical_xor.accumulate(flips, axis=1) ^ low[:, None]
    if nulls.any():
        patterns = np.column_stack([patterns, nulls])
    return patterns, _Words(cuts, keep)


class _Words:
    """Describes atoms by their index."""

    def __init__(self, cuts: list[Cut], keep: NDArray[Any]) -> None:
        self.cuts = cuts
        self.keep = keep

    def __call__(self, name: str, atom: int) -> str:
        if atom == len(self.keep):
            return ValueSet.only_null().describe(name)
        k = int(self.keep[atom])
        ends = self.cuts[max(k - 1, 0) : k + 1] if k else self.cuts[:1]
        return ValueSet(tuple(ends), k == 0, False).describe(name)
