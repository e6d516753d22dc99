"""Boxes (one value set per attribute) and unions of boxes kept small, and kept disjoint when they are charged.

A union whose boxes are disjoint needs no special care later: a row lies in at most one of them, so a query that is a
union counts once however its boxes are treated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from dpdb.predicates.attribute_sets import ValueSet

__all__ = ["EVERYTHING", "Box", "disjoint", "hull", "intersection", "make_box", "meet", "one_side", "union"]

Box = tuple[tuple[str, ValueSet], ...]
"""Attribute and value set, sorted by attribute, attributes without restriction left out; `()` covers everything."""

EVERYTHING: list[Box] = [()]
"""The union that covers every row."""


def make_box(sets: Mapping[str, ValueSet]) -> Box | None:
    """The box with these value sets, None when it is empty."""
    if any(values.is_empty for values in sets.values()):
        return None
    return tuple(sorted(((name, values) for name, values in sets.items() if not values.is_everything), key=_name))


def _name(side: tuple[str, ValueSet]) -> str:
    return side[0]


def one_side(name: str, values: ValueSet) -> list[Box]:
    """The rows whose attribute lies in a set of values, as a union of at most one box."""
    box = make_box({name: values})
    return [] if box is None else [box]


def meet(one: Box, two: Box) -> Box | None:
    """The rows in both boxes, None when there are none."""
    if not one or not two:
        return one or two
    sets = dict(one)
    for name, values in two:
        sets[name] = sets[name] & values if name in sets else values
    return make_box(sets)


def hull(boxes: Iterable[Box]) -> Box:
    """One box around all the boxes (at least one): per attribute the union of their value sets."""
    around, *others = [dict(box) for box in boxes]
    for sets in others:
        around = {name: values | sets[name] for name, values in around.items() if name in sets}
    return make_box(around) or ()


def union(boxes: Iterable[Box], limit: int, too_many: Callable[[], None]) -> list[Box]:
    """The same rows in few boxes: alternatives on one attribute are one set.

    Boxes that make more than `limit` disjoint boxes become the box around them, and `too_many` is called.

    Parameters
    ----------
    boxes
        Boxes that may overlap.
    limit
        The most disjoint boxes that are kept apart.
    too_many
        Called if the boxes were replaced by the one around them.
    """
    single: dict[str, list[ValueSet]] = {}
    kept: list[Box] = []
    for box in dict.fromkeys(boxes):
        if not box:
            return EVERYTHING
        if len(box) == 1:
            single.setdefault(box[0][0], []).append(box[0][1])
        else:
            kept.append(box)
    merged = [box for name, sets in single.items() for box in one_side(name, ValueSet.union(sets))]
    if () in merged:
        return EVERYTHING
    found = merged + kept
    if len(found) > 1 and disjoint(found, limit) is None:
        too_many()
        return [hull(found)]
    return found


def intersection(parts: Sequence[list[Box]], limit: int, too_many: Callable[[], None]) -> list[Box]:
    """The rows in all of several unions, as a union; see `union`. The list is halved, so that long ones stay cheap.

    Parameters
    ----------
    parts
        The unions to intersect; none stands for all rows.
    limit, too_many
        As for `union`.
    """
    if len(parts) <= 1:
        return parts[0] if parts else EVERYTHING
    middle = len(parts) // 2
    halves = intersection(parts[:middle], limit, too_many), intersection(parts[middle:], limit, too_many)
    both = (meet(one, two) for one in halves[0] for two in halves[1])
    return union((box for box in both if box is not None), limit, too_many)


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
    """`box` without `other`: the rows outside its first side; the rows inside it but outside its second; and so on."""
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
