"""Constraints of a graph of blocks: those whose conflicts lie inside groups of rows, those that are listed, and lists.

Functional dependencies and keys: rows of one group conflict unless they are of one class. Rows that must differ in two
columns: they conflict unless they are of one class in either. Order constraints: rows of one group conflict if one is
above the other in x and below it in y. In all cases a large part of each group, its majority, is free of conflicts with
itself: every conflict has a row outside it, in the minority.

`Lists` has the rows of each group by rank, and where each row goes on in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpdb.graph.grouping import (
    chain_places,
    crossed_places,
    factorize,
    find_places,
    group_starts,
    largest_class,
    looked_up,
    sort_into_groups,
    sorted_by,
)
from dpdb.graph.listed.edge_graph import Adjacency, adjacency_of
from dpdb.graph.listed.listed_edges import OrderedEdges
from dpdb.graph.steps import called_all

Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class BlockConstraint:
    """Arrays over rows, shape `(rows,)`.

    One constraint whose conflicts lie inside groups of rows, without an edge list.

    Attributes
    ----------
    ordered : bool
        An order constraint: conflict iff x and y order the two rows in opposite ways. Else conflict iff x differs and
        y differs.
    group : int32
        Number of the row's group, -1 if and only if the row conflicts with none through this constraint.
    x, y : int32
        The class (y is x), the two classes, or the two order positions.
    minority : bool
        Rows outside the majority of their group; two rows of the majority never conflict.
    of_class : int32 (classes + 1,), optional
        Where group and minority depend on x alone, 2 group + minority of each class; the last one is no group.
    """

    ordered: bool
    both: bool
    group: Codes
    group_count: int
    x: Codes
    y: Codes
    minority: NDArray[np.bool_]
    of_class: Codes | None = None

    def violated(self, u: NDArray[np.int64], v: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Mark the pairs (u, v) that are in conflict through this constraint."""
        x_u, x_v, y_u, y_v = self.x[u], self.x[v], self.y[u], self.y[v]
        found = (x_u > x_v) & (y_u < y_v) | (x_u < x_v) & (y_u > y_v) if self.ordered else (x_u != x_v) & (y_u != y_v)
        return np.asarray(found & (self.group[u] >= 0) & (self.group[u] == self.group[v]))

    def of_rows(self, rows: NDArray[np.int64], group: Codes | None = None, x: Codes | None = None) -> BlockConstraint:
        """Return the constraint among some rows, in another order.

        Parameters
        ----------
        rows
            The rows. Those of a group's majority are still without conflicts among themselves, but need not be more.
        group, x : optional
            The arrays to write the result's `group` and `x` to (default: new ones).
        """
        found = looked_up(self.x, rows, x)
        y = found if self.y is self.x else looked_up(self.y, rows)
        if self.of_class is None:
            doubled = looked_up(2 * self.group + self.minority, rows)
        else:
            doubled = looked_up(self.of_class, found)  # a small table, mostly
        group, minority = _apart(doubled, group)
        return replace(self, group=group, x=found, y=y, minority=minority)

    def with_more_rows(self, count: int) -> BlockConstraint:
        """Return the constraint with rows at the end that conflict with none through it."""
        group, x, y = (np.append(each, np.full(count, -1, np.int32)) for each in (self.group, self.x, self.y))
        minority = np.append(self.minority, np.zeros(count, np.bool_))
        return replace(self, group=group, x=x, y=x if self.y is self.x else y, minority=minority)


def _apart(doubled: Codes, group: Codes | None = None) -> tuple[Codes, NDArray[np.bool_]]:
    """Take 2 group + minority apart, which is -2 for rows without a group."""
    return np.right_shift(doubled, 1, out=group), (doubled & 1).astype(np.bool_)


def all_of_rows(constraints: dict[int, BlockConstraint], rows: NDArray[np.int64]) -> dict[int, BlockConstraint]:
    """Return several constraints among some rows, in threads; their `group` and `x` are lines of one table each.

    Each is forgotten once it is read, so that not all of them are there twice.

    Parameters
    ----------
    constraints
        The constraints by their positions; emptied.
    """
    positions = list(constraints)
    group, x = (np.empty((len(positions), rows.size), np.int32) for _ in range(2))
    found = called_all(
        [partial(_of_rows, constraints, position, rows, group[k], x[k]) for k, position in enumerate(positions)]
    )
    return dict(zip(positions, found, strict=True))


