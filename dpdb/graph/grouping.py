"""Grouping rows by codes, in steps that a signal can end (see `dpdb.graph.steps`); the loops are `kernels.grouping`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdb.graph import steps
from dpdb.graph.steps import go_on_if_wanted, ranges
from dpdb.thresholds import SORTED_BITS

Codes = NDArray[np.int32]


def factorize(left: Codes, right: Codes) -> tuple[Codes, int]:
    """Number the distinct pairs (left, right) from 0 in order of first appearance; -1 where either is negative.

    Returns the numbers, shape `(rows,)`, and how many there are.
    """
    from dpdb.graph.kernels.grouping import number_pairs

    numbers = np.empty(left.size, np.int32)
    count = 0
    slots = np.full(1 << max(4, (2 * left.size - 1).bit_length()), -1, np.int32)
    for first, last in ranges(left.size):
        count = number_pairs(left, right, slots, numbers, first, last, count)
    return numbers, int(count)


def looked_up(table: Codes, places: NDArray[np.signedinteger[Any]], out: Codes | None = None) -> Codes:
    """Read a table at places; as `table[places]`, several times as fast for a small table.

    Parameters
    ----------
    places
        Indices into the table; -1 is its last entry.
    out : optional
        The array to fill and return (default: a new one).
    """
    from dpdb.graph.kernels.grouping import look_up

    found = np.empty(places.size, np.int32) if out is None else out
    for first, last in ranges(places.size):
        look_up(table, places, found, first, last)
    return found


def sort_into_groups(
    groups: Codes, count: int, rows: Codes | None = None, out: Codes | None = None
) -> tuple[Codes, Codes]:
    """Sort rows by group, stably; rows of group -1 are left out.

    Parameters
    ----------
    groups, count
        The group of each row, and the number of groups.
    rows, out : optional
        The rows to sort (default: all), and the array to write the sorted rows to (default: a new one).

    Returns the rows, shape `(kept,)`, and where each group starts, shape `(count + 1,)`.
    """
    from dpdb.graph.kernels.grouping import place_all, place_rows

    starts = group_starts(groups if rows is None else groups[rows], count)
    out = np.empty(starts[-1], np.int32) if out is None else out[: starts[-1]]
    place = starts[:-1].copy()
    for first, last in ranges(groups.size if rows is None else rows.size):
        if rows is None:
            place_all(groups, place, out, first, last)
        else:
            place_rows(groups, rows, place, out, first, last)
    return out, starts


def group_starts(groups: Codes, count: int) -> Codes:
    """Return where each group starts in a list of rows by group, shape `(count + 1,)`; group -1 is left out."""
    from dpdb.graph.kernels.grouping import count_keys

    starts = np.zeros(count + 1, np.int32)
    for first, last in ranges(groups.size):
        count_keys(groups, starts, first, last)
    return np.cumsum(starts, out=starts)


def sorted_by(keys: Sequence[Codes]) -> Codes:
    """Sort rows by several keys, stably, the last one first (as `numpy.lexsort`); rows with a negative key are out."""
    place = keys[0].size.bit_length()
    rows: Codes | None = None
    for turn in _turns(keys, 1 << max(0, int(SORTED_BITS.at) - place)):
        rows = _sorted_at_once(turn, place, rows)
    assert rows is not None
    return rows


def _turns(keys: Sequence[Codes], most: int) -> list[list[tuple[Codes, int]]]:
    """Cut keys into runs with at most `most` combinations of values; each key comes with its number of values."""
    turns: list[list[tuple[Codes, int]]] = [[]]
    together = 1
    for key in keys:
        values = int(key.max(initial=0)) + 1
        together *= values
        if together > most and turns[-1]:
            turns.append([])
            together = values
        turns[-1].append((key, values))
    return turns


def _sorted_at_once(keys: Sequence[tuple[Codes, int]], place: int, rows: Codes | None) -> Codes:
    """Sort rows (default: all) by one sort of integers: the keys in high bits, the place in the low `place` bits."""
    packed = np.zeros(keys[0][0].size if rows is None else rows.size, np.int64)
    for first, last in ranges(packed.size):
        part = packed[first:last]
        for key, values in reversed(keys):
            own = key[first:last] if rows is None else key[rows[first:last]]
            part *= values
            part += own
            part[own < 0] = -1  # negative for good
        part <<= place
        part |= np.arange(first, last)
    packed.sort()
    packed = packed[np.searchsorted(packed, 0) :]
    packed &= (1 << place) - 1
    return packed.astype(np.int32) if rows is None else rows[packed]


def largest_class(groups: Codes, group_count: int, classes: Codes, class_count: int) -> tuple[Codes, Codes]:
    """Return each group's largest class (the first one on ties; -1 if it has one class only), and each class's group.

    Shapes `(group_count + 1,)` and `(class_count + 1,)`: the last entries are -1 too, so that group and class -1 find
    them. Rows without a group or a class do not count.

    Parameters
    ----------
    groups, group_count
        The group of each row, -1 for none, and the number of groups.
    classes, class_count
        The class of each row, -1 for none, and the number of classes; a class lies in one group.
    """
    from dpdb.graph.kernels.grouping import compare_classes, count_classes

    sizes, group_of = np.zeros(class_count, np.int32), np.full(class_count + 1, -1, np.int32)
    for first, last in ranges(groups.size):
        count_classes(groups, classes, sizes, group_of, first, last)
    largest, several = np.full(group_count + 1, -1, np.int32), np.zeros(group_count + 1, np.bool_)
    for first, last in ranges(class_count):
        compare_classes(sizes, group_of, largest, several, first, last)
    largest[~several] = -1
    return largest, group_of


def chain_places(starts: Codes, y: Codes) -> NDArray[np.bool_]:
    """Mark a longest non-decreasing subsequence of y in each group (patience sorting, O(n log n)).

    `y` of each group's rows by ascending x, then y: the marked ones have no pair with x < x' and y > y'.
    """
    from dpdb.graph.kernels.grouping import extend_chains, mark_chains

    tails, values, before = np.empty((3, y.size), np.int32)
    ends, marked = np.empty(starts.size - 1, np.int32), np.zeros(y.size, np.bool_)
    _done(lambda state: extend_chains(starts, y, tails, values, before, ends, state, steps.WORK))
    _done(lambda state: mark_chains(before, ends, marked, state, steps.WORK))
    return marked


def crossed_places(starts: Codes, x: Codes, y: Codes) -> NDArray[np.bool_]:
    """Mark the rows that some row of their group is above in x and below in y, or the other way round.

    Parameters
    ----------
    starts
        Where each group starts, shape `(groups + 1,)`.
    x, y
        The order positions of each group's rows by ascending x, shape `(rows,)`.
    """
    from dpdb.graph.kernels.grouping import mark_above

    crossed = np.zeros((2, x.size), np.bool_)
    _done(lambda state: mark_above(starts, x, y, crossed[0], state, steps.WORK))
    # Read from the end and from above, the rows behind a row and below it are before it and above it.
    starts, x, y = (np.ascontiguousarray(each[::-1]) for each in (y.size - starts, x, y.max(initial=0) - y))
    _done(lambda state: mark_above(starts, x, y, crossed[1], state, steps.WORK))
    return np.asarray(crossed[0] | crossed[1, ::-1])


def find_places(members: Codes, starts: Codes, short: Codes, short_starts: Codes, places: Codes) -> None:
    """Fill in, for each member, where its list goes on (`Blocks.place`).

    Parameters
    ----------
    members, starts
        Each group's rows, ascending, and where each group starts.
    short, short_starts
        Each group's minority rows, ascending, and where each group starts.
    places
        Filled in at every member, shape `(rows,)`.
    """
    from dpdb.graph.kernels.grouping import find_places

    _done(lambda state: find_places(members, starts, short, short_starts, places, state, steps.WORK))


def _done(work: Callable[[NDArray[np.int64]], bool]) -> None:
    """Call a kernel until it is done; it keeps its place in the state."""
    state = np.zeros(4, np.int64)
    while not work(state):
        go_on_if_wanted()
