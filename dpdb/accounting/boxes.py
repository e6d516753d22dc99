"""Boxes (one value set per attribute) and unions of boxes kept small, and kept disjoint when they are charged.

A union whose boxes are disjoint needs no special care later: a row lies in at most one of them, so a query that is a
union counts once however its boxes are treated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dpdb.accounting.attribute_sets import ValueSet

__all__ = ["Box", "disjoint", "hull", "make_box", "meet"]

Box = tuple[tuple[str, ValueSet], ...]
"""Attribute and value set, sorted by attribute, attributes without restriction left out; `()` covers everything."""


def make_box(sets: Mapping[str, ValueSet]) -> Box | None:
    """The box with these value sets, None when it is empty."""
    if any(values.is_empty for values in sets.values()):
        return None
    return tuple(sorted(((name, values) for name, values in sets.items() if not values.is_everything), key=_name))


def _name(side: tuple[str, ValueSet]) -> str:
    return side[0]


def meet(one: Box, two: Box) -> Box | None:
    """The rows in both boxes, None when there are none."""
    if not one or not two:
        return one or two
    sets = dict(one)
    for name, values in two:
        sets[name] = sets[name] & values if name in sets else values
    return make_box(sets)


def hull(boxes: Iterable[Box]) -> Box:
    """One box around all the boxes (at least one): per attribute the union of what each leaves."""
    around, *others = [dict(box) for box in boxes]
    for sets in others:
        around = {name: values | sets[name] for name, values in around.items() if name in sets}
    return make_box(around) or ()


def disjoint(boxes: Sequence[Box], limit: int) -> list[Box] | None:
    """The same rows as disjoint boxes, None when that takes more than `limit` of them."""
    done: list[Box] = []
    for box in dict.fromkeys(boxes):
        rest = [box]
        for other in done:
            rest = [piece for part in rest for piece in _minus(part, other)]
            if len(done) + len(rest) > limit:
                return None
        done += rest
    return done if len(done) <= limit else None


def _minus(box: Box, other: Box) -> list[Box]:
    """`box` without `other`: what lies outside its first side; inside that and outside its second; and so on."""
    if meet(box, other) is None:
        return [box]
    pieces: list[Box] = []
    for name, values in other:
        outside = meet(box, ((name, ~values),)) if not values.is_everything else None
        if outside is not None:
            pieces.append(outside)
        inside = meet(box, ((name, values),))
        if inside is None:
            break
        box = inside
    return pieces
