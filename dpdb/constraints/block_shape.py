"""The shapes of constraints whose conflicts need not be listed, in a normal form: conditions and compared columns.

A pair of rows is in conflict if it violates the constraint in one of its two orders. So few kinds of comparisons of a
column with itself are left; each step says why it changes no conflict.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpdb.constraints.denial import DenialConstraint
from dpdb.constraints.predicate import Operator, Predicate

__all__ = [
    "BlockShape",
    "OrderedColumns",
    "between_tuples",
    "block_shape",
    "column_signs",
    "compares_every_pair",
    "row_conditions",
]

_EQUAL, _UNEQUAL = Operator.EQ.signs, Operator.NE.signs


@dataclass(frozen=True, slots=True)
class OrderedColumns:
    """Two columns that must not order two rows in opposite ways (`opposite`), or not in the same way.

    Parameters
    ----------
    first, second
        Different names, sorted.
    first_ties, second_ties
        Whether rows equal in the column count as ordered in either way (`<=`).
    """

    first: str
    second: str
    opposite: bool
    first_ties: bool
    second_ties: bool


@dataclass(frozen=True, slots=True)
class BlockShape:
    """Two rows conflict iff one meets `first` and the other `second`, and what follows holds; NULL meets nothing.

    Parameters
    ----------
    equal
        Sorted columns in which they are equal.
    known
        Sorted columns that have a value in both, whatever it is.
    differing
        At most two sorted columns, in all of which they differ. None if there is an `order`.
    order
        Two columns that order them.
    first, second
        Positions of the constraint's predicates that read t1 alone, and t2 alone.
    alike
        Whether `first` and `second` say the same, so that both rows meet one condition.
    """

    equal: tuple[str, ...]
    known: tuple[str, ...]
    differing: tuple[str, ...]
    order: OrderedColumns | None
    first: tuple[int, ...]
    second: tuple[int, ...]
    alike: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are compared between the rows."""
        ordered = () if self.order is None else (self.order.first, self.order.second)
        return (*self.equal, *self.known, *self.differing, *ordered)

    @property
    def is_conditional(self) -> bool:
        """Whether rows must meet a condition."""
        return bool(self.first or self.second)

    @property
    def differences(self) -> int:
        """The number of ways in which the rows must differ; conditions that are not alike are one."""
        return len(self.differing) + (not self.alike)

    def __str__(self) -> str:
        if self.order is not None:
            name = "order constraint"
        else:
            name = ("key", "functional dependency", "unequal columns")[len(self.differing)]
        return f"conditional {name}" if self.is_conditional else name


def block_shape(dc: DenialConstraint) -> BlockShape | None:
    """Return the shape of a constraint over two tuples whose conflicts need not be listed, else None.

    Every predicate reads one of the tuples alone, or compares a column with itself. Of the columns:

    - If only one column is ordered, it orders every pair in one way or the other: `<` says that the rows differ, `<=`
      that both have a value.
    - Two ordered columns make an order constraint. Then nothing else may differ, and the conditions must be alike:
      otherwise it would matter which of the two rows is the higher one.
    - Rows may differ in two ways at most; conditions that are not alike count as one.
    """
    if dc.is_single_tuple:
        return None
    if not all(predicate.joins_one_column for predicate in between_tuples(dc)):
        return None
    first_alone, second_alone, alike = row_conditions(dc)
    signs = column_signs(dc)
    if not all(signs.values()):
        return None  # contradictory
    equal = sorted(name for name, found in signs.items() if found == _EQUAL)
    differing = sorted(name for name, found in signs.items() if found == _UNEQUAL)
    ordered = sorted(signs.keys() - {*equal, *differing})
    known: list[str] = []
    order = None
    if ordered and not alike:
        return None
    if len(ordered) == 1:
        (known if 0 in signs[ordered[0]] else differing).extend(ordered)
    elif len(ordered) == 2 and not differing:
        first, second = ordered
        order = OrderedColumns(
            first,
            second,
            opposite=_direction(signs[first]) != _direction(signs[second]),
            first_ties=0 in signs[first],
            second_ties=0 in signs[second],
        )
    elif ordered:
        return None
    shape = BlockShape(tuple(equal), tuple(known), tuple(sorted(differing)), order, first_alone, second_alone, alike)
    return shape if shape.differences <= 2 else None


def between_tuples(dc: DenialConstraint) -> list[Predicate]:
    """Return the predicates that read both tuples."""
    return [predicate for predicate in dc.predicates if {ref.tuple_index for ref in predicate.columns} == {0, 1}]


def row_conditions(dc: DenialConstraint) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
    """Return the positions of the predicates that read t1 alone, of those that read t2 alone, and if both say alike."""
    alone: tuple[list[int], list[int]] = ([], [])
    for place, predicate in enumerate(dc.predicates):
        if len({ref.tuple_index for ref in predicate.columns}) == 1:
            alone[predicate.left.tuple_index].append(place)
    first, second = alone
    alike = _conditions(dc, first, swapped=False) == _conditions(dc, second, swapped=True)
    return tuple(first), tuple(second), alike


def column_signs(dc: DenialConstraint) -> dict[str, frozenset[int]]:
    """For each column that a constraint compares between its tuples: the possible orders of t1's value to t2's."""
    signs: dict[str, frozenset[int]] = {}
    for predicate in dc.predicates:
        if predicate.joins_one_column:
            column = predicate.left.column
            signs[column] = signs.get(column, frozenset({-1, 0, 1})) & _of_first(predicate)
    return signs


def _of_first(predicate: Predicate) -> frozenset[int]:
    operator = predicate.op if predicate.left.tuple_index == 0 else predicate.op.flipped
    return operator.signs


def _direction(signs: frozenset[int]) -> int:
    return sum(signs)


def _conditions(dc: DenialConstraint, places: list[int], *, swapped: bool) -> set[Predicate]:
    chosen = [dc.predicates[place] for place in places]
    return {(predicate.swapped() if swapped else predicate).canonical() for predicate in chosen}


def compares_every_pair(dc: DenialConstraint) -> bool:
    """Return True if nothing but comparing every row with every other one finds the constraint's violations.

    It has neither an equality nor a range between the two tuples, nor classes of rows that could be counted.
    """
    shape = block_shape(dc)
    if dc.is_single_tuple or (shape is not None and shape.order is None and shape.differences < 2):
        return False
    return all(predicate.op is Operator.NE for predicate in between_tuples(dc))
