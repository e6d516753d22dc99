"""The exact statistics of one slice, each computed at most once: of its conflict graph, or without one. Private."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpdb.engine import Partners, RuleStatistic, Slice, Table, Thinning, WherePredicate, degree_terms
from dpdb.graph import BlockConstraint, CertifiedCover, EdgeGraph, ProjectedCounts, UncertifiedError, chain_partners
from dpdb.release.conflict_graph import ConflictGraph, block_graph, conflict_graph, order_block
from dpdb.thresholds import THINNED_ROUNDS

__all__ = [
    "ROUNDS",
    "FewestDeletions",
    "SliceStatistics",
    "thinned_cover",
]


ROUNDS = (Partners(3, 8), Partners(6, 32))
"""The partners of a row that each round loads, before all rows in conflict are loaded."""

Chain: TypeAlias = tuple[BlockConstraint, NDArray[np.int64]]
"""An order rule over rows, and the place of each row's value among its values."""


def thinned_cover(slice_: Slice) -> CertifiedCover | None:
    """Load more and more rows until they prove 2 tau* of the whole graph; None if that takes all rows in conflict."""
    thinning = slice_.thinning()
    if thinning is None:
        return None
    try:
        chains = {position: _chain(thinning, position) for position in thinning.orders}
        for partners in ROUNDS[: int(THINNED_ROUNDS.at)]:
            found = _certified(thinning, partners, chains)
            if found is not None:
                return found
        return None
    finally:
        thinning.close()


def _chain(thinning: Thinning, position: int) -> Chain:
    values, copies = thinning.values(position)
    return order_block(values, copies), np.repeat(np.arange(copies.size), copies)


def _certified(thinning: Thinning, partners: Partners, chains: dict[int, Chain]) -> CertifiedCover | None:
    found = {place: chain_partners(*chain, partners.ratio, partners.least) for place, chain in chains.items()}
    chosen = {place: (each.share, each.open_values) for place, each in found.items()}
    part, open_rows = thinning.part(partners, chosen)
    try:
        return CertifiedCover(block_graph(part), open_rows)
    except UncertifiedError:
        return None
    finally:
        part.close()


class FewestDeletions:
    """The statistics of `fewest_deletions`, under the names that `dpdb.measures.GraphStatistics` has; on first use.

    Parameters
    ----------
    table : Table
    predicate : WherePredicate or None
        The slice; None is the whole table.
    position : int or None
        Of the constraint that is counted alone.
    """

    def __init__(self, table: Table, predicate: WherePredicate | None, position: int | None = None) -> None:
        self._table, self._predicate, self._position = table, predicate, position
        self._found: int | None = None

    def fewest_deletions(self) -> int:
        """Count the fewest rows to delete."""
        found = self.if_known()
        assert found is not None, "`MeasurePart.shaped` chooses it only for rules with a closed form"
        return found

    def if_known(self) -> int | None:
        """Count the fewest rows to delete; None if the rules have no closed form."""
        if self._found is None and self._statistic is not None:
            [self._found] = self._table.count_all(self._predicate, [self._statistic])
        return self._found

    @cached_property
    def _statistic(self) -> RuleStatistic | None:
        """What is counted. Public."""
        rules = self._table.constraints
        return self._table.exact_statistic(rules if self._position is None else rules[self._position :][:1])

    @cached_property
    def row_count(self) -> int:
        """Rows of the slice, with and without conflicts: one row changes it by 1."""
        return self._table.count_rows([self._predicate])[0]


