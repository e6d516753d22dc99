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
    """Write every edge into the lists of both its nodes.

    Parameters
    ----------
    u, v
        Endpoints of the edges, shape `(edges,)`.
    cursor
        The next free place of each node's list, shape `(nodes,)`; advanced.
    neighbours
        The lists, one after another; filled in.
    """
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
    """Write the lists sorted to `out` (a transposition), one range of nodes after the other.

    Parameters
    ----------
    offsets, neighbours
        Adjacency lists.
    cursor
        The next free place of each list in `out`, a copy of `offsets[:-1]` before the first range; advanced.
    out
        The sorted lists, shape of `neighbours`; filled in.
    first, last
        The range of nodes whose lists are read.
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

    Parameters
    ----------
    offsets, neighbours
        Adjacency lists of the whole graph.
    kept
        The nodes of the subgraph.
    label
        The new number of each node, or -1, shape `(nodes,)`.
    new_offsets
        Offsets of the new lists; `new_offsets[first]` is where to write, those after it up to `last` are filled in.
    out
        The new lists; filled in.
    first, last
        The range of `kept`.
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
    """Choose, first come, first served, every node of `order[first:last]` that has no chosen neighbour.

    Parameters
    ----------
    offsets, neighbours
        Adjacency lists.
    order
        Order in which nodes are tried.
    chosen
        Whether each node is chosen so far, shape `(nodes,)`; filled in.
    first, last
        The range of `order`.
    """
    for i in range(first, last):
        x = order[i]
        free = True
        for at in range(offsets[x], offsets[x + 1]):
            if chosen[neighbours[at]]:
                free = False
                break
        if free:
            chosen[x] = True
