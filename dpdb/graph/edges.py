"""The edges of a conflict graph, the only input of this room: in canonical order, batch by batch.

Nodes are `0 .. node_count - 1`, numbered by row rank; an edge is a pair `u < v` and comes once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpdb.errors import ParameterError

__all__ = ["Batch", "EdgeArrays", "OrderedEdges", "read_batches"]

Batch: TypeAlias = tuple[NDArray[np.uint32], NDArray[np.uint32]]


class OrderedEdges(Protocol):
    """A conflict graph as a stream of ordered edge batches that can be scanned more than once."""

    @property
    def node_count(self) -> int:
        """Rows of the slice that are in the graph (isolated ones too)."""
        ...

    def batches(self) -> Iterator[Batch]:
        """Start a new scan: arrays `(u, v)` of equal length, `u < v`, in canonical order."""
        ...


class EdgeArrays:
    """Ordered edges held in memory.

    Parameters
    ----------
    node_count
        Number of nodes; every endpoint is below it.
    u, v
        Endpoints of the edges in scan order, shape `(edges,)`, `u < v`.
    batch_size
        Edges per batch.
    """

    def __init__(self, node_count: int, u: ArrayLike, v: ArrayLike, batch_size: int = 1_000_000) -> None:
        self._node_count = node_count
        self._u = np.asarray(u, dtype=np.uint32)
        self._v = np.asarray(v, dtype=np.uint32)
        self._batch_size = batch_size
        if node_count < 0 or batch_size < 1:
            raise ParameterError("node_count must not be negative and batch_size must be positive")
        if self._u.ndim != 1 or self._u.shape != self._v.shape:
            raise ParameterError("u and v must be one-dimensional arrays of one length")

    @classmethod
    def from_pairs(cls, node_count: int, pairs: Iterable[tuple[int, int]], batch_size: int = 1_000_000) -> EdgeArrays:
        """Build from pairs in scan order.

        Parameters
        ----------
        node_count
            Number of nodes; every endpoint is below it.
        pairs
            The edges `(u, v)` in scan order, `u < v`.
        batch_size
            Edges per batch.
        """
        columns = np.array(list(pairs), dtype=np.uint32).reshape(-1, 2)
        return cls(node_count, columns[:, 0], columns[:, 1], batch_size)

    @property
    def node_count(self) -> int:
        """Number of nodes, isolated ones included."""
        return self._node_count

    def batches(self) -> Iterator[Batch]:
        """Start a new scan."""
        for start in range(0, len(self._u), self._batch_size):
            stop = start + self._batch_size
            yield self._u[start:stop], self._v[start:stop]


def read_batches(edges: OrderedEdges) -> Iterator[Batch]:
    """Scan once, checking the contract of the kernels: contiguous read-only uint32, `u < v < node_count`.

    Raises
    ------
    ParameterError
        A batch breaks the contract (kernels index without bounds checks, so this is checked here).
    """
    for first, second in edges.batches():
        u, v = _frozen(first), _frozen(second)
        if u.ndim != 1 or u.shape != v.shape:
            raise ParameterError("an edge batch must be two one-dimensional arrays of one length")
        if not u.size:
            continue
        if int(v.max()) >= edges.node_count or not bool(np.all(u < v)):
            raise ParameterError("an edge batch must have u < v < node_count in every row")
        yield u, v


def _frozen(endpoints: NDArray[np.uint32]) -> NDArray[np.uint32]:
    # Arrow buffers are read-only; making every batch so keeps one compiled form of each kernel.
    view = np.ascontiguousarray(endpoints, dtype=np.uint32).view()
    view.flags.writeable = False
    return view
