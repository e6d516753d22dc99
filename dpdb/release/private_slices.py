"""`PrivateSlices`: the slices of a table that were read last, with their exact statistics. Private."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dpdb.engine import RuleStatistic, Slice, Table, WherePredicate
from dpdb.errors import DpdbError
from dpdb.predicates import TRUE, Node
from dpdb.release.statistics import FewestDeletions, SliceStatistics

if TYPE_CHECKING:
    from dpdb.engine import DependencyCounts
    from dpdb.release.rule_statistics import RuleStatistics

__all__ = ["PrivateSlices"]

_KEPT = 4


@dataclass(frozen=True)
class _Known:
    """The statistics of one slice: by the position of a constraint that is alone, or None for all constraints."""

    graphs: dict[int | None, tuple[Slice, SliceStatistics]] = field(default_factory=dict)
    counted: dict[int | None, FewestDeletions] = field(default_factory=dict)
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

    def counted(self, predicate: WherePredicate | None = None, position: int | None = None) -> FewestDeletions:
        """Return the statistics that are counted without a conflict graph; parameters as `statistics`."""
        counted = self._known(predicate).counted
        return counted.setdefault(position, FewestDeletions(self._table, predicate, position))

    def by_rule(self, predicate: WherePredicate | None = None, position: int | None = None) -> RuleStatistics:
        """Return the statistics of a slice's class histograms, without a conflict graph; parameters as `statistics`."""
        from dpdb.release.rule_statistics import RuleStatistics  # few releases count by left-hand side

        by_rule = self._known(predicate).by_rule
        if position not in by_rule:
            by_rule[position] = RuleStatistics(*self._table.class_histograms(predicate, position=position))
        return by_rule[position]

    def exact(self, predicate: WherePredicate | None, asked: Sequence[RuleStatistic]) -> Sequence[int]:
        """Return exact statistics of rules in a slice, counted together; no graph is built for them."""
        return self._table.count_all(predicate, asked) if asked else []

    def dependencies(self, columns: Sequence[str], pairs: Sequence[tuple[str, str]]) -> DependencyCounts:
        """Return the counts of columns and pairs of them, over all rows."""
        return self._table.count_dependencies(columns, pairs)

    def counts(self, predicates: Sequence[WherePredicate | None]) -> Sequence[int]:
        """Return the number of rows of each slice."""
        return self._table.count_rows(predicates)

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
