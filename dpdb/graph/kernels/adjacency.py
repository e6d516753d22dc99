"""Adjacency lists in compressed form: fill, sort, induce, choose an independent set."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpdb.compiled import kernel

__all__ = ["choose_independent", "fill_adjacency", "induce_adjacency", "sort_adjacency"]


@kernel
def fill_adjacency(
    u: NDArray[np.uint32], v: NDArray[np.uint32], cursor: NDArray[np.int64], neighbours: NDArray[np.uint32]
) -> None:
    """Write the edges `(u, v)` into both lists; `cursor[node]` is the next free place of its list."""
    for i in range(u.shape[0]):
        a, b = u[i], v[i]
        neighbours[cursor[a]] = b
        cursor[a] += 1
        neighbours[cursor[b]] = a
        cursor[b] += 1


@kernel
def sort_adjacency(
    offsets: NDArray[np.int64],
    neighbours: NDArray[np.uint32],
    cursor: NDArray[np.int64],
    out: NDArray[np.uint32],
    first: int,
    last: int,
) -> None:
    """Write the lists sorted to `out` (a transposition), from nodes `first .. last`, one range after the other.

    `cursor` starts as a copy of `offsets[:-1]`.
    """
    for node in range(first, last):
        for at in range(offsets[node], offsets[node + 1]):
            other = neighbours[at]
            out[cursor[other]] = node
            cursor[other] += 1


@kernel
def induce_adjacency(
    offsets: NDArray[np.int64],
    neighbours: NDArray[np.uint32],
    kept: NDArray[np.int64],
    label: NDArray[np.int64],
    new_offsets: NDArray[np.int64],
    out: NDArray[np.uint32],
    first: int,
    last: int,
) -> None:
    """Write the lists of `kept[first:last]` in the subgraph of `kept`, one range after the other.

    `label` has the new number of a node, or -1; `new_offsets[first]` is where to write.
    """
    at = new_offsets[first]
    for i in range(first, last):
        node = kept[i]
        for j in range(offsets[node], offsets[node + 1]):
            other = label[neighbours[j]]
            if other >= 0:
                out[at] = other
                at += 1
        new_offsets[i + 1] = at


@kernel
def choose_independent(
    offsets: NDArray[np.int64],
    neighbours: NDArray[np.uint32],
    order: NDArray[np.int64],
    chosen: NDArray[np.bool_],
    first: int,
    last: int,
) -> None:
    """Choose, first come, first served, every node of `order[first:last]` that has no chosen neighbour."""
    for i in range(first, last):
        x = order[i]
        free = True
        for at in range(offsets[x], offsets[x + 1]):
            if chosen[neighbours[at]]:
                free = False
                break
        if free:
            chosen[x] = True
