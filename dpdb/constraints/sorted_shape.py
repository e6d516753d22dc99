"""The shapes of constraints whose fewest deletions one sort of the rows gives: orders, two columns, intervals.

Of such a constraint a largest set of rows without conflict is found while the rows, or their values, pass by in order
(`dpdb.graph.exact.deletions`), however many pairs violate it. Which shape it has is a public fact of the constraint. A
pair of rows is in conflict if it violates the constraint in one of its two orders, so that it is all the same which row
is called t1.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from dpdb.constraints.denial import DenialConstraint, Operator, Predicate
from dpdb.constraints.shape import OrderedColumns, between_tuples, block_shape, column_signs, row_conditions

_EQUAL = Operator.EQ.signs


class SortedKind(Enum):
    """Kinds of these constraints, in words."""

    ORDER = "order constraint"
    CROSS = "one column against another"
    INTERVALS = "overlapping intervals"


@dataclass(frozen=True, slots=True)
class SortedShape:
    """A constraint on pairs of rows that are equal in some columns and all meet some conditions.

    Parameters
    ----------
    kind
        `ORDER`: not(t1.first > t2.first & t1.second < t2.second), the last comparison `>` if `same_way`.
        `CROSS`: not(t1.first > t2.second).
        `INTERVALS`: not(t1.first < t2.second & t2.first < t1.second).
    equal
        Sorted columns in which the rows are equal.
    first, second
        Different names. Of an order with ties in one column only, that is the first.
    first_ties, second_ties
        Whether equal values violate it, too: `>=` for `>`. Of `CROSS` and `INTERVALS` both are the same.
    same_way
        Of an order: whether rows must not move the same way.
    conditions
        Positions of the constraint's predicates that read t1 alone; those that read t2 alone say the same.
    """

    kind: SortedKind
    equal: tuple[str, ...]
    first: str
    second: str
    first_ties: bool
    second_ties: bool
    same_way: bool
    conditions: tuple[int, ...]


def sorted_shape(dc: DenialConstraint) -> SortedShape | None:
    """Return the shape of a constraint whose fewest deletions one sort gives, else None."""
    conditions, _, alike = row_conditions(dc)
    if dc.is_single_tuple or not alike:
        return None
    blocks = block_shape(dc)
    if blocks is None:
        return _crossed(dc, conditions)
    return None if blocks.order is None else _order(blocks.equal, blocks.order, conditions)


def _crossed(dc: DenialConstraint, conditions: tuple[int, ...]) -> SortedShape | None:
    signs = column_signs(dc)
    found = [_above(predicate) for predicate in between_tuples(dc) if not predicate.joins_one_column]
    above = {each for each in found if each is not None}
    if None in found or len({(greater, lesser, ties) for _, greater, lesser, ties in above}) != 1:
        return None
    if any(possible != _EQUAL for possible in signs.values()):
        return None
    (_, greater, lesser, ties), *both = above
    equal = tuple(sorted(signs))
    if both:
        return SortedShape(SortedKind.INTERVALS, equal, lesser, greater, ties, ties, False, conditions)
    return SortedShape(SortedKind.CROSS, equal, greater, lesser, ties, ties, False, conditions)


def _order(equal: tuple[str, ...], order: OrderedColumns, conditions: tuple[int, ...]) -> SortedShape:
    columns = [(order.first, order.first_ties), (order.second, order.second_ties)]
    # Exchanging both columns and both rows says the same; one that has ties comes first.
    (first, first_ties), (second, second_ties) = sorted(columns, key=lambda column: not column[1])
    return SortedShape(SortedKind.ORDER, equal, first, second, first_ties, second_ties, not order.opposite, conditions)


def _above(predicate: Predicate) -> tuple[int, str, str, bool] | None:
    """Read t_i.x > t_j.y (or >=), whichever side is written first, as (i, x, y, whether equal values violate it)."""
    [left, right] = predicate.columns
    if not predicate.op.is_order:
        return None
    if predicate.op in {Operator.LT, Operator.LE}:
        left, right = right, left
    return left.tuple_index, left.column, right.column, not predicate.op.is_strict_order
