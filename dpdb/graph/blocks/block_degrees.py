"""Degrees of a block graph, one constraint at a time: pairs counted at the first constraint that they violate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpdb.graph import steps
from dpdb.graph.blocks.block_constraint import BlockConstraint
from dpdb.graph.grouping import factorize, looked_up, sort_into_groups, sorted_by
from dpdb.graph.steps import THREADS, Steps, finished, finished_all
from dpdb.thresholds import SUM_IN_PAIRS

if TYPE_CHECKING:
    from dpdb.graph.kernels.block_degrees import Members, Minorities
    from dpdb.graph.kernels.blocks import Blocks

Codes = NDArray[np.int32]


def block_degrees(
    blocks: Blocks, constraints: Mapping[int, BlockConstraint], tested: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Count each row's conflicts, shape `(rows,)`.

    Parameters
    ----------
    constraints
        The constraints by their position in `blocks`.
    tested
        Shape `(constraints, constraints)`, see `BlockGraph`.
    """
    total = np.zeros(blocks.group.shape[1], np.int64)
    minorities = _minorities(constraints, total.size)
    for k, constraint in constraints.items():
        earlier = {j: other for j, other in constraints.items() if j < k and tested[k, j]}
        if _sums_are_less(constraint, list(earlier.values()), _sizes(blocks, k, constraint)):
            total += finished(counted_by_sums(constraint, list(earlier.values())))
        else:
            total += counted_from_minority(blocks, k, constraint, earlier, minorities)
    return total


def _sizes(blocks: Blocks, k: int, constraint: BlockConstraint) -> Codes:
    """Count the rows of each group."""
    sizes: Codes = np.diff(blocks.starts[k, : constraint.group_count + 1])
    return sizes


def _sums_are_less(constraint: BlockConstraint, earlier: Sequence[BlockConstraint], sizes: Codes) -> bool:
    """Return whether sums are allowed and less work than looking at pairs, which groups with a small minority have."""
    if constraint.ordered + sum(other.ordered for other in earlier) > 1:
        return False  # dominance in four dimensions
    one = np.bincount(constraint.group[constraint.minority], minlength=constraint.group_count).astype(float)
    plain = constraint.ordered or bool(earlier)  # else majority rows are counted at once
    other = sizes if plain else one
    sums = (1 if constraint.ordered else 2) * 3 ** len(earlier)
    return bool(one @ other > SUM_IN_PAIRS.at * sums * int(sizes.sum(dtype=np.int64)))


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
    from dpdb.graph.kernels.block_degrees import count_crossings

    rows = sorted_by((order.x, group))
    yield
    starts = np.searchsorted(group[rows], np.arange(group_count + 1)).astype(np.int32)
    tree = np.zeros(int(order.y.max(initial=-1)) + 2, np.int32)
    state = np.zeros(4, np.int64)
    while not count_crossings(rows, starts, order.x, order.y, sign, tree, degrees, state, steps.WORK):
        yield


# -- pairs of the minority -----------------------------------------------------------------------------------------


def counted_from_minority(
    blocks: Blocks,
    k: int,
    constraint: BlockConstraint,
    earlier: Mapping[int, BlockConstraint],
    minorities: Minorities | None = None,
) -> NDArray[np.int64]:
    """Count the same from each group's minority rows: all pairs of constraint k, without those that violate others.

    Parameters
    ----------
    blocks : Blocks
        Of the graph, in which `constraint` has the position k and each earlier one that of its key.
    minorities : Minorities, optional
        Of these and other constraints of the graph, where they are known already.
    """
    several = constraint.ordered or constraint.both
    degrees = _pairs_counted(constraint) if several else _pairs_of_classes(constraint, _sizes(blocks, k, constraint))
    if earlier:
        known = _minorities(earlier, constraint.group.size) if minorities is None else minorities
        for share in _shares_taken_back(blocks, k, constraint, list(earlier), known):
            degrees += share
    return degrees