def _of_rows(
    constraints: dict[int, BlockConstraint], position: int, rows: NDArray[np.int64], group: Codes, x: Codes
) -> BlockConstraint:
    return constraints.pop(position).of_rows(rows, group, x)


def by_class(lhs: Sequence[Codes], rhs: Codes | None, row_count: int) -> BlockConstraint:
    """Build a functional dependency lhs -> rhs, or a key lhs, from codes (-1 for NULL).

    A row with NULL in any of the columns conflicts with none: SQL's comparison with NULL is not true.

    Parameters
    ----------
    lhs
        Codes of the left-hand side's columns, each of shape `(rows,)`.
    rhs
        Codes of the right-hand side's column; None for a key.
    """
    group, group_count = _group(lhs, row_count)
    if rhs is None:
        classes, class_count = np.arange(row_count, dtype=np.int32), row_count
    else:
        classes, class_count = factorize(group, rhs)
    largest, group_of = largest_class(group, group_count, classes, class_count)
    number, group_count = _numbers(largest >= 0)
    of_class = number[group_of]
    minor = (of_class >= 0) & (np.arange(class_count + 1) != largest[group_of])
    doubled = (2 * of_class + minor).astype(np.int32)  # a row's group and minority depend on its class alone
    group, minority = _apart(looked_up(doubled, classes))
    return BlockConstraint(False, False, group, group_count, classes, classes, minority, doubled)


def by_two_classes(lhs: Sequence[Codes], first: Codes, second: Codes, row_count: int) -> BlockConstraint:
    """Build a constraint against rows that are equal on lhs and differ in `first` and in `second`, from codes.

    Of a group of n rows, those that a row does not differ from share its first class or its second one.

    Parameters
    ----------
    lhs
        Codes of the columns that must be equal, each of shape `(rows,)`; -1 for NULL.
    first, second
        Codes of the two columns that must differ.
    """
    group, group_count = _group(lhs, row_count)
    (x, x_count), (y, y_count) = factorize(group, first), factorize(group, second)
    pair, pair_count = factorize(x, y)
    known = pair >= 0
    alike = _sizes(x, x_count, known) + _sizes(y, y_count, known) - _sizes(pair, pair_count, known)
    in_conflict = known & (_sizes(group, group_count, known) > alike)
    group, group_count = _numbered(np.where(in_conflict, group, np.int32(-1)), group_count)
    by_x, by_y = (_majority(group, group_count, *classes) for classes in ((x, x_count), (y, y_count)))
    x_larger = np.bincount(group[by_x], minlength=group_count) >= np.bincount(group[by_y], minlength=group_count)
    majority = np.where(np.append(x_larger, False)[group], by_x, by_y)
    return BlockConstraint(False, True, group, group_count, x, y, in_conflict & ~majority)


def by_order(
    prefix: Sequence[Codes],
    first: Codes,
    second: Codes,
    *,
    opposite: bool,
    row_count: int,
    ties: tuple[bool, bool] = (False, False),
) -> BlockConstraint:
    """Build an order constraint: with equal prefix, `first` above and `second` below (opposite), or both above.

    Parameters
    ----------
    prefix
        Codes of the columns that must be equal, each of shape `(rows,)`; -1 for NULL.
    first, second
        Order positions of the rows in the two columns; -1 for NULL.
    opposite
        Whether two rows conflict if the columns order them in opposite ways; else if both order them alike.
    ties
        In which of the two columns equal rows are in conflict, too, as if one were above the other.
    """
    group, group_count = _group(prefix, row_count)
    group = np.where((first < 0) | (second < 0), np.int32(-1), group)
    x, y = first, second if opposite else np.where(second < 0, second, second.max(initial=0) - second).astype(np.int32)
    if any(ties):
        x, y = _without_ties(x, y, ties)
    rows, starts = sorted_by((y, x, group)), group_starts(group, group_count)
    x_there, y_there = looked_up(x, rows), looked_up(y, rows)
    crossed = crossed_places(starts, x_there, y_there)
    minor = ~chain_places(starts, y_there)
    sizes = np.diff(np.append(0, np.cumsum(crossed, dtype=np.int32))[starts])
    number, group_count = _numbers(sizes > 0)
    doubled = np.full(row_count, -2, np.int32)
    doubled[rows[crossed]] = np.repeat(2 * number, sizes) + minor[crossed]
    group, minority = _apart(doubled)
    return BlockConstraint(True, False, group, group_count, x, y, minority)


