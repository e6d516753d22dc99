"""Which rows a release may depend on: what its predicate covers, as disjoint boxes over the attributes of one table.

A predicate covers every row that can change the answer. A part that is not modelled (functions, casts, subqueries,
comparisons between columns, collations) covers everything and says so in `notes`; coverage is never under-stated.

A box has one value set per attribute. Unions of boxes are kept small, and are made disjoint when they are charged. A
union whose boxes are disjoint needs no special care later: a row lies in at most one of them, so a query that is a
union counts once however its boxes are treated.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from operator import itemgetter
from typing import Any

from dpdb.constraints import shortened
from dpdb.errors import PredicateError
from dpdb.names import folded
from dpdb.predicates.nodes import (
    And,
    CheckDigits,
    Column,
    Comparison,
    Constant,
    Flag,
    Leaf,
    Like,
    Literal,
    Matches,
    Membership,
    Node,
    Not,
    NullTest,
    Or,
    TermComparison,
    columns_in,
    terms_of,
)
from dpdb.predicates.value_sets import NAN, Key, Meaning, ValueSet, meaning

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
            notes = (*notes, f"an alternative over several columns is charged as a whole: {parts_words(parts)}")
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


Box = tuple[tuple[str, ValueSet], ...]
"""Attribute and value set, sorted by attribute, attributes without restriction left out; `()` covers everything."""

EVERYTHING: list[Box] = [()]
"""The union that covers every row."""


def make_box(sets: Mapping[str, ValueSet]) -> Box | None:
    """The box with these value sets, None when it is empty."""
    if any(values.is_empty for values in sets.values()):
        return None
    return tuple(
        sorted(((name, values) for name, values in sets.items() if not values.is_everything), key=itemgetter(0))
    )


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


def covered(tree: Node) -> Region:
    """Return the rows that a predicate covers; NULL and FALSE cover none.

    The boxes are around every row for which the engine may find the predicate true.

    Every node is asked twice: which rows may make it true, and which may make it false. Rows that make it NULL are in
    neither, NOT swaps the two questions, and AND and OR are intersections and unions. Both answers contain the truth: a
    leaf's by `dpdb.predicates.value_sets.meaning`, a whole tree's by induction.
    """
    reader = _Reader()
    return Region.union(reader.rows(tree, True), tuple(reader.notes))


def covered_groups(tree: Node, column: Column, keys: Sequence[Literal]) -> Region:
    """Return the rows that the groups of a column cover inside a predicate: for each key those with both.

    A key that the predicate excludes is answered with noise like the others and covers its own rows, so that no answer
    is for nothing. Keys are values of the column's type.

    Parameters
    ----------
    tree
        The predicate, as a bound tree.
    keys
        One value of the column's type for each group.
    """
    reader = _Reader()
    name = folded(column.name)
    groups = ValueSet.union([key.equal for key in reader.meanings(keys, column)])
    boxes = reader.rows(tree, True)
    inside = [both for box in boxes if (both := meet(box, ((name, groups),))) is not None]
    reached = ValueSet.union([dict(box).get(name, ValueSet.everything()) for box in boxes])
    return Region.union([*inside, *one_side(name, groups & ~reached)], tuple(reader.notes))


class _Reader:
    """One walk over a tree; collects notes about over-approximated parts."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def rows(self, tree: Node, truth: bool) -> list[Box]:  # noqa: PLR0911 - one line per kind of node
        """Boxes around all rows that may give `tree` the value `truth`."""
        match tree:
            case Constant(value):
                return EVERYTHING if value is truth else []
            case And(parts) | Or(parts):
                return self._connective(parts, truth, all_of=isinstance(tree, And) is truth)
            case Not(part):
                return self.rows(part, not truth)
            case Flag(column):
                return _side(column, ValueSet.points([int(truth)]))
            case Comparison(operator, Column() as column, literal):
                [meant] = self.meanings([literal], column)
                return _side(column, meant.compare(operator if truth else operator.negated))
            case Membership(Column() as column, literals):
                return _side(column, self._listed(column, literals, truth))
            case NullTest(Column() as column):
                return _side(column, ValueSet.only_null() if truth else ValueSet.present())
            case Like(Column() as column, _) | Matches(Column() as column, _) | CheckDigits(Column() as column, _):
                self.notes.append(f"a pattern on column {_named(column)} is taken to cover all its values except NULL")
                return _side(column, ValueSet.present())
            case TermComparison(_, Column() as left, Column() as right, _):
                self.notes.append(
                    f"a comparison of columns {_named(left)} and {_named(right)} is taken to cover all their values "
                    "except NULL"
                )
                sides = {_named(column): ValueSet.present() for column in (left, right)}
                return [make_box(sides) or ()]
            case _:
                return self._computed(tree)

    def _computed(self, leaf: Leaf) -> list[Box]:
        """Return every row, NULL or not: the values of functions are not modelled."""
        columns = dict.fromkeys(_named(column) for term in terms_of(leaf) for column in columns_in(term))
        self.notes.append(f"what is computed from column {', '.join(columns)} is taken to cover every row")
        return EVERYTHING

    def _connective(self, parts: Sequence[Node], truth: bool, *, all_of: bool) -> list[Box]:
        found = [self.rows(part, truth) for part in parts]
        if all_of:
            return intersection(found, UNION_LIMIT, self._too_many)
        return union((box for boxes in found for box in boxes), UNION_LIMIT, self._too_many)

    def _too_many(self) -> None:
        self.notes.append(TOO_MANY_PARTS)

    def _listed(self, column: Column, literals: Sequence[Literal], truth: bool) -> ValueSet:
        meant = self.meanings(literals, column)
        if truth:
            return ValueSet.union([item.equal for item in meant])
        return ValueSet.intersection([item.unequal for item in meant])

    def meanings(self, literals: Sequence[Literal], column: Column) -> list[Meaning]:
        """Return the meanings of literals on a column, with a note if some match more than their own values."""
        meant = [meaning(literal, column.type) for literal in literals]
        name = _named(column)
        for literal, found in zip(literals, meant, strict=True):
            if not found.understood:
                self.notes.append(
                    f"the order of {literal.type} is not modelled, so column {name} is covered with all its values"
                )
                break
            if found.low != found.high:
                self.notes.append(
                    f"column {name} is compared with {shortened(literal.text)} as DOUBLE, so its neighbours are covered"
                )
                break
        return meant


def _side(column: Column, values: ValueSet) -> list[Box]:
    return one_side(_named(column), values)


def _named(column: Column) -> str:
    return folded(column.name)
