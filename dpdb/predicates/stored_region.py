"""Predicates as text in a ledger: read back without parsing SQL again, to exactly the same boxes.

What was charged for is what stays charged: a later version that reads a clause otherwise does not change the past.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

from dpdb.predicates.attribute_sets import NAN, Key, ValueSet
from dpdb.predicates.region import Region

__all__ = ["region_from_text", "region_to_text"]


def region_to_text(predicate: Region) -> str:
    """Write the boxes of a predicate; one that would not come back the same is written as every row."""
    boxes = [
        {name: [[[_key(key), side] for key, side in values.cuts], values.low, values.null] for name, values in box}
        for box in predicate.boxes
    ]
    text = json.dumps(boxes, separators=(",", ":"))
    return text if region_from_text(text).boxes == predicate.boxes else "[{}]"


def region_from_text(text: str) -> Region:
    """Read the boxes again."""
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
