"""Two challengers from the literature, read as far as they can be read, for `accuracy.py --challengers`.

Evaluation only: float noise, and NP-hard statistics replaced by greedy ones. No module of dpdb imports this.

N2E (Hu, Ding and Dong, arXiv 2511.20125). Readable to us: title, abstract, the beginning of the introduction, and a
third party's reading note. It reduces node-DP to edge-DP: the sparse vector technique over tau = 1, 2, 4, ... on "how
many nodes must be deleted until no degree exceeds tau" (sensitivity 1) finds a tau near the maximum degree; the graph
is clipped to tau; an edge-DP mechanism answers at a tau-th of its epsilon. `n2e` is that for a count, where our
projection serves as the clipping: for edges it costs exactly tau, and no clipping can cost less; for rows in conflict
the witness count costs tau + 1, where any edge-DP count of them would pay 2 tau.

OPT2 (Dong, Fang, Yi, Tao and Machanavajjhala, TODS 2024, doi 10.1145/3697831). Readable to us: the abstract and the
beginning of the introduction, not the mechanism. It takes R2T's error for down-neighbourhood optimality from a
logarithm to a double logarithm, in polynomial time, with an LP solver. Two well-defined members of the family stand in
for it. `opt2_truncation` asks by sparse vector for the first tau = 1, 2, 4, ... whose LP truncation Q(tau) misses
little, in units of sensitivity, and releases Q(tau) there: a search among log(n) values costs a double logarithm.
`opt2_inverse` is the shifted inverse of Fang, Dong and Yi (CCS 2022): by sparse vector the first y = 1, 1.1, 1.21, ...
to which the measure falls when few rows are deleted.

Constants below were compared on tables of seed 2100.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpdb.graph import twice_truncated_edges
from dpdb.graph.listed.edge_graph import Adjacency
from dpdb.measures.answer import EDGES, WITNESSES, ProjectedStatistic
from dpdb.release.statistics import SliceStatistics

__all__ = ["CHALLENGERS", "Challenged"]

_MOST_PAIRS = 150_000  # beyond, linear programs take minutes
_SELECT = 0.4  # of epsilon, where something is released after the selection
_SLACK = 4.0  # in scales of the noise: what the sparse vector technique still takes for 0
_STEP = 1.1
_PUBLIC_ROWS = 10_000  # they need a public bound of the degrees; so many rows have the tables of `accuracy.py`


@dataclass(frozen=True)
class Peeled:
    """What is left as the row with most conflicts is deleted again and again: upper bounds of the least possible.

    Attributes
    ----------
    degrees, edges, nodes : int64, shape (deletions + 1,)
        Greatest degree, conflicts and rows in conflict after 0, 1, 2, ... deletions.
    """

    degrees: NDArray[np.int64]
    edges: NDArray[np.int64]
    nodes: NDArray[np.int64]


def peel(graph: Adjacency) -> Peeled:
    """Delete until no conflict is left."""
    degrees, edges = graph.degrees.copy(), graph.edge_count
    gone = np.zeros(graph.node_count, np.bool_)
    seen = []
    while True:
        most = int(np.argmax(degrees)) if len(degrees) else 0
        greatest = int(degrees[most]) if len(degrees) else 0
        seen.append((greatest, edges, np.count_nonzero(degrees)))
        if greatest == 0:
            return Peeled(*np.array(seen, np.int64).T)
        around = graph.neighbours_of(most)
        degrees[around[~gone[around]]] -= 1
        edges -= greatest
        degrees[most], gone[most] = 0, True


class Challenged:
    """A table's statistics for the challengers, each computed once."""

    def __init__(self, statistics: SliceStatistics) -> None:
        self.statistics, self.self_conflicts = statistics, statistics.self_conflicts
        self.peeled = peel(statistics.graph.adjacency)

    def truncations(self, taus: Sequence[int]) -> tuple[list[float], bool]:
        """Q(tau) and True; on graphs too large for it, the edges of our projection, which Q exceeds, and False."""
        graph = self.statistics.graph.adjacency
        if graph.edge_count > _MOST_PAIRS:
            return [float(edges) for edges in self.statistics.projected_edges(taus)], False
        return [twice / 2 for twice in twice_truncated_edges(graph, taus)], True


