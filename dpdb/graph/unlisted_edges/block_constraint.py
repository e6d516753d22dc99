"""`BlockConstraint`: one constraint whose conflicts lie inside groups of rows, without an edge list.

Functional dependencies and keys: rows of one group conflict unless they are of one class. Order constraints: rows of
one group conflict if one is above the other in x and below it in y. In both cases a large part of each group, its
majority, is free of conflicts with itself: every conflict has a row outside it, in the minority.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpdb.graph.grouping import chain_members, crossed_rows, factorize, largest_class, sorted_by

__all__ = ["BlockConstraint", "by_class", "by_order"]

Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class BlockConstraint:
    """Arrays over rows, shape `(rows,)`.

    Attributes
    ----------
    ordered : bool
        An order constraint: conflict iff x and y order the two rows in opposite ways. Else conflict iff x differs.
    group : int32
        Number of the row's group, -1 if and only if the row conflicts with none through this constraint.
    group_count : int
    x, y : int32
        The class (y unused), or the two order positions.
    minority : bool
        Rows outside the majority of their group; two rows of the majority never conflict.
    """

    ordered: bool
    group: Codes
    group_count: int
    x: Codes
    y: Codes
    minority: NDArray[np.bool_]


def by_class(lhs: Sequence[Codes], rhs: Codes | None, row_count: int) -> BlockConstraint:
    """Build a functional dependency lhs -> rhs, or a key lhs (rhs None), from codes (-1 for NULL).

    A row with NULL in any of the columns conflicts with none: SQL's comparison with NULL is not true.
    """
    group, group_count = _group(lhs, row_count)
    if rhs is None:
        classes, class_count = np.arange(row_count, dtype=np.int32), row_count
    else:
        classes, class_count = factorize(group, rhs)
    group = np.where(classes < 0, np.int32(-1), group)
    largest = largest_class(group, group_count, classes, class_count)
    clean = (group >= 0) & (largest[group] < 0)
    group, group_count = factorize(np.where(clean, np.int32(-1), group), np.zeros(row_count, np.int32))
    majority = _majority(group, group_count, classes, class_count)
    return BlockConstraint(False, group, group_count, classes, classes, (group >= 0) & ~majority)


def by_order(
    prefix: Sequence[Codes], first: Codes, second: Codes, *, opposite: bool, row_count: int
) -> BlockConstraint:
    """Build an order constraint: with equal prefix, `first` above and `second` below (opposite), or both above."""
    group, group_count = _group(prefix, row_count)
    group = np.where((first < 0) | (second < 0), np.int32(-1), group)
    y = second if opposite else (second.max(initial=0) - second).astype(np.int32)
    rows = sorted_by((y, first, group))
    starts = np.searchsorted(group[rows], np.arange(group_count + 1)).astype(np.int32)
    majority = chain_members(rows, starts, y)
    group = np.where(crossed_rows(rows, starts, first, y), group, np.int32(-1))
    group, group_count = factorize(group, np.zeros(row_count, np.int32))
    return BlockConstraint(True, group, group_count, first, y, (group >= 0) & ~majority)


def _group(columns: Sequence[Codes], row_count: int) -> tuple[Codes, int]:
    """Number the distinct value tuples; one group of all rows if there are no columns."""
    group, count = np.zeros(row_count, np.int32), 1
    for column in columns:
        group, count = factorize(group, column)
    return group, count


def _majority(group: Codes, group_count: int, classes: Codes, class_count: int) -> NDArray[np.bool_]:
    largest = largest_class(group, group_count, classes, class_count)
    inside: NDArray[np.bool_] = (group >= 0) & (classes == largest[group])
    return inside
