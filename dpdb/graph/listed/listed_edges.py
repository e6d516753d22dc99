"""Listed edges of a conflict graph, and what one ordered scan counts of them: degrees, projections and witness counts.

Such edges are the only input of this package: in canonical order, batch by batch. Nodes are `0 .. node_count - 1`,
numbered by row rank; an edge is a pair `u < v` and comes once. A theta is a threshold of degrees, as it is given.

Edge-addition projection pi_theta: paper A, Algorithm 1; Day, Li and Lyu, SIGMOD 2016. Witness count W_theta: how many
nodes find a neighbour that vouches for their being in a conflict, where each may vouch for theta others; new here,
the statistic behind the default `problematic`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpdb.errors import ParameterError
from dpdb.graph.steps import ranges

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


def check_theta(theta: int) -> int:
    """Return a threshold as an integer of at least 1, or raise `ParameterError`."""
    try:
        value = operator.index(theta)
    except TypeError:
        raise ParameterError(f"theta must be an integer, got {theta!r}") from None
    if value < 1:
        raise ParameterError(f"theta must be at least 1, got {value}")
    return value


def check_thetas(thetas: Sequence[int]) -> tuple[int, ...]:
    """Check each of some thresholds."""
    return tuple(check_theta(theta) for theta in thetas)


def bounded_theta(theta: int, node_count: int) -> int:
    """Return a threshold that bounds the same: above `node_count - 1` it bounds nothing."""
    return min(theta, max(node_count - 1, 1))


@dataclass(frozen=True)
class DegreeSummary:
    """Exact counts of a conflict graph."""

    edge_count: int
    """I_MI without self-conflicts."""
    positive_degree_nodes: int
    """I_P without self-conflicts: nodes with at least one edge."""
    max_degree: int


class DegreeCounter:
    """Accumulates degrees batch by batch."""

    def __init__(self, node_count: int) -> None:
        self.degrees = np.zeros(node_count, dtype=np.int64)

    def add(self, u: NDArray[np.uint32], v: NDArray[np.uint32]) -> None:
        """Add one batch of edges."""
        from dpdb.graph.kernels.listed_edges import count_degrees

        count_degrees(u, v, self.degrees)

    def summary(self) -> DegreeSummary:
        """Summarize the edges added so far."""
        return DegreeSummary(
            edge_count=int(self.degrees.sum()) // 2,
            positive_degree_nodes=int(np.count_nonzero(self.degrees)),
            max_degree=int(self.degrees.max(initial=0)),
        )


def degree_summary(edges: OrderedEdges) -> DegreeSummary:
    """Count edges, nodes with an edge, and the maximum degree.

    Node sensitivity is `nodes - 1` for the two degree counts, `nodes` for the positive-degree nodes: a new
    node may be adjacent to all others. That is unbounded, so none of them is ever released from here.
    """
    return counted_degrees(edges).summary()


def counted_degrees(edges: OrderedEdges) -> DegreeCounter:
    """Count the degrees in one pass; the order of the edges does not matter."""
    counter = DegreeCounter(edges.node_count)
    for u, v in read_batches(edges):
        counter.add(u, v)
    return counter


@dataclass(frozen=True)
class ProjectedCounts:
    """Counts of the projection of a conflict graph to maximum degree theta."""

    theta: int
    edge_count: int
    """Node sensitivity theta, monotone."""
    positive_degree_nodes: int
    """Node sensitivity theta + 1, not monotone (paper A's Lemma 1 says theta, which is false)."""


class _ByTheta:
    """One number per node for each theta, counted batch by batch in canonical order."""

    def __init__(self, node_count: int, thetas: Sequence[int]) -> None:
        self._node_count, self._thetas = node_count, check_thetas(thetas)
        bounds = {bounded_theta(theta, node_count) for theta in self._thetas}
        self._numbers = {theta: np.zeros(node_count, np.uint32) for theta in sorted(bounds)}


class Projection(_ByTheta):
    """Projections to every theta: the degrees of the nodes in each."""

    def add(self, u: NDArray[np.uint32], v: NDArray[np.uint32]) -> None:
        """Add one batch of edges, in order."""
        from dpdb.graph.kernels.listed_edges import project

        for first, last in ranges(len(u), len(self._numbers)):
            for theta, degree in self._numbers.items():
                project(u[first:last], v[first:last], theta, degree)

    def counts(self) -> tuple[ProjectedCounts, ...]:
        """Count the projections of the edges added so far, one entry per given theta."""
        found = {
            theta: (int(degree.sum(dtype=np.int64)) // 2, int(np.count_nonzero(degree)))
            for theta, degree in self._numbers.items()
        }
        return tuple(ProjectedCounts(each, *found[bounded_theta(each, self._node_count)]) for each in self._thetas)


def projected_counts(edges: OrderedEdges, thetas: Sequence[int]) -> tuple[ProjectedCounts, ...]:
    """Project the graph to every theta and count, in one pass: keep (u, v) iff both degrees are below theta.

    Sensitivity: let a node x arrive. The kept sets differ by at most theta alternating paths (added, dropped,
    added, ...), each starting with an edge at x, since dropping or adding an edge frees or fills one place
    at its far end. A path adds as many edges as it drops, or one more: edges change by [0, theta]. Inner
    nodes keep their degree, only x and the far ends change: positive-degree nodes change by
    [-(theta - 1), theta + 1]. A hub arriving on theta isolated nodes attains theta + 1.

    Edges never fall as theta grows: room for one more edge at one node is likewise one alternating path from there,
    which adds as many edges as it drops, or one more.

    Parameters
    ----------
    edges
        The graph, in canonical order (the order matters).
    thetas
        Degree bounds, at least 1, in any order, duplicates allowed, of any size.

    Returns
    -------
    tuple of ProjectedCounts
        One per theta, in the order of `thetas`.

    Raises
    ------
    ParameterError
        A theta is not an integer or is below 1.
    """
    projection = Projection(edges.node_count, thetas)
    if thetas:
        for u, v in read_batches(edges):
            projection.add(u, v)
    return projection.counts()


def greedy_cover_size(edges: OrderedEdges) -> int:
    """Size of the vertex cover that takes both ends of every edge not yet covered, in canonical order.

    These edges are the projection at theta = 1 (paper A, Algorithm 5, without its noise). At least the minimum vertex
    cover and at most twice it. Sensitivity 2, monotone (change 0 or 2; Proposition 3): twice an edge count whose change
    is in [0, 1].
    """
    return 2 * projected_counts(edges, [1])[0].edge_count


class WitnessCount(_ByTheta):
    """Witness counts for every theta: how many others each node covers, and which nodes are covered."""

    def __init__(self, node_count: int, thetas: Sequence[int]) -> None:
        super().__init__(node_count, thetas)
        self._covered = {theta: np.zeros(node_count, np.bool_) for theta in self._numbers}

    def add(self, u: NDArray[np.uint32], v: NDArray[np.uint32]) -> None:
        """Add one batch of edges, in order."""
        from dpdb.graph.kernels.listed_edges import witness

        for first, last in ranges(len(u), len(self._numbers)):
            for theta, covers in self._numbers.items():
                witness(u[first:last], v[first:last], theta, covers, self._covered[theta])

    def counts(self) -> tuple[int, ...]:
        """Count covered nodes among the edges added so far, one entry per given theta."""
        found = {theta: int(np.count_nonzero(covered)) for theta, covered in self._covered.items()}
        return tuple(found[bounded_theta(each, self._node_count)] for each in self._thetas)


def witness_counts(edges: OrderedEdges, thetas: Sequence[int]) -> tuple[int, ...]:
    """Witness count W_theta for every theta, in one pass.

    For each edge (u, v) in canonical order: if v is uncovered and u covers fewer than theta nodes, u covers
    v; then the same with the roles exchanged. W_theta is the number of covered nodes; it equals the number of
    positive-degree nodes once theta reaches the maximum degree.

    Sensitivity theta + 1, monotone (change in [0, theta + 1]): this is a greedy matching in a fixed order
    between nodes and theta copies of every node, and one new vertex of a bipartite graph changes a greedy
    matching by one alternating path, 0 or +1; a new row brings 1 + theta vertices.

    Parameters
    ----------
    edges
        The graph, in canonical order.
    thetas
        Capacities, at least 1, in any order, duplicates allowed, of any size.

    Returns
    -------
    tuple of int
        One count per theta, in the order of `thetas`.

    Raises
    ------
    ParameterError
        A theta is not an integer or is below 1.
    """
    count = WitnessCount(edges.node_count, thetas)
    if thetas:
        for u, v in read_batches(edges):
            count.add(u, v)
    return count.counts()
