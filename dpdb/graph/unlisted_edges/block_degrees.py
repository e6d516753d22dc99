"""Degrees of a block graph, one constraint at a time: pairs counted at the first constraint that they violate."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpdb.graph import steps
from dpdb.graph.grouping import factorize, sort_into_groups, sorted_by
from dpdb.graph.steps import THREADS, Steps, finished, finished_all
from dpdb.graph.unlisted_edges.block_constraint import BlockConstraint

if TYPE_CHECKING:
    from dpdb.graph.kernels.block_degrees import Members

__all__ = ["block_degrees", "counted_by_sums", "counted_from_minority"]

Codes = NDArray[np.int32]

_SUM = 20
"""Pairs per row that are looked at in the time in which one sum of `counted_by_sums` is made: measured."""


def block_degrees(
    constraints: Sequence[BlockConstraint], tested: NDArray[np.bool_], row_count: int
) -> NDArray[np.int64]:
    """Count each row's conflicts, shape `(rows,)`. `tested`: see `BlockGraph`."""
    total = np.zeros(row_count, np.int64)
    for k, constraint in enumerate(constraints):
        earlier = [constraints[j] for j in range(k) if tested[k, j]]
        if _sums_are_less(constraint, earlier):
            total += finished(counted_by_sums(constraint, earlier))
        else:
            total += counted_from_minority(constraint, earlier)
    return total


def _sums_are_less(constraint: BlockConstraint, earlier: Sequence[BlockConstraint]) -> bool:
    """Return whether sums are allowed and less work than looking at pairs, which groups with a small minority have."""
    if constraint.ordered + sum(other.ordered for other in earlier) > 1:
        return False  # dominance in four dimensions
    special = _special(constraint, earlier) & (constraint.group >= 0)
    one = np.bincount(constraint.group[special], minlength=constraint.group_count).astype(float)
    plain = constraint.ordered or bool(earlier)  # else majority rows are counted at once
    other = np.bincount(constraint.group[constraint.group >= 0]) if plain and one.size else one
    sums = (1 if constraint.ordered else 2) * 3 ** len(earlier)
    return bool(one @ other > _SUM * sums * np.count_nonzero(constraint.group >= 0))


def _special(constraint: BlockConstraint, earlier: Sequence[BlockConstraint]) -> NDArray[np.bool_]:
    special: NDArray[np.bool_] = np.logical_or.reduce([other.minority for other in (constraint, *earlier)])
    return special


# -- sums: O(rows log rows) each ----------------------------------------------------------------------------------


class _Term(NamedTuple):
    """Pairs that agree in `keys` (none: all), and cross if there is an order."""

    sign: int
    keys: tuple[Codes, ...]
    order: BlockConstraint | None = None


def counted_by_sums(constraint: BlockConstraint, earlier: Sequence[BlockConstraint]) -> Steps[NDArray[np.int64]]:
    """Count each row's pairs that violate a constraint and none of the earlier ones, by inclusion and exclusion.

    A pair violates a class rule if it is of one group (+), unless of one class (-); one of two classes if it is of one
    group (+), unless of one class in either (-, and + for both); an order rule if it is of one group and crosses.
    So the pairs that violate the constraint and all of a subset S of the earlier ones are a signed sum of pairs that
    agree in some codes, and cross for the one order rule that may be among them; those that violate none of the earlier
    ones are the sum of that over all S, times (-1)^|S|. Where a sum counts a row as its own partner, the
    sum with `constraint`'s class in place of its group takes it back.
    """
    choices = [_violations(constraint, 1)]
    choices += [[_Term(1, ()), *_violations(other, -1)] for other in earlier]
    degrees = np.zeros(constraint.group.size, np.int64)
    for terms in product(*choices):
        keys = [key for term in terms for key in term.keys]
        group, group_count = keys[0], int(keys[0].max(initial=-1)) + 1
        for key in keys[1:]:
            group, group_count = factorize(group, key)
            yield
        sign = int(np.prod([term.sign for term in terms]))
        order = next((term.order for term in terms if term.order is not None), None)
        if order is None:
            sizes = np.bincount(group[group >= 0], minlength=1)
            degrees += sign * np.where(group >= 0, sizes[group], 0)
        else:
            yield from _add_crossings(order, group, group_count, sign, degrees)
        yield
    return degrees


def _violations(constraint: BlockConstraint, sign: int) -> list[_Term]:
    if constraint.ordered:
        return [_Term(sign, (constraint.group,), constraint)]
    group = constraint.group
    x, y = (np.where(group < 0, np.int32(-1), classes) for classes in (constraint.x, constraint.y))
    terms = [_Term(sign, (group,)), _Term(-sign, (group, x))]
    if constraint.both:
        terms += [_Term(-sign, (group, y)), _Term(sign, (group, x, y))]
    return terms


def _add_crossings(
    order: BlockConstraint, group: Codes, group_count: int, sign: int, degrees: NDArray[np.int64]
) -> Steps[None]:
    from dpdb.graph.kernels.crossings import count_crossings

    rows = sorted_by((order.x, group))
    yield
    starts = np.searchsorted(group[rows], np.arange(group_count + 1)).astype(np.int32)
    tree = np.zeros(int(order.y.max(initial=-1)) + 2, np.int32)
    state = np.zeros(4, np.int64)
    while not count_crossings(rows, starts, order.x, order.y, sign, tree, degrees, state, steps.WORK):
        yield


# -- pairs of the minority -----------------------------------------------------------------------------------------


def counted_from_minority(constraint: BlockConstraint, earlier: Sequence[BlockConstraint]) -> NDArray[np.int64]:
    """Count the same from each group's minority rows, see `kernels.block_degrees`."""
    members = _members(constraint, earlier)
    shares = finished_all([_share(members, part) for part in range(THREADS)])
    degrees = np.zeros(constraint.group.size, np.int64)
    degrees[members.row] = np.sum(shares, axis=0, dtype=np.int64)
    return degrees


def _members(constraint: BlockConstraint, earlier: Sequence[BlockConstraint]) -> Members:
    """Gather what the kernel asks of the rows of a constraint's groups, plain rows first in each."""
    from dpdb.graph.kernels.block_degrees import Members

    concerned = [constraint, *earlier]
    # Two parts per group: plain rows, then special ones.
    special = _special(constraint, earlier)
    halves = np.where(constraint.group < 0, np.int32(-1), 2 * constraint.group + special).astype(np.int32)
    row, starts = sort_into_groups(halves, 2 * constraint.group_count)
    return Members(
        starts=np.ascontiguousarray(starts[::2]),
        plain=starts[1::2] - starts[:-1:2],
        row=row,
        ordered=np.array([other.ordered for other in concerned], np.bool_),
        both=np.array([other.both for other in concerned], np.bool_),
        group=np.stack([other.group[row] for other in concerned]),
        x=np.stack([other.x[row] for other in concerned]),
        y=np.stack([other.y[row] for other in concerned]),
        minority=np.stack([other.minority[row] for other in concerned]),
    )


def _share(members: Members, part: int) -> Steps[NDArray[np.int32]]:
    """Count one share of the degrees of a constraint's members, see `kernels.block_degrees.add_degrees`."""
    from dpdb.graph.kernels.block_degrees import CHUNK, add_degrees

    degree, hit = np.zeros(members.row.size, np.int32), np.empty(CHUNK, np.int32)
    state = np.zeros(3, np.int64)
    while not add_degrees(members, part, THREADS, degree, hit, state, steps.WORK):
        yield
    return degree
