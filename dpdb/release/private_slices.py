"""`PrivateSlices`: the slices of a table that were read last, with their exact statistics. Private."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
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
        self._kept: OrderedDict[Node, dict[int | None, tuple[Slice, SliceStatistics]]] = OrderedDict()
        self._counted: OrderedDict[Node, dict[int | None, FewestDeletions]] = OrderedDict()
        self._by_rule: OrderedDict[Node, dict[int | None, RuleStatistics]] = OrderedDict()

    def __len__(self) -> int:
        """Return the number of slices in the cache."""
        return len(self._kept)

    def statistics(self, predicate: WherePredicate | None = None, position: int | None = None) -> SliceStatistics:
        """Return the statistics of a slice, with all constraints or with the one at `position` alone.

        The conflict graph is built unless the slice is one of the last few. All graphs of a slice are kept and dropped
        together, so that a breakdown of many constraints drops none of its own; they are about as large as the slice's
        graph of all constraints.
        """
        key = TRUE if predicate is None else predicate.tree
        if key not in self._kept:
            if len(self._kept) >= _KEPT:
                for oldest, _ in self._kept.popitem(last=False)[1].values():
                    oldest.close()
            self._kept[key] = {}
        self._kept.move_to_end(key)
        graphs = self._kept[key]
        if position not in graphs:
            made = self._table.slice(predicate, position=position)
            graphs[position] = made, SliceStatistics(made, self.counted(predicate, position))
        return graphs[position][1]

    def counted(self, predicate: WherePredicate | None = None, position: int | None = None) -> FewestDeletions:
        """Return what is counted of a slice without its conflict graph, kept like that; parameters, too."""
        key = TRUE if predicate is None else predicate.tree
        found = self._counted.setdefault(key, {})
        self._counted.move_to_end(key)
        if len(self._counted) > _KEPT:
            self._counted.popitem(last=False)
        return found.setdefault(position, FewestDeletions(self._table, predicate, position))

    def by_rule(self, predicate: WherePredicate | None = None, position: int | None = None) -> RuleStatistics:
        """Return the statistics of a slice's class histograms, kept like those of its conflict graph; parameters, too.

        No graph is built for them.
        """
        from dpdb.release.rule_statistics import RuleStatistics  # few releases count by left-hand side

        key = TRUE if predicate is None else predicate.tree
        found = self._by_rule.setdefault(key, {})
        self._by_rule.move_to_end(key)
        if len(self._by_rule) > _KEPT:
            self._by_rule.popitem(last=False)
        if position not in found:
            found[position] = RuleStatistics(*self._table.class_histograms(predicate, position=position))
        return found[position]

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
        self._counted.clear()
        self._by_rule.clear()
        for graphs in forgotten.values():
            for made, _ in graphs.values():
                with suppress(DpdbError):
                    made.close()
