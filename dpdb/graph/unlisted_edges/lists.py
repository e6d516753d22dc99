"""`Lists`: the rows of each group of a block graph's constraints by rank, and where each row goes on in them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpdb.graph.grouping import find_places, sort_into_groups
from dpdb.graph.steps import called_all
from dpdb.graph.unlisted_edges.block_constraint import BlockConstraint
from dpdb.graph.unlisted_edges.listed_constraint import ListedConstraint

__all__ = ["Lists"]

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
