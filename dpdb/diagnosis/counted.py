"""`Counted`: how the rows to delete of a slice are counted, chosen from rules and schema alone."""

from __future__ import annotations

from dataclasses import dataclass

from dpdb.engine import BoundConstraint, RuleStatistic, WherePredicate, load_counting
from dpdb.release import PrivateSlices, PublicTable, load_kernels

__all__ = ["Counted", "counted"]


@dataclass(frozen=True)
class Counted:
    """One statistic: the fewest rows to delete, by its closed form, or the fractional cover of the conflict graph.

    Attributes
    ----------
    rules : tuple of BoundConstraint
    position : int or None
        Of the constraint that is counted alone; None for all together.
    statistic : RuleStatistic or None
        The closed form; None if the rules have none.
    """

    rules: tuple[BoundConstraint, ...]
    position: int | None
    statistic: RuleStatistic | None

    @property
    def parts(self) -> int:
        """Steps of one row: a fractional cover is counted in halves."""
        return 1 if self.statistic is not None else 2

    def load(self) -> None:
        """Load its kernels. Reads no row."""
        if self.statistic is not None:
            load_counting(self.rules)
        else:
            load_kernels(self.rules, ["twice_fractional_cover"])

    def count(self, slices: PrivateSlices, where: WherePredicate | None, parts: int) -> int:
        """Return the exact count in a slice, in steps of 1 / parts. Private."""
        if self.statistic is not None:
            [found] = slices.exact(where, [self.statistic])
            return parts * found
        statistics = slices.statistics(where, self.position)
        return 2 * statistics.self_conflicts + statistics.twice_fractional_cover().value


def counted(table: PublicTable, position: int | None) -> Counted:
    """Return how the constraints of a table, or the one at a position, are counted. Reads no row.

    Sensitivity: one more row raises either count by 0 to 1 (PRIVACY.md, tau* has sensitivity exactly 1).
    """
    rules = table.bound if position is None else table.bound[position : position + 1]
    return Counted(tuple(rules), position, table.opened.exact_statistic(rules))
