"""`ExactValues`: what `dpdb exact` computes of a measure; `TrueGraph`: the true numbers that it reads. Owner only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from dpdb.engine import StatisticKind

TrueNumbers: TypeAlias = Mapping[str, int | float | None]


class TrueGraph(Protocol):
    """The true numbers of one conflict graph, each computed when it is asked for. Private: for the owner."""

    @property
    def self_conflicts(self) -> int:
        """Rows that violate a constraint over one tuple; they are not in the graph."""

    @property
    def edges(self) -> int:
        """Pairs of rows in conflict."""

    @property
    def rows_in_conflict(self) -> int:
        """Rows of the graph that are in some conflict."""

    def covers(self) -> tuple[float, float, float]:
        """The fractional cover, and bounds of the smallest one, equal where it is known; self-conflicts among them."""

    def counted(self, kind: StatisticKind) -> int | None:
        """A statistic that is counted without the graph, in its steps; None if the rules have none of its kind."""

    def consistent_subsets(self) -> int | None:
        """The number of maximal consistent subsets; None where it cannot be counted."""


@dataclass(frozen=True)
class ExactValues:
    """The exact values of a measure.

    Attributes
    ----------
    fields : tuple of str
        The names under which they are shown.
    of : function of TrueGraph to numbers by these names
        None stands for what cannot be computed.
    """

    fields: tuple[str, ...]
    of: Callable[[TrueGraph], TrueNumbers]
