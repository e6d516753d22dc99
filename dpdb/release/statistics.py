"""The exact statistics of slices, each computed at most once; `PrivateSlices`: those of the last few slices. Private.

`SliceStatistics` reads a conflict graph, `RuleStatistics` class histograms, `CountedStatistics` closed forms.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpdb.engine import Partners, RuleStatistic, Slice, Table, Thinning, WherePredicate, degree_terms
from dpdb.errors import DpdbError
from dpdb.graph import (
    BlockConstraint,
    CertifiedCover,
    EdgeGraph,
    Histogram,
    ProjectedCounts,
    UncertifiedError,
    chain_partners,
)
from dpdb.predicates import TRUE, Node
from dpdb.release.conflict_graph import ConflictGraph, block_graph, conflict_graph, order_block
from dpdb.thresholds import THINNED_ROUNDS

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from dpdb.engine import (
        BoundConstraint,
        BrokenCounts,
        ComparedColumns,
        DependencyCounts,
        Side,
        StatisticKind,
        Told,
    )

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
            certified = _certified(thinning, partners, chains)
            if certified is not None:
                return certified
        return None
    finally:
        thinning.close()


def _chain(thinning: Thinning, position: int) -> Chain:
    values, copies = thinning.values(position)
    return order_block(values, copies), np.repeat(np.arange(copies.size), copies)


def _certified(thinning: Thinning, partners: Partners, chains: dict[int, Chain]) -> CertifiedCover | None:
    lists = {place: chain_partners(*chain, partners.ratio, partners.least) for place, chain in chains.items()}
    chosen = {place: (each.share, each.open_values) for place, each in lists.items()}
    part, open_rows = thinning.part(partners, chosen)
    try:
        return CertifiedCover(block_graph(part), open_rows)
    except UncertifiedError:
        return None
    finally:
        part.close()


class CountedStatistics:
    """What is counted without a conflict graph, under the names that `dpdb.measures.GraphStatistics` has; on first use.

    Parameters
    ----------
    predicate : WherePredicate or None
        The slice; None is the whole table.
    """

    def __init__(self, table: Table, predicate: WherePredicate | None, position: int | None = None) -> None:
        self._table, self._predicate, self._position = table, predicate, position
        self._found: dict[StatisticKind, int | None] = {}

    def counted(self, kind: StatisticKind, slice_: Slice | None = None) -> int:
        """Count a statistic, in its steps; `slice_` may have read these rows already."""
        found = self.if_known(kind, slice_)
        assert found is not None, "`MeasurePart.shaped` chooses it only for rules that have it"
        return found

    def if_known(self, kind: StatisticKind, slice_: Slice | None = None) -> int | None:
        """Count a statistic; None if the rules have none of its kind."""
        if kind not in self._found:
            asked = self._statistic(kind)
            self._found[kind] = None if asked is None else self._count(asked, slice_)
        return self._found[kind]

    def _count(self, asked: RuleStatistic, slice_: Slice | None) -> int:
        found = None if slice_ is None else slice_.count_codes(asked)
        return self._table.count_all(self._predicate, [asked])[0] if found is None else found

    @property
    def is_closed(self) -> bool:
        """Whether the fewest rows to delete have a closed form. Public."""
        return self._statistic("violations") is not None

    def _statistic(self, kind: StatisticKind) -> RuleStatistic | None:
        """What is counted. Public."""
        rules = self._table.constraints
        return self._table.exact_statistic(rules if self._position is None else rules[self._position :][:1], kind)

    @cached_property
    def row_count(self) -> int:
        """Rows of the slice, with and without conflicts: one row changes it by 1."""
        return self._table.count_rows([self._predicate])[0]


class SliceStatistics:
    """Implements `dpdb.measures.GraphStatistics` over a slice; each statistic is computed once.

    Parameters
    ----------
    counted : CountedStatistics, optional
        What is counted of the same rows without their graph, for rules with a closed form.
    """

    def __init__(self, slice_: Slice, counted: CountedStatistics | None = None) -> None:
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

    def read_edges(self) -> None:
        """Build the graph, and scan it once if it is an edge table."""
        if isinstance(self.graph, EdgeGraph):
            self.graph.degree_summary()

    def prepare(self, projection_thetas: Sequence[int], witness_thetas: Sequence[int]) -> None:
        """Compute the statistics for all measures of a call, in one scan if the graph is an edge table."""
        if isinstance(self.graph, EdgeGraph):
            projections = sorted(set(projection_thetas) - set(self._projected_nodes))
            witnesses = sorted(set(witness_thetas) - set(self._witnesses))
            keep = self._counted is None or not self._counted.is_closed
            projected, witnessed = self.graph.scan(projections, witnesses, keep=keep)
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

    def rehearse(self, read: Iterable[str], *, capped: bool = False) -> None:
        """Ask all that some mechanisms may read of the slice, of a table without rows.

        Parameters
        ----------
        read
            What the mechanisms read; see `Mechanism.reads`.
        capped
            Whether they read the degree bound.
        """
        _ = self.self_conflicts
        if capped:
            self.degree_bound()
        read = set(read)
        if "twice_fractional_cover" in read:
            self.twice_fractional_cover()  # of some rows, which may not do
        if read:
            _ = self.graph

    def counted(self, kind: StatisticKind) -> int:
        """A statistic of rules that have one of its kind: not from the graph."""
        assert self._counted is not None, "who counts gives what is counted"
        return self._counted.counted(kind, self._slice)

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


_KEPT = 4


@dataclass(frozen=True)
class _Known:
    """The statistics of one slice: by the position of a constraint that is alone, or None for all constraints."""

    graphs: dict[int | None, tuple[Slice, SliceStatistics]] = field(default_factory=dict)
    counted: dict[int | None, CountedStatistics] = field(default_factory=dict)
    by_rule: dict[int | None, RuleStatistics] = field(default_factory=dict)


class PrivateSlices:
    """A cache of the exact statistics of a table's last few slices.

    For draws, which run after a debit, and for who owns the rows; nothing of it reaches an analyst.

    Parameters
    ----------
    table
        Where the slices are made, under its constraints.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._kept: OrderedDict[Node, _Known] = OrderedDict()

    def __len__(self) -> int:
        """Return the number of slices in the cache."""
        return len(self._kept)

    def _known(self, predicate: WherePredicate | None) -> _Known:
        """Return what is known of a slice, which becomes the last one that was used; drop the oldest one."""
        key = TRUE if predicate is None else predicate.tree
        if key not in self._kept:
            if len(self._kept) >= _KEPT:
                for oldest, _ in self._kept.popitem(last=False)[1].graphs.values():
                    oldest.close()
            self._kept[key] = _Known()
        self._kept.move_to_end(key)
        return self._kept[key]

    def statistics(self, predicate: WherePredicate | None = None, position: int | None = None) -> SliceStatistics:
        """Return the statistics of a slice, with all constraints or with the one at `position` alone.

        The conflict graph is built unless the slice is one of the last few. All graphs of a slice are kept and dropped
        together, so that a breakdown of many constraints drops none of its own; they are about as large as the slice's
        graph of all constraints.
        """
        graphs = self._known(predicate).graphs
        if position not in graphs:
            made = self._table.slice(predicate, position=position)
            graphs[position] = made, SliceStatistics(made, self.counted(predicate, position))
        return graphs[position][1]

    def counted(self, predicate: WherePredicate | None = None, position: int | None = None) -> CountedStatistics:
        """Return the statistics that are counted without a conflict graph; parameters as `statistics`."""
        counted = self._known(predicate).counted
        return counted.setdefault(position, CountedStatistics(self._table, predicate, position))

    def by_rule(self, predicate: WherePredicate | None = None, position: int | None = None) -> RuleStatistics:
        """Return the statistics of a slice's class histograms, without a conflict graph; parameters as `statistics`."""
        by_rule = self._known(predicate).by_rule
        if position not in by_rule:
            by_rule[position] = RuleStatistics(*self._table.class_histograms(predicate, position=position))
        return by_rule[position]

    def exact(self, predicate: WherePredicate | None, asked: Sequence[RuleStatistic]) -> Sequence[int]:
        """Return exact statistics of rules in a slice, counted together; no graph is built for them."""
        return self._table.count_all(predicate, asked) if asked else []

    def broken(self, predicate: WherePredicate | None, rules: Sequence[BoundConstraint]) -> BrokenCounts:
        """Return the rows of a slice by how many rules on single rows they break."""
        return self._table.count_broken(predicate, rules)

    def broken_by_owner(
        self, predicate: WherePredicate | None, rules: Sequence[BoundConstraint], owner: str, told: Told
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Return the owners of a slice's rows who break rules on single rows."""
        return self._table.broken_by_owner(predicate, rules, owner, told)

    def dependencies(self, columns: Sequence[str], pairs: Sequence[tuple[str, str]]) -> DependencyCounts:
        """Return the counts of columns and pairs of them, over all rows."""
        return self._table.count_dependencies(columns, pairs)

    def write_compared(self, columns: ComparedColumns, side: Side, where: WherePredicate | None, path: Path) -> None:
        """Write what is compared of a slice's rows into a file."""
        self._table.write_compared(columns, side, where, path)

    def counts(self, predicates: Sequence[WherePredicate | None]) -> Sequence[int]:
        """Return the number of rows of each slice."""
        return self._table.count_rows(predicates)

    def count_keys(self, where: WherePredicate | None, column: str, keys: Sequence[str]) -> Sequence[int]:
        """Return the number of rows of each of many keys."""
        return self._table.count_keys(where, column, keys)

    @contextmanager
    def forgotten_if_unpublished(self) -> Iterator[None]:
        """Forget all slices if a signal or a failure stops their release.

        It may leave one in the middle of being made; and rows that have changed since the table was opened may have
        them again when somebody looks next.
        """
        try:
            yield
        except BaseException:
            self._table.forget_rows()
            self.forget()
            raise

    def forget(self) -> None:
        """Drop all slices."""
        forgotten, self._kept = self._kept, OrderedDict()
        for known in forgotten.values():
            for made, _ in known.graphs.values():
                with suppress(DpdbError):
                    made.close()


class RuleStatistics:
    """The statistics of `by_rule`, under the names that `dpdb.measures.GraphStatistics` has for those of one graph.

    Parameters
    ----------
    tables : sequence of pyarrow.Table
        As `dpdb.engine.Table.class_histograms` returns them.
    """

    scans_once = False

    def __init__(self, self_conflicts: int, tables: Sequence[pa.Table]) -> None:
        self.self_conflicts = self_conflicts
        self._histograms = [_histogram(table) for table in tables]
        self._known: dict[tuple[str, int], int] = {}

    @property
    def degree_sensitivity(self) -> int:
        """Sensitivity of `degree_bound`: a row makes one group of each histogram larger by 1. Public."""
        return 1 if self._histograms else 0

    def degree_bound(self) -> int:
        """Upper bound of the maximum degree in any one histogram."""
        return max([0, *(histogram.largest_group - 1 for histogram in self._histograms)])

    def projected_edges(self, thetas: Sequence[int]) -> list[int]:
        """Conflicts of at most theta of each row and histogram, for each theta: half the sum of all 2 Q(theta)."""
        return [twice // 2 for twice in self._summed("twice_truncated_edges", thetas)]

    def witnesses(self, thetas: Sequence[int]) -> list[int]:
        """Rows in conflict, of at most 1 + theta for each that is not of a largest class: the sum of all W*(theta)."""
        return self._summed("witness_bounds", thetas)

    def projected_edges_between(self, theta: int) -> tuple[int, int]:
        """Return the exact number twice: histograms give it at once."""
        [exact] = self.projected_edges([theta])
        return exact, exact

    def witnesses_between(self, theta: int) -> tuple[int, int]:
        """Return the exact number twice, as `projected_edges_between`."""
        [exact] = self.witnesses([theta])
        return exact, exact

    def _summed(self, statistic: str, thetas: Sequence[int]) -> list[int]:
        missing = [theta for theta in thetas if (statistic, theta) not in self._known]
        found = [getattr(histogram, statistic)(missing) for histogram in self._histograms]
        self._known |= {(statistic, theta): sum(each[k] for each in found) for k, theta in enumerate(missing)}
        return [self._known[statistic, theta] for theta in thetas]


def _histogram(table: pa.Table) -> Histogram:
    sizes, singles, groups = (table[name].combine_chunks() for name in ("sizes", "singles", "groups"))
    lengths = np.diff(_integers(sizes.offsets)) * _integers(sizes.is_valid().cast("int8"))
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    return Histogram(_integers(sizes.flatten()), starts, _integers(singles), _integers(groups))


def _integers(values: pa.Array) -> NDArray[Any]:
    """Read integers without NULL (`to_numpy` would import pandas where it is installed)."""
    return np.from_dlpack(values)
