"""`RuleStatistics`: the statistics of a slice's class histograms, summed over them. Private."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpdb.graph import Histogram

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["RuleStatistics"]


class RuleStatistics:
    """The statistics of `by_rule`, under the names that `dpdb.measures.GraphStatistics` has for those of one graph.

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
    sizes, singles, groups = (table[name].combine_chunks() for name in ("sizes", "singles", "groups"))
    lengths = np.diff(_integers(sizes.offsets)) * _integers(sizes.is_valid().cast("int8"))
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    return Histogram(_integers(sizes.flatten()), starts, _integers(singles), _integers(groups))


def _integers(values: pa.Array) -> NDArray[Any]:
    """Read integers without NULL (`to_numpy` would import pandas where it is installed)."""
    return np.from_dlpack(values)
