"""The rows that a bound predicate covers: boxes around every row for which the engine may find it true.

Every node is asked twice: which rows may make it true, and which may make it false. Rows that make it NULL are in
neither, NOT swaps the two questions, and AND and OR are intersections and unions. Both answers contain the truth: a
leaf's by `dpdb.predicates.places.meaning`, a whole tree's by induction.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpdb.constraints import shortened
from dpdb.names import folded
from dpdb.predicates.attribute_sets import ValueSet
from dpdb.predicates.boxes import EVERYTHING, Box, intersection, make_box, meet, one_side, union
from dpdb.predicates.nodes import (
    And,
    Column,
    Comparison,
    Constant,
    Flag,
    Leaf,
    Like,
    Literal,
    Membership,
    Node,
    Not,
    NullTest,
    Or,
    TermComparison,
    columns_in,
    terms_of,
)
from dpdb.predicates.places import Meaning, meaning
from dpdb.predicates.region import TOO_MANY_PARTS, UNION_LIMIT, Region

__all__ = ["covered", "covered_groups"]


def covered(tree: Node) -> Region:
    """Return the rows that a predicate covers; NULL and FALSE cover none."""
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
    column
        The column of the groups.
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
            case Like(Column() as column, _):
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
