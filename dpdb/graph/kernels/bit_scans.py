"""Scans of one order rule's group, 64 rows at a time: sets of rows are bits, degrees bit planes.

Rows are numbered by rank within their group. A kernel serves one column: some thousand consecutive rows, as candidates
v of all rows u before and among them. Columns ascend, and the rows u of each. So each u meets its candidates in
ascending order, each v its rows u; what a scan does at an edge (u, v) depends on what earlier edges did to u and to v
only. So the result is that of the canonical order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpdb.compiled import kernel

__all__ = ["Column", "project_column", "witness_column"]

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
def _around(column: Column, x: int, y: int) -> tuple[Words, Words, Words, Words]:
    """Return the sets of rows with a smaller x, an x at most as large, and the same of y."""
    by_x, by_y = column.by_x, column.by_y
    return (
        by_x[column.less_x[x]],
        by_x[column.less_x[x + 1]],
        by_y[column.less_y[y]],
        by_y[column.less_y[y + 1]],
    )


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
        low_x, above_x, low_y, above_y = _around(column, x[u], y[u])
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


@kernel
def witness_column(
    column: Column,
    x: Ints,
    y: Ints,
    waiting: Ints,
    theta: int,
    covered: NDArray[np.bool_],
    used: Ints,
    uncovered: Words,
    able: Words,
    state: NDArray[np.int64],
    work: int,
) -> bool:
    """Let the rows in `waiting` and those of the column cover one another; returns whether all of them are done.

    At an edge (u, v) u covers v if v is uncovered and u covers fewer than theta, then v covers u likewise. The two do
    not touch each other: so u covers its first uncovered candidates, and is covered by its first able one.

    Parameters
    ----------
    x, y : int32 (rows of the group,)
    waiting : int32
        Rows, ascending: those before the column that are uncovered or cover fewer than theta, and all of the column.
    covered : bool (rows of the group,)
        Of those before the column; of a row of the column it is written when the row's turn comes.
    used : int32 (rows of the group,)
        How many rows each covers.
    uncovered, able : uint64 (words,)
        The candidates that are uncovered; those that cover fewer than theta.
    state
        How many of `waiting` are done, covered rows.
    work : int
        Words to look at before the kernel returns, after a whole row.
    """
    i, words = state[0], uncovered.shape[0]
    some_uncovered, some_able = True, True
    while i < waiting.shape[0] and work > 0:
        u = waiting[i]
        i += 1
        own = u - column.first
        start, within = 0, ~np.uint64(0)
        if own >= 0:
            start = own >> 6
            covered[u] = (uncovered[start] >> np.uint64(own & 63)) & _ONE == 0
            within = ~((np.uint64(2) << np.uint64(own & 63)) - _ONE)
        covers, wants = used[u] < theta and some_uncovered, not covered[u] and some_able
        if not covers and not wants:
            work -= 1
            continue
        low_x, above_x, low_y, above_y = _around(column, x[u], y[u])
        any_uncovered, any_able = np.uint64(0), np.uint64(0)
        w = start
        while w < words and (covers or wants):
            found = ((low_x[w] & ~above_y[w]) | (low_y[w] & ~above_x[w])) & within
            within = ~np.uint64(0)
            any_uncovered |= uncovered[w]
            any_able |= able[w]
            if covers and found & uncovered[w] != 0:
                taken = _keep_lowest(found & uncovered[w], theta - used[u])
                uncovered[w] ^= taken
                used[u] += _ones(taken)
                state[1] += _ones(taken)
                covers = used[u] < theta
            if wants and found & able[w] != 0:
                taken = _keep_lowest(found & able[w], 1)
                v = column.first + 64 * w + _ones(taken - _ONE)
                used[v] += 1
                if used[v] == theta:
                    able[w] ^= taken
                covered[u], wants = True, False
                state[1] += 1
            w += 1
        work -= 1 + w - start
        if own < 0 and w == words:
            some_uncovered, some_able = any_uncovered != 0, any_able != 0
    state[0] = i
    return bool(i >= waiting.shape[0])
