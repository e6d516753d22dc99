"""Encode predicates as an `Instance`: per attribute the distinct value sets, the cuts between them, undominated atoms.

Of the atoms between cuts only those are kept that no neighbour dominates (see `Axis.atoms`): a workload of 5,000 nested
ranges keeps one. Dropping dominated atoms changes no maximum.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpdb.overlap.growing.axis import Axis
from dpdb.overlap.instance import Attribute, Instance
from dpdb.predicates import Box, Region, ValueSet, hull

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
    axis = Axis(users, sets)
    found = axis.atoms(None, np.arange(rows))
    if found is None or found.table.atoms * found.table.sets > MOST_CELLS:
        return None
    codes = np.full(rows, -1, np.int32)
    codes[found.users] = found.table.codes
    return Attribute(
        name, codes, found.table.by_set(), lambda atom: axis.describe(name, axis.place(int(found.places[atom])))
    )