def _without_ties(x: Codes, y: Codes, ties: tuple[bool, bool]) -> tuple[Codes, Codes]:
    """Rank rows so that one is above in x and below in y if it is so now, or is equal in a column that `ties` allows.

    Rows equal in x are ranked in x against y, and rows equal in y are ranked in y against x: so they cross, and rows
    that x and y order alike stay as they are. Rows equal in both cross only if both may be equal: they are ranked in x
    as they come, and in y the other way round. A negative code in either leaves the row out of both.
    """
    known = (x >= 0) & (y >= 0)
    x, y = np.where(known, x, np.int32(-1)), np.where(known, y, np.int32(-1))
    down_x, down_y = (np.where(known, one.max(initial=0) - one, np.int32(-1)).astype(np.int32) for one in (x, y))
    row = np.arange(x.size, dtype=np.int32)
    if all(ties):
        return _ranks((row, down_y, x)), _ranks((row[::-1].copy(), down_x, y))
    return (_ranks((down_y, x)), y) if ties[0] else (x, _ranks((down_x, y)))


def _ranks(keys: Sequence[Codes]) -> Codes:
    """Rank rows by several keys, the last one first, equal ones alike; -1 where a key is negative."""
    rows = sorted_by(keys)
    above = np.zeros(rows.size, np.bool_)
    for key in keys:
        above[1:] |= key[rows[1:]] != key[rows[:-1]]
    ranks = np.full(keys[0].size, -1, np.int32)
    ranks[rows] = np.cumsum(above, dtype=np.int32)
    return ranks


def _group(columns: Sequence[Codes], row_count: int) -> tuple[Codes, int]:
    """Number the value tuples, those of one column as its codes are: some may be of no row. All rows if no columns."""
    if not columns:
        return np.zeros(row_count, np.int32), 1
    group, count = columns[0], int(columns[0].max(initial=-1)) + 1
    for column in columns[1:]:
        group, count = factorize(group, column)
    return group, count


def _numbers(kept: NDArray[np.bool_]) -> tuple[Codes, int]:
    """Number the kept entries from 0; -1 for all others, and so for a last entry that stands for none."""
    numbers = np.where(kept, np.cumsum(kept, dtype=np.int32) - np.int32(1), np.int32(-1))
    return numbers, int(np.count_nonzero(kept))


def _numbered(group: Codes, group_count: int) -> tuple[Codes, int]:
    """Number the groups that have rows."""
    numbers, count = _numbers(np.append(np.bincount(group[group >= 0], minlength=group_count) > 0, False))
    return looked_up(numbers, group), count


def _majority(group: Codes, group_count: int, classes: Codes, class_count: int) -> NDArray[np.bool_]:
    largest, _ = largest_class(group, group_count, classes, class_count)
    inside: NDArray[np.bool_] = (group >= 0) & (classes == looked_up(largest, group))
    return inside