Releases = Iterator[float]
_Random = np.random.Generator


def n2e(table: Challenged, statistic: ProjectedStatistic, epsilon: float, releases: int, draw: _Random) -> Releases:
    """N2E, as far as it is readable; see the module."""
    taus = _powers_of_two()
    # Deletions until no degree exceeds tau: the first of the falling degrees that does not.
    deleted = np.searchsorted(-table.peeled.degrees, [-tau for tau in taus])
    select = _SELECT * epsilon
    exact = dict(zip(taus, statistic.read(table.statistics, taus), strict=True))
    for _ in range(releases):
        tau = taus[_first_below(deleted, select, 1.0, draw)]
        answer = table.self_conflicts + exact[tau]
        yield max(0.0, answer + draw.laplace(0, statistic.sensitivity(tau) / (epsilon - select)))


def opt2_truncation(
    table: Challenged, statistic: ProjectedStatistic, epsilon: float, releases: int, draw: _Random
) -> Releases:
    """Sparse vector over LP truncations: what the larger ones add, in units of their sensitivity, changes by 3/2."""
    taus, select = _powers_of_two(), _SELECT * epsilon
    values = table.truncations(taus)[0]
    larger = [list(zip(values[k:], taus[k:], strict=True)) for k in range(len(taus))]
    missing = np.array([max((q - values[k]) / tau for q, tau in larger[k]) for k in range(len(taus))])
    for _ in range(releases):
        k = _first_below(missing, select, 1.5, draw)
        yield max(
            0.0, table.self_conflicts + values[k] + draw.laplace(0, statistic.sensitivity(taus[k]) / (epsilon - select))
        )


def opt2_inverse(
    table: Challenged, statistic: ProjectedStatistic, epsilon: float, releases: int, draw: _Random
) -> Releases:
    """Shifted inverse: the rows to delete until the measure is at most y, for growing y, by sparse vector."""
    left = table.self_conflicts + (table.peeled.edges if statistic is EDGES else table.peeled.nodes)
    steps = math.ceil(2 * math.log(_PUBLIC_ROWS) / math.log(_STEP))
    grid = np.array([0.0, *(_STEP**k for k in range(steps))])
    deleted = np.searchsorted(-left, -grid)
    for _ in range(releases):
        yield float(grid[_first_below(deleted, epsilon, 1.0, draw)])


_Challenger = Callable[[Challenged, ProjectedStatistic, float, int, _Random], Releases]
CHALLENGERS: dict[str, tuple[ProjectedStatistic, dict[str, _Challenger]]] = {
    "minimal_inconsistency": (EDGES, {"n2e": n2e, "opt2_truncation": opt2_truncation, "opt2_inverse": opt2_inverse}),
    "problematic": (WITNESSES, {"n2e": n2e, "opt2_inverse": opt2_inverse}),
}
"""By measure: the statistic that a selected tau is answered with, and the challengers by name."""


def _powers_of_two() -> list[int]:
    return [1 << k for k in range(_PUBLIC_ROWS.bit_length() + 1)]


def _first_below(queries: NDArray[np.int64] | NDArray[np.float64], epsilon: float, length: float, draw: _Random) -> int:
    """AboveThreshold, half of epsilon each: the first query that is noisily at most `_SLACK`; at worst the last.

    One row moves the queries within one interval of `length`, so noise of length / share suffices for both.
    """
    scale = 2 * length / epsilon
    bar = _SLACK * scale + draw.laplace(0, scale)
    passed = np.flatnonzero(queries + draw.laplace(0, scale, len(queries)) <= bar)
    return int(passed[0]) if len(passed) else len(queries) - 1
