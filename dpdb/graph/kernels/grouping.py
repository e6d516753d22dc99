"""Grouping rows by codes: factorizing pairs of columns, counting sorts, longest consistent chains."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpdb.graph.kernels.jit import kernel

__all__ = ["chain_members", "crossed_rows", "factorize", "first_above", "largest_class", "sort_into_groups"]

Codes = NDArray[np.int32]

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@kernel
def factorize(left: Codes, right: Codes) -> tuple[Codes, int]:
    """Number the distinct pairs (left, right) from 0 in order of first appearance; -1 where either is negative.

    Returns the numbers, shape `(rows,)`, and how many there are.
    """
    n = left.shape[0]
    bits = 4
    while (1 << bits) < 2 * n:
        bits += 1
    mask = np.uint64((1 << bits) - 1)
    shift = np.uint64(64 - bits)
    slots = np.full(1 << bits, -1, np.int32)  # the first row with the pair
    numbers = np.empty(n, np.int32)
    count = 0
    for row in range(n):
        if left[row] < 0 or right[row] < 0:
            numbers[row] = -1
            continue
        key = (np.uint64(left[row]) << np.uint64(32)) | np.uint64(right[row])
        slot = (key * _MULTIPLIER) >> shift
        while True:
            first = slots[slot]
            if first < 0:
                slots[slot] = row
                numbers[row] = count
                count += 1
                break
            if left[first] == left[row] and right[first] == right[row]:
                numbers[row] = numbers[first]
                break
            slot = (slot + np.uint64(1)) & mask
    return numbers, count


@kernel
def sort_into_groups(groups: Codes, count: int) -> tuple[Codes, Codes]:
    """Sort rows by group, stably; rows of group -1 are left out.

    Returns the rows, shape `(kept,)`, and where each group starts, shape `(count + 1,)`.
    """
    starts = np.zeros(count + 1, np.int32)
    for group in groups:
        if group >= 0:
            starts[group + 1] += 1
    for group in range(count):
        starts[group + 1] += starts[group]
    rows = np.empty(starts[count], np.int32)
    place = starts[:-1].copy()
    for row in range(groups.shape[0]):
        group = groups[row]
        if group >= 0:
            rows[place[group]] = row
            place[group] += 1
    return rows, starts


@kernel
def largest_class(groups: Codes, group_count: int, classes: Codes, class_count: int) -> Codes:
    """Return each group's largest class (the first one on ties), or -1 for a group of one class only.

    Shape `(group_count + 1,)`: the last entry is -1 too, so that group -1 finds it.
    """
    sizes = np.zeros(class_count, np.int32)
    group_of = np.full(class_count, -1, np.int32)
    for row in range(groups.shape[0]):
        if groups[row] >= 0:
            sizes[classes[row]] += 1
            group_of[classes[row]] = groups[row]
    largest = np.full(group_count + 1, -1, np.int32)
    several = np.zeros(group_count, np.bool_)
    for number in range(class_count):
        group = group_of[number]
        if group < 0:
            continue
        if largest[group] < 0:
            largest[group] = number
        else:
            several[group] = True
            if sizes[number] > sizes[largest[group]]:
                largest[group] = number
    for group in range(group_count):
        if not several[group]:
            largest[group] = -1
    return largest


@kernel
def chain_members(rows: Codes, starts: Codes, y: Codes) -> NDArray[np.bool_]:
    """Mark a longest non-decreasing subsequence of y in each group (patience sorting, O(n log n)).

    `rows` lists each group's rows by ascending x, then y: the marked rows have no pair with x < x' and y > y'.
    Shape `(all rows,)`.
    """
    marked = np.zeros(y.shape[0], np.bool_)
    before = np.full(y.shape[0], -1, np.int32)
    tails = np.empty(rows.shape[0], np.int32)
    for group in range(starts.shape[0] - 1):
        length = 0
        for place in range(starts[group], starts[group + 1]):
            row = rows[place]
            low, high = 0, length
            while low < high:
                middle = (low + high) // 2
                if y[tails[middle]] <= y[row]:
                    low = middle + 1
                else:
                    high = middle
            before[row] = tails[low - 1] if low else -1
            tails[low] = row
            length = max(length, low + 1)
        row = tails[length - 1] if length else -1
        while row >= 0:
            marked[row] = True
            row = before[row]
    return marked


@kernel
def crossed_rows(rows: Codes, starts: Codes, x: Codes, y: Codes) -> NDArray[np.bool_]:
    """Mark the rows that some row of their group is above in x and below in y, or the other way round.

    `rows` lists each group's rows by ascending x. Shape `(all rows,)`.
    """
    marked = np.zeros(x.shape[0], np.bool_)
    for group in range(starts.shape[0] - 1):
        begin, end = starts[group], starts[group + 1]
        # Greatest y of smaller x; a run of equal x is looked up before it is added.
        top, run = -1, begin
        for place in range(begin, end):
            if x[rows[place]] != x[rows[run]]:
                while run < place:
                    top = max(top, y[rows[run]])
                    run += 1
            marked[rows[place]] = top > y[rows[place]]
        bottom, run = np.iinfo(np.int32).max, end - 1
        for place in range(end - 1, begin - 1, -1):
            if x[rows[place]] != x[rows[run]]:
                while run > place:
                    bottom = min(bottom, y[rows[run]])
                    run -= 1
            marked[rows[place]] |= bottom < y[rows[place]]
    return marked


@kernel
def first_above(members: Codes, starts: Codes, short: Codes, short_starts: Codes, row_count: int) -> Codes:
    """For each member, the index in `short` of its group's first row above it; both lists ascend in each group."""
    places = np.full(row_count, -1, np.int32)
    for group in range(starts.shape[0] - 1):
        place = short_starts[group]
        for index in range(starts[group], starts[group + 1]):
            row = members[index]
            while place < short_starts[group + 1] and short[place] <= row:
                place += 1
            places[row] = place
    return places