def _sizes(numbers: Codes, count: int, known: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count, for each known row, the known rows of its number; the counts of other rows are meaningless."""
    sizes: NDArray[np.int64] = np.bincount(numbers[known], minlength=count + 1)[numbers]
    return sizes


@dataclass(frozen=True, eq=False)
class ListedConstraint:
    """The conflicts of one constraint that violate none before it.

    It has no blocks: of the constraints in a graph of blocks only such a one's conflicts are listed.

    To the scans it looks like a block constraint in which each row is alone in its group and of the majority, and its
    neighbours are the minority: what they enumerate from a majority row is then its list.

    Attributes
    ----------
    near : Adjacency
        With sorted lists.
    ordered, both, group, group_count, x, y, minority
        As of a `BlockConstraint`. All rows differ in x, so that listed pairs are in conflict.
    """

    near: Adjacency
    ordered = False
    both = False

    @cached_property
    def group(self) -> Codes:
        """Numbers of the rows that have neighbours."""
        connected = self.near.degrees > 0
        return np.where(connected, np.cumsum(connected) - 1, -1).astype(np.int32)

    @property
    def group_count(self) -> int:
        """Number of rows that have neighbours."""
        return int(self.group.max(initial=-1)) + 1

    @cached_property
    def x(self) -> Codes:
        """Each row is a class of its own."""
        return np.arange(self.near.node_count, dtype=np.int32)

    @property
    def y(self) -> Codes:
        """As x."""
        return self.x

    @cached_property
    def minority(self) -> NDArray[np.bool_]:
        """No row."""
        return np.zeros(self.near.node_count, np.bool_)

    @cached_property
    def pairs(self) -> NDArray[np.int64]:
        """The conflicts (u, v), u < v, each as one number `u * rows + v`, ascending."""
        count = self.near.node_count
        first = np.repeat(np.arange(count, dtype=np.int64), self.near.degrees)
        second = self.near.neighbours.astype(np.int64)
        ascending = first < second
        return np.asarray(first[ascending] * count + second[ascending])

    def of_rows(self, rows: NDArray[np.int64]) -> ListedConstraint:
        """Return the constraint among some rows, ascending."""
        return ListedConstraint(self.near.induced(rows))

    def uncovered(self, covered: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Choose rows so that each conflict has a row among them or among the covered ones.

        Of the other rows those of fewest conflicts are left out first, as long as no two of them are in conflict.
        """
        degrees = self.near.degrees
        order = np.flatnonzero(~covered & (degrees > 0))
        order = order[np.argsort(degrees[order], kind="stable")]
        chosen = ~self.near.independent_nodes(order)
        chosen[covered | (degrees == 0)] = False
        return chosen


def by_edges(edges: OrderedEdges) -> ListedConstraint:
    """Build from the conflicts of a constraint that violate none before it; their order does not matter."""
    return ListedConstraint(adjacency_of(edges).sorted())


Ints = NDArray[np.int32]


class Lists(NamedTuple):
    """The lists of `kernels.blocks.Blocks`: see its fields of these names."""

    place: Ints
    members: Ints
    starts: Ints
    short: Ints
    short_starts: Ints

    @classmethod
    def of(cls, constraints: Sequence[BlockConstraint | ListedConstraint], row_count: int) -> Lists:
        """Make the lists of some constraints, in threads."""
        groups = max((constraint.group_count for constraint in constraints), default=0)
        members, short = map(max, zip((0, 0), *map(_lengths, constraints), strict=True))
        # The space behind the end of a shorter list is never written, and takes no memory.
        place, members_, starts, short_, short_starts = (
            np.zeros((len(constraints), length), np.int32)
            for length in (row_count, members, groups + 1, short, groups + 1)
        )
        lists = cls(place, members_, starts, short_, short_starts)
        own = [cls(*(table[k] for table in lists)) for k in range(len(constraints))]
        called_all([partial(_fill, constraint, each) for constraint, each in zip(constraints, own, strict=True)])
        return lists


def _lengths(constraint: BlockConstraint | ListedConstraint) -> tuple[int, int]:
    if isinstance(constraint, ListedConstraint):
        return 0, constraint.near.neighbours.size
    return int(np.count_nonzero(constraint.group >= 0)), int(np.count_nonzero(constraint.minority))


def _fill(constraint: BlockConstraint | ListedConstraint, lists: Lists) -> None:
    if isinstance(constraint, ListedConstraint):
        _list_neighbours(constraint, lists)
    else:
        _list_groups(constraint, lists)


def _list_groups(constraint: BlockConstraint, lists: Lists) -> None:
    group, count = constraint.group, constraint.group_count
    members, starts = sort_into_groups(group, count, out=lists.members)
    minority = np.flatnonzero(constraint.minority).astype(np.int32)
    short, short_starts = sort_into_groups(group, count, minority, lists.short)
    find_places(members, starts, short, short_starts, lists.place)
    _write(starts, lists.starts)
    _write(short_starts, lists.short_starts)


def _list_neighbours(constraint: ListedConstraint, lists: Lists) -> None:
    """List the neighbours of each row by rank, and the first one above it."""
    near, count = constraint.near, constraint.near.node_count
    connected = constraint.group >= 0
    lists.short[: near.neighbours.size] = near.neighbours
    starts = near.offsets.astype(np.int32)
    _write(np.append(starts[:-1][connected], starts[-1:]), lists.short_starts)
    below = np.bincount(constraint.pairs % max(1, count), minlength=count)
    lists.place[:] = np.where(connected, starts[:-1] + below[:count], -1)


def _write(starts: Ints, table: Ints) -> None:
    """Write where groups start; for groups that only other constraints have, where the last one ends."""
    table[: starts.size] = starts
    table[starts.size :] = starts[-1]
