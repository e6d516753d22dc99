"""Predicates of releases: which rows a release may depend on, as disjoint boxes over the attributes of one table.

A predicate covers every row that can change the answer. A part that is not modelled (functions, casts, subqueries,
comparisons between columns, collations) covers everything and says so in `notes`; coverage is never under-stated.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dpdb.errors import PredicateError
from dpdb.names import folded
from dpdb.predicates.attribute_sets import NAN, Key, ValueSet
from dpdb.predicates.boxes import Box, disjoint, hull, make_box, meet

__all__ = ["TOO_MANY_PARTS", "UNION_LIMIT", "Region", "region_from_text", "region_to_text"]

UNION_LIMIT = 24
"""Most disjoint boxes one predicate is split into; a larger union is charged as the box around it."""

TOO_MANY_PARTS = "an OR over several columns has too many parts and is charged as the box around them"
"""A note on such a union."""


@dataclass(frozen=True)
class Region:
    """The rows one release covers.

    Parameters
    ----------
    boxes
        Pairwise disjoint boxes; none for a contradiction, one empty tuple for everything.
    notes
        What was over-approximated, as sentences for `explain`.
    text
        The clause it was read from.
    """

    boxes: tuple[Box, ...] = ((),)
    notes: tuple[str, ...] = ()
    text: str = field(default="", compare=False)

    @staticmethod
    def of(sets: Mapping[str, ValueSet]) -> Region:
        """The conjunction of one value set per attribute."""
        box = make_box({folded(name): values for name, values in sets.items()})
        return Region(() if box is None else (box,))

    @staticmethod
    def union(boxes: list[Box], notes: tuple[str, ...] = (), text: str = "") -> Region:
        """The union of boxes that may overlap; a union that is too large becomes the box around it, with a note.

        Parameters
        ----------
        boxes
            Boxes that may overlap.
        notes
            Notes that the region keeps, before its own.
        text
            The predicate as text. Default: none.
        """
        parts = disjoint(boxes, UNION_LIMIT)
        if parts is None:
            parts = [hull(boxes)]
            notes = (
                *notes,
                f"an alternative over several columns is charged as a whole: {parts_words(parts)}",
            )
        return Region(tuple(parts), tuple(dict.fromkeys(notes)), text)

    @property
    def covers_everything(self) -> bool:
        """Return whether every possible row is covered."""
        return () in self.boxes

    @property
    def is_contradiction(self) -> bool:
        """Return whether no row is covered."""
        return not self.boxes

    @property
    def attributes(self) -> frozenset[str]:
        """The attributes that are restricted."""
        return frozenset(name for box in self.boxes for name, _ in box)

    def refuse_no_row(self) -> None:
        """Raise `PredicateError` if no row is covered: nothing would be charged, and nothing is free."""
        if self.is_contradiction:
            raise PredicateError("the predicate selects no row, whatever the table holds; nothing was spent")

    def __and__(self, other: Region) -> Region:
        """Rows covered by both, as when a slice of public keys is taken inside a WHERE clause."""
        boxes = [both for mine in self.boxes for theirs in other.boxes if (both := meet(mine, theirs)) is not None]
        return Region.union(boxes, self.notes + other.notes)

    def overlaps(self, other: Region) -> bool:
        """Return whether some row is covered by both (paper B, Proposition 3: attribute by attribute)."""
        return any(meet(mine, theirs) is not None for mine in self.boxes for theirs in other.boxes)

    def covers(self, row: Mapping[str, Any]) -> bool:
        """Return whether a row, given as attribute -> value with None for NULL, is covered."""
        return any(all(row.get(name) in values for name, values in box) for box in self.boxes)

    def describe(self) -> str:
        """The covered region, in SQL words."""
        return parts_words(list(self.boxes))


def parts_words(boxes: list[Box]) -> str:
    """A union of boxes in SQL words."""
    if not boxes:
        return "no row"
    words = [" and ".join(_side_words(name, values) for name, values in box) or "every row" for box in boxes[:4]]
    if len(boxes) > 4:
        words.append(f"{len(boxes) - 4} more boxes")
    return " or ".join(f"({word})" for word in words) if len(words) > 1 else words[0]


def _side_words(name: str, values: ValueSet) -> str:
    words = values.describe(name)
    return f"({words})" if " or " in words else words


def region_to_text(predicate: Region) -> str:
    """Write the boxes of a predicate; a region that would not be read back the same is written as every row.

    Ledgers keep this text: charged rows stay charged, also if a later version reads a clause otherwise.
    """
    boxes = [
        {name: [[[_key(key), side] for key, side in values.cuts], values.low, values.null] for name, values in box}
        for box in predicate.boxes
    ]
    text = json.dumps(boxes, separators=(",", ":"))
    return text if region_from_text(text).boxes == predicate.boxes else "[{}]"


def region_from_text(text: str) -> Region:
    """Read the boxes that `region_to_text` wrote."""
    boxes: list[dict[str, Any]] = json.loads(text)
    return Region(
        tuple(
            tuple(
                (name, ValueSet(tuple((_read(key), bool(side)) for key, side in cuts), bool(low), bool(null)))
                for name, (cuts, low, null) in box.items()
            )
            for box in boxes
        )
    )


def _key(key: Key) -> str | int | dict[str, str]:
    """Text and whole numbers are themselves; fractions, infinities and NaN are words in an object."""
    if key is NAN:
        return {"float": "nan"}
    if isinstance(key, str):
        return key
    if isinstance(key, float) and math.isinf(key):
        return {"float": "inf" if key > 0 else "-inf"}
    exact = Fraction(key)
    return exact.numerator if exact.denominator == 1 else {"fraction": str(exact)}


def _read(word: str | int | dict[str, str]) -> Key:
    if not isinstance(word, dict):
        return word
    if "fraction" in word:
        return Fraction(word["fraction"])
    return NAN if word["float"] == "nan" else float(word["float"])