class SliceStatistics:
    """Implements `dpdb.measures.GraphStatistics` over a slice; each statistic is computed once.

    Parameters
    ----------
    slice_ : Slice
    counted : FewestDeletions, optional
        What is counted of the same rows without their graph, for rules with a closed form.
    """

    def __init__(self, slice_: Slice, counted: FewestDeletions | None = None) -> None:
        self._slice, self._counted = slice_, counted
        self._terms = degree_terms(slice_.constraints)
        self._projected_edges: dict[int, int] = {}
        self._projected_nodes: dict[int, int] = {}
        self._witnesses: dict[int, int] = {}
        self._truncations: dict[int, int] = {}
        self._degree_bound: int | None = None
        self._twice_cover: CertifiedCover | None = None
        self._greedy_cover: int | None = None

    @cached_property
    def graph(self) -> ConflictGraph:
        """The conflict graph, built on first use."""
        return conflict_graph(self._slice)

    @property
    def self_conflicts(self) -> int:
        """Rows that violate a single-tuple constraint."""
        return self._slice.self_conflicts

    @property
    def row_count(self) -> int:
        """Rows of the slice, with and without conflicts: one row changes it by 1."""
        return self._slice.row_count

    @property
    def degree_sensitivity(self) -> int:
        """Sensitivity of `degree_bound`. Public."""
        return self._terms.sensitivity

    @property
    def scans_once(self) -> bool:
        """Return whether one scan gives the statistics of several thetas, as in an edge table. Private."""
        return isinstance(self.graph, EdgeGraph)

    def prepare(self, projection_thetas: Sequence[int], witness_thetas: Sequence[int]) -> None:
        """Compute the statistics for all measures of a call, in one scan if the graph is an edge table."""
        if isinstance(self.graph, EdgeGraph):
            projections = sorted(set(projection_thetas) - set(self._projected_nodes))
            witnesses = sorted(set(witness_thetas) - set(self._witnesses))
            projected, witnessed = self.graph.scan(projections, witnesses)
            self._keep(projected)
            self._witnesses.update(zip(witnesses, witnessed, strict=True))

    def degree_bound(self) -> int:
        """Upper bound of the maximum degree."""
        if self._degree_bound is None:
            self._degree_bound = self._slice.degree_bound()
        return self._degree_bound

    def projected_edges(self, thetas: Sequence[int]) -> list[int]:
        """Edges of the projections."""
        return _looked_up(self._projected_edges, thetas, self.graph.projected_edges)

    def projected_edges_between(self, theta: int) -> tuple[int, int]:
        """Bounds of the edges of one projection: they never fall as theta grows (see `projected_counts`)."""
        if isinstance(self.graph, EdgeGraph) or theta in self._projected_edges:
            [exact] = self.projected_edges([theta])
            return exact, exact
        return _between(self._projected_edges, theta, self.graph.most_projected_edges(theta))

    def projected_nodes(self, thetas: Sequence[int]) -> list[int]:
        """Positive-degree nodes of the projections."""
        missing = sorted(set(thetas) - set(self._projected_nodes))
        if missing:
            self._keep(self.graph.projected_counts(missing))
        return [self._projected_nodes[theta] for theta in thetas]

    def witnesses(self, thetas: Sequence[int]) -> list[int]:
        """W_theta for each theta."""
        return _looked_up(self._witnesses, thetas, self.graph.witness_counts)

    def witnesses_between(self, theta: int) -> tuple[int, int]:
        """Bounds of W_theta, which never falls as theta grows (see `BlockGraph.witness_counts`)."""
        if isinstance(self.graph, EdgeGraph) or theta in self._witnesses:
            [exact] = self.witnesses([theta])
            return exact, exact
        return _between(self._witnesses, theta, self.graph.problematic_count)

    def twice_truncated_edges(self, taus: Sequence[int]) -> list[int]:
        """2 Q(tau) for each tau."""
        from dpdb.graph import twice_truncated_edges  # loaded before the debit, with the kernels

        return _looked_up(self._truncations, taus, lambda some: twice_truncated_edges(self.graph.adjacency, some))

    def twice_fractional_cover(self) -> CertifiedCover:
        """2 tau*: from some of the rows in conflict if they prove it and the whole graph is not built yet."""
        if self._twice_cover is None:
            found = None if "graph" in self.__dict__ else thinned_cover(self._slice)
            self._twice_cover = CertifiedCover(self.graph, None) if found is None else found
        return self._twice_cover

    def greedy_cover(self) -> int:
        """Size of the greedy stable cover."""
        if self._greedy_cover is None:
            self._greedy_cover = self.graph.greedy_cover_size()
        return self._greedy_cover

    def fewest_deletions(self) -> int:
        """Fewest rows to delete, of rules with a closed form: not from the graph."""
        assert self._counted is not None, "who counts gives what is counted"
        return self._counted.fewest_deletions()

    def _keep(self, projections: Iterable[ProjectedCounts]) -> None:
        for counts in projections:
            self._projected_edges[counts.theta] = counts.edge_count
            self._projected_nodes[counts.theta] = counts.positive_degree_nodes


def _looked_up(
    known: dict[int, int], thetas: Sequence[int], compute: Callable[[list[int]], Iterable[int]]
) -> list[int]:
    """Return a statistic at each theta; `compute` it, all at once, where it is not known yet."""
    missing = sorted(set(thetas) - set(known))
    if missing:
        known.update(zip(missing, compute(missing), strict=True))
    return [known[theta] for theta in thetas]


def _between(known: Mapping[int, int], theta: int, most: int) -> tuple[int, int]:
    """Bound a statistic that never falls as theta grows, from its value at other thetas and its greatest one."""
    low = max((value for other, value in known.items() if other <= theta), default=0)
    return low, min(most, *(value for other, value in known.items() if other >= theta), most)