def _pairs_of_classes(constraint: BlockConstraint, sizes: Codes) -> NDArray[np.int64]:
    """Count without looking at pairs: a row is in conflict with those of its group that are not of its class.

    The majority is one class of the group, so its rows are in conflict with all of the minority.
    """
    group, minority = constraint.group, np.flatnonzero(constraint.minority)
    of_minority = np.bincount(group[minority], minlength=constraint.group_count)
    degrees = looked_up(np.append(of_minority, 0).astype(np.int32), group).astype(np.int64)
    _, number, alike = np.unique(constraint.x[minority], return_inverse=True, return_counts=True)
    degrees[minority] = sizes[group[minority]] - alike[number]
    return degrees


def _pairs_counted(constraint: BlockConstraint) -> NDArray[np.int64]:
    from dpdb.graph.kernels.block_degrees import Members

    # Two parts per group: the majority, then the minority.
    rows, starts = sort_into_groups(2 * constraint.group + constraint.minority, 2 * constraint.group_count)
    x, y = (looked_up(codes, rows) for codes in (constraint.x, constraint.y))
    members = Members(np.ascontiguousarray(starts[::2]), starts[1::2] - starts[:-1:2], x, y)
    degrees = np.zeros(constraint.group.size, np.int64)
    shares = finished_all([_share(members, int(constraint.ordered), part) for part in range(THREADS)])
    for other in shares[1:]:
        shares[0] += other
    degrees[rows] = shares[0]
    return degrees


def _share(members: Members, ordered: int, part: int) -> Steps[NDArray[np.int32]]:
    from dpdb.graph.kernels.block_degrees import count_pairs

    degree, state = np.zeros(members.x.size, np.int32), np.zeros(2, np.int64)
    while not count_pairs(members, ordered, part, THREADS, degree, state, steps.WORK):
        yield
    return degree


def _shares_taken_back(
    blocks: Blocks, k: int, constraint: BlockConstraint, earlier: Sequence[int], minorities: Minorities
) -> list[NDArray[np.int32]]:
    rows = np.flatnonzero(blocks.minority & (constraint.group >= 0)).astype(np.int32)
    special = sort_into_groups(constraint.group, constraint.group_count, rows)
    whole = blocks.members[k], blocks.starts[k, : constraint.group_count + 1]
    met = _Met(minorities, whole, special)
    return finished_all([_taken_back(blocks, k, np.array(earlier), met, part) for part in range(THREADS)])


class _Met(NamedTuple):
    """The rows that minority rows of a constraint meet, and where each group begins: all, and those of any minority."""

    minorities: Minorities
    whole: tuple[Codes, Codes]
    special: tuple[Codes, Codes]


def _taken_back(blocks: Blocks, k: int, earlier: NDArray[np.int64], met: _Met, part: int) -> Steps[NDArray[np.int32]]:
    from dpdb.graph.kernels.block_degrees import CHUNK, Chunk, Entries, take_back

    degree = np.zeros(blocks.minority.size, np.int32)
    part_of = np.full(len(blocks.group), -1)
    part_of[earlier] = np.arange(earlier.size)
    group, x, y = np.zeros((3, earlier.size + 1, CHUNK), np.int32)
    chunk = Chunk(group, x, y, np.zeros_like(earlier), np.empty(CHUNK, np.int64), np.zeros(CHUNK, np.int32))
    entries = Entries(*np.empty((4, CHUNK * earlier.size), np.int32))
    for special, (rows, starts) in enumerate((met.whole, met.special)):
        state = np.zeros(3, np.int64)
        while not take_back(
            blocks, k, earlier, part_of, met.minorities, rows, starts, special,
            chunk, entries, part, THREADS, degree, state, steps.WORK,
        ):  # fmt: skip
            yield
    return degree


def _minorities(constraints: Mapping[int, BlockConstraint], row_count: int) -> Minorities:
    """List the constraints in whose minority each row is."""
    from dpdb.graph.kernels.block_degrees import Minorities

    rows = [np.flatnonzero(constraint.minority).astype(np.int32) for constraint in constraints.values()]
    positions = np.repeat(np.array(list(constraints), np.int32), [each.size for each in rows])
    order, starts = sort_into_groups(np.concatenate([*rows, np.zeros(0, np.int32)]), row_count)
    return Minorities(starts, positions[order])
