"""Rows that cross a row: smaller in x and greater in y, or greater in x and smaller in y. Counted, not listed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpdb.compiled import kernel

__all__ = ["count_crossings"]

Ints = NDArray[np.int32]

_BEFORE, _CLEAR, _AFTER, _CLEAR_AGAIN = 0, 1, 2, 3
_LEVELS = 16  # the cost of one access to the tree, in rows read in order


@kernel
def _add(tree: Ints, y: int) -> None:
    at = y + 1
    while at < tree.shape[0]:
        tree[at] += 1
        at += at & -at


@kernel
def _below(tree: Ints, y: int) -> int:
    """Count the entries of the tree that are below y."""
    found, at = 0, y
    while at > 0:
        found += tree[at]
        at &= at - 1
    return found


@kernel
def count_crossings(
    rows: Ints,
    starts: Ints,
    x: Ints,
    y: Ints,
    sign: int,
    tree: Ints,
    degree: NDArray[np.int64],
    state: NDArray[np.int64],
    work: int,
) -> bool:
    """Add to each row's degree, times `sign`, how many rows of its group cross it; returns whether all are counted.

    Sweeps each group by ascending and by descending x, with a Fenwick tree over the y of the rows that are strictly
    behind: O(rows log values).

    Parameters
    ----------
    rows, starts
        Each group's rows by ascending x.
    x, y
        Of all rows, at least 0.
    tree : int32 (values of y + 1,)
        Zeros, before and after.
    state
        Group, sweep of it, rows of the sweep that are done, of these the ones that are in the tree.
    """
    group, sweep = state[0], state[1]
    while group < starts.shape[0] - 1:
        begin, size = starts[group], starts[group + 1] - starts[group]
        done, taken = state[2], state[3]
        while done < size:
            if work <= 0:
                state[0], state[1], state[2], state[3] = group, sweep, done, taken
                return False
            work -= _LEVELS
            row = rows[begin + done if sweep <= _CLEAR else begin + size - 1 - done]
            if sweep in (_CLEAR, _CLEAR_AGAIN):
                at = y[row] + 1
                while at < tree.shape[0] and tree[at] != 0:  # whoever cleared an entry has cleared those above it
                    tree[at] = 0
                    at += at & -at
                done += 1
                continue
            behind = rows[begin + taken if sweep == _BEFORE else begin + size - 1 - taken]
            if x[behind] != x[row]:  # rows of equal x count once the next ones are met
                _add(tree, y[behind])
                taken += 1
                continue
            if sweep == _BEFORE:
                degree[row] += sign * (taken - _below(tree, y[row] + 1))
            else:
                degree[row] += sign * _below(tree, y[row])
            done += 1
        state[2], state[3] = 0, 0
        sweep += 1
        if sweep > _CLEAR_AGAIN:
            group, sweep = group + 1, np.int64(0)
            work -= 1
    return True
