"""`RuleStatistics`: the statistics of a slice's class histograms, summed over them. Private."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpdb.graph import Histogram

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["RuleStatistics"]


class RuleStatistics:
    """What `by_rule` reads, under the names of `dpdb.measures.GraphStatistics` that it has of one graph.

    Parameters
    ----------
    self_conflicts : int
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
    sizes = table["sizes"].combine_chunks()
    lengths = sizes.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    singles, groups = (table[name].to_numpy() for name in ("singles", "groups"))
    return Histogram(sizes.flatten().to_numpy(zero_copy_only=False), starts, singles, groups)
