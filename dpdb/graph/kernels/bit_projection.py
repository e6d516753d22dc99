"""Edge-addition projection of one order rule's group, 64 rows at a time: sets of rows are bits, degrees bit planes.

Rows are numbered by rank within their group. A kernel serves one column: some thousand consecutive rows, as candidates
v of all rows u before and among them. Columns ascend, and the rows u of each. So each u meets its candidates in
ascending order, each v its rows u, and nothing else decides which edges are kept: the canonical order's result.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpdb.compiled import kernel

__all__ = ["Column", "project_column"]

Words = NDArray[np.uint64]
Ints = NDArray[np.int32]

_ONE = np.uint64(1)


class Column(NamedTuple):
    """The rows `first .. first + size` of a group as sets.

    Attributes
    ----------
    by_x, by_y : uint64 (rows + 1, words)
        At i, a set of the i rows that are first in order of x (y).
    less_x, less_y : int32 (codes + 1,)
        How many of the rows have an x (y) below a code.
    first, size : int
    """

    by_x: Words
    by_y: Words
    less_x: Ints
    less_y: Ints
    first: int
    size: int


@kernel
def _ones(word: np.uint64) -> np.int64:
    """Count the bits (the compiler knows this idiom)."""
    word = word - ((word >> _ONE) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def _keep_lowest(word: np.uint64, count: int) -> np.uint64:
    """Keep the `count` lowest bits that are set."""
    kept = np.uint64(0)
    while count > 0 and word != 0:
        lowest = word & (~word + _ONE)
        kept |= lowest
        word ^= lowest
        count -= 1
    return kept


@kernel
def project_column(
    column: Column,
    x: Ints,
    y: Ints,
    waiting: Ints,
    theta: int,
    degree: Ints,
    below: Words,
    planes: Words,
    chosen: Words,
    state: NDArray[np.int64],
    work: int,
) -> bool:
    """Keep the edges from the rows in `waiting` to the column; returns whether all of them are done.

    A candidate's degree plus 2^planes - theta lies across `planes`, so that it is the carry out of the last one which
    tells that the candidate has reached theta.

    Parameters
    ----------
    x, y : int32 (rows of the group,)
    waiting : int32
        Rows, ascending: those before the column that are below theta, and all of the column.
    degree : int32 (rows of the group,)
        Of those before the column; of a row of the column it is written when the row's turn comes.
    below : uint64 (words,)
        The candidates below theta.
    planes : uint64 (bits, words)
    chosen : uint64 (words,)
        Scratch.
    state
        How many of `waiting` are done, edges kept.
    work : int
        Words to look at before the kernel returns, after a whole row.
    """
    i, bits, words = state[0], planes.shape[0], planes.shape[1]
    open_candidates = True
    while i < waiting.shape[0] and work > 0:
        u = waiting[i]
        i += 1
        own = u - column.first
        start = 0
        if own >= 0:
            start = own >> 6
            value = np.int64(0)
            for p in range(bits):
                value |= np.int64((planes[p, start] >> np.uint64(own & 63)) & _ONE) << p
            full = (below[start] >> np.uint64(own & 63)) & _ONE == 0
            degree[u] = theta if full else value - ((np.int64(1) << bits) - theta)
        room = theta - degree[u]
        if room <= 0 or not open_candidates:
            work -= 1
            continue
        low_x, above_x = column.by_x[column.less_x[x[u]]], column.by_x[column.less_x[x[u] + 1]]
        low_y, above_y = column.by_y[column.less_y[y[u]]], column.by_y[column.less_y[y[u] + 1]]
        count, still_open = np.int64(0), np.uint64(0)
        for w in range(start, words):
            found = ((low_x[w] & ~above_y[w]) | (low_y[w] & ~above_x[w])) & below[w]
            still_open |= below[w]
            chosen[w] = found
            count += _ones(found)
        work -= words
        if own >= 0:
            found = chosen[start]
            chosen[start] = found & ~((np.uint64(2) << np.uint64(own & 63)) - _ONE)
            count -= _ones(found ^ chosen[start])
        else:
            open_candidates = still_open != 0
        if count == 0:
            continue
        if count > room:
            count = np.int64(0)
            for w in range(start, words):
                chosen[w] = _keep_lowest(chosen[w], room - count)
                count += _ones(chosen[w])
        degree[u] += count
        state[1] += count
        for p in range(bits):
            carried = np.uint64(0)
            for w in range(start, words):
                plane = planes[p, w]
                planes[p, w] = plane ^ chosen[w]
                chosen[w] &= plane
                carried |= chosen[w]
            if carried == 0:
                break
        for w in range(start, words):
            below[w] &= ~chosen[w]
        work -= words
    state[0] = i
    return bool(i >= waiting.shape[0])
