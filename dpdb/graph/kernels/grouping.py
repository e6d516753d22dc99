"""Grouping rows by codes: factorizing pairs of columns, counting sorts, longest consistent chains."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpdb.compiled import kernel

Codes = NDArray[np.int32]
State = NDArray[np.int64]

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@kernel
def number_pairs(left: Codes, right: Codes, slots: Codes, numbers: Codes, first: int, last: int, count: int) -> int:
    """Number the pairs of a range of rows by a hash table; returns how many distinct pairs there are by now.

    Parameters
    ----------
    left, right
        The two codes of each row; where either is negative, so is the number.
    slots
        Hash table of the first row of each pair known so far, -1 where free; its length is a power of two.
    numbers
        The number of each row's pair; filled in.
    count
        How many distinct pairs the rows before have.
    """
    mask = np.uint64(slots.shape[0] - 1)
    shift = np.uint64(64)
    size = slots.shape[0]
    while size > 1:
        size >>= 1
        shift -= np.uint64(1)
    for row in range(first, last):
        if left[row] < 0 or right[row] < 0:
            numbers[row] = -1
            continue
        key = (np.uint64(left[row]) << np.uint64(32)) | np.uint64(right[row])
        slot = (key * _MULTIPLIER) >> shift
        while True:
            known = slots[slot]
            if known < 0:
                slots[slot] = row
                numbers[row] = count
                count += 1
                break
            if left[known] == left[row] and right[known] == right[row]:
                numbers[row] = numbers[known]
                break
            slot = (slot + np.uint64(1)) & mask
    return count


@kernel
def count_keys(keys: Codes, counts: Codes, first: int, last: int) -> None:
    """Count the rows of each key in a range of rows.

    Parameters
    ----------
    keys
        The key of each row; rows with a negative key are left out.
    counts
        `counts[key + 1]` counts the rows of a key; added to.
    """
    for row in range(first, last):
        if keys[row] >= 0:
            counts[keys[row] + 1] += 1


@kernel
def look_up(table: Codes, places: NDArray[Any], found: Codes, first: int, last: int) -> None:
    """Read a table at a range of places.

    Parameters
    ----------
    places
        Indices into the table, from its end where they are negative.
    found
        The value at each place; filled in.
    first, last
        The range of `places`.
    """
    for i in range(first, last):
        found[i] = table[places[i]]


@kernel
def place_rows(keys: Codes, listed: Codes, place: Codes, out: Codes, first: int, last: int) -> None:
    """Write listed rows to `out`, each at the next place of its key.

    Parameters
    ----------
    keys
        The key of each row; rows with a negative key are left out.
    place
        The next place of each key in `out`; advanced.
    out
        The rows by key; filled in.
    first, last
        The range of `listed`.
    """
    for i in range(first, last):
        row = listed[i]
        key = keys[row]
        if key >= 0:
            out[place[key]] = row
            place[key] += 1


@kernel
def place_all(keys: Codes, place: Codes, out: Codes, first: int, last: int) -> None:
    """Write rows to `out`, each at the next place of its key.

    Parameters
    ----------
    keys
        The key of each row; rows with a negative key are left out.
    place
        The next place of each key in `out`; advanced.
    out
        The rows by key; filled in.
    """
    for row in range(first, last):
        key = keys[row]
        if key >= 0:
            out[place[key]] = row
            place[key] += 1


@kernel
def count_classes(groups: Codes, classes: Codes, sizes: Codes, group_of: Codes, first: int, last: int) -> None:
    """Count the rows of each class in a range of rows, and note its group.

    Parameters
    ----------
    groups, classes
        The group and the class of each row; rows where either is negative are left out.
    sizes
        How many rows each class has; added to.
    group_of
        The group of each class; filled in.
    """
    for row in range(first, last):
        if groups[row] >= 0 and classes[row] >= 0:
            sizes[classes[row]] += 1
            group_of[classes[row]] = groups[row]


@kernel
def compare_classes(
    sizes: Codes, group_of: Codes, largest: Codes, several: NDArray[np.bool_], first: int, last: int
) -> None:
    """Find each group's largest class (the first one on ties) among a range of classes and those before.

    Parameters
    ----------
    sizes, group_of
        How many rows each class has, and its group (negative: none).
    largest
        The largest class of each group so far, or -1; updated.
    several
        Whether a group has more than one class; filled in.
    """
    for number in range(first, last):
        group = group_of[number]
        if group < 0:
            continue
        if largest[group] < 0:
            largest[group] = number
        else:
            several[group] = True
            if sizes[number] > sizes[largest[group]]:
                largest[group] = number


# -- order constraints: these keep their place in `state`, which begins as zeros, and return whether they are done ----


@kernel
def extend_chains(
    starts: Codes, y: Codes, tails: Codes, values: Codes, before: Codes, ends: Codes, state: State, work: int
) -> bool:
    """Find longest non-decreasing chains of each group's y by patience sorting.

    Parameters
    ----------
    starts
        Where each group starts, shape `(groups + 1,)`.
    y
        The values of each group, one group after another.
    tails, values
        For each length of a chain, the place at which one ends lowest, and its y. Scratch.
    before
        For each place, the place before it in a longest chain that ends there, or -1; filled in.
    ends
        The last place of each group's longest chain, or -1; filled in.
    state
        Group, places of it that are done, length of its longest chain.
    work
        Steps to do before the kernel returns.
    """
    group, place, length = state[0], starts[state[0]] + state[1], state[2]
    while group < starts.shape[0] - 1:
        while place < starts[group + 1]:
            if work <= 0:
                state[0], state[1], state[2] = group, place - starts[group], length
                return False
            work -= 1
            low, high = np.int64(0), length
            if length > 0 and values[length - 1] <= y[place]:
                low = length
            while low < high:
                middle = (low + high) // 2
                if values[middle] <= y[place]:
                    low = middle + 1
                else:
                    high = middle
            before[place] = tails[low - 1] if low > 0 else -1
            tails[low], values[low] = place, y[place]
            if low == length:
                length += 1
            place += 1
        ends[group] = tails[length - 1] if length > 0 else -1
        group, length = group + 1, np.int64(0)
        work -= 1
    return True


@kernel
def mark_chains(before: Codes, ends: Codes, marked: NDArray[np.bool_], state: State, work: int) -> bool:
    """Mark the places of each group's longest chain, from its end.

    Parameters
    ----------
    before, ends
        As `extend_chains` left them.
    marked
        Whether a place is in its group's chain; filled in.
    state
        Group, next place + 1 (0: its last).
    work
        Steps to do before the kernel returns.
    """
    group, place = state[0], state[1] - 1
    while group < ends.shape[0]:
        if place < 0:
            place = np.int64(ends[group])
        while place >= 0:
            if work <= 0:
                state[0], state[1] = group, place + 1
                return False
            work -= 1
            marked[place] = True
            place = np.int64(before[place])
        group += 1
        work -= 1
    return True


@kernel
def mark_above(starts: Codes, x: Codes, y: Codes, marked: NDArray[np.bool_], state: State, work: int) -> bool:
    """Mark the places that have one of smaller x and greater y before them in their group.

    Parameters
    ----------
    starts
        Where each group starts, shape `(groups + 1,)`.
    x, y
        The order positions of each group's rows by ascending x.
    marked
        Shape `(rows,)`; filled in.
    state
        Group, places of it that are done, of these the ones taken into the greatest y, that y + 1 (0: none).
    work
        Steps to do before the kernel returns.
    """
    group = state[0]
    while group < starts.shape[0] - 1:
        begin, end = starts[group], starts[group + 1]
        place, run, top = begin + state[1], begin + state[2], state[3] - 1
        while place < end:
            if work <= 0:
                state[0], state[1], state[2], state[3] = group, place - begin, run - begin, top + 1
                return False
            work -= 1
            if x[place] != x[run]:
                while run < place:  # a run of equal x counts once the next one begins
                    if y[run] > top:
                        top = np.int64(y[run])
                    run += 1
            marked[place] |= top > y[place]
            place += 1
        group += 1
        work -= 1
        state[1], state[2], state[3] = 0, 0, 0
    state[0] = group
    return True


@kernel
def find_places(
    members: Codes, starts: Codes, short: Codes, short_starts: Codes, places: Codes, state: State, work: int
) -> bool:
    """For each member, where its list goes on (`Blocks.place`): in `short` at its group's first row above it.

    For a row of `short` itself at -p - 1, p being its index in `members`.

    Parameters
    ----------
    members, starts
        Each group's rows, ascending, and where each group starts.
    short, short_starts
        Each group's minority rows, ascending, and where each group starts.
    places
        Filled in at every member, shape `(rows,)`.
    state
        Group, members of it that are done, rows of its short list that are passed.
    work
        Steps to do before the kernel returns.
    """
    group = state[0]
    while group < starts.shape[0] - 1:
        index, place = starts[group] + state[1], short_starts[group] + state[2]
        while index < starts[group + 1]:
            if work <= 0:
                state[0], state[1], state[2] = group, index - starts[group], place - short_starts[group]
                return False
            work -= 1
            row = members[index]
            while place < short_starts[group + 1] and short[place] <= row:
                place += 1
            minor = place > short_starts[group] and short[place - 1] == row
            places[row] = -index - 1 if minor else place
            index += 1
        group += 1
        work -= 1
        state[1], state[2] = 0, 0
    state[0] = group
    return True
