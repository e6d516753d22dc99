"""`FewestDeletions`: what is counted of a slice without a conflict graph, for rules with a closed form. Private."""

from __future__ import annotations

from functools import cached_property

from dpdb.engine import RuleStatistic, Table, WherePredicate

__all__ = ["FewestDeletions"]


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
