"""Statistics of the edge-addition projection: their counts, their sensitivity, their release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dpdb.measures.answer import FROM_BELOW, Answer, GraphStatistics
from dpdb.privacy import discrete_laplace, laplace_tail

__all__ = ["EDGES", "NODES", "STATISTICS", "WITNESSES", "ProjectedStatistic", "noisy_answer"]


@dataclass(frozen=True)
class ProjectedStatistic:
    """A statistic that depends on a threshold theta.

    Attributes
    ----------
    name : str
        The method of `GraphStatistics` that computes it.
    read : function of (statistics, thetas) to integers
        Exact values; never above the measure itself, so a lower bound of them is one of the measure.
    extra : int
        One row changes the value by at most theta + extra.
    copies : int
        Number of graphs that the statistic is a sum over, each with the row; multiplies the sensitivity. Public.
    upper_reason : str
        Why it gives no upper bound.
    monotone : bool
        Whether one more row never lowers the value.
    estimand : str
    bounds : function of (statistics, theta) to two integers, or None
        Lower and upper bound of the exact value that are known without a scan.
    """

    name: str
    read: Callable[[GraphStatistics, Sequence[int]], Sequence[int]]
    extra: int
    monotone: bool
    estimand: str
    bounds: Callable[[GraphStatistics, int], tuple[int, int]] | None = None
    copies: int = 1
    upper_reason: str = FROM_BELOW

    def exact(self, statistics: GraphStatistics, theta: int) -> int:
        """Return the exact value at a theta, with the rows that are in conflict with themselves. Private."""
        return statistics.self_conflicts + self.read(statistics, [theta])[0]

    def complete(self, statistics: GraphStatistics) -> int:
        """Return the measure itself: a projection to at least the greatest degree keeps every conflict. Private."""
        return self.exact(statistics, max(1, statistics.degree_bound()))

    def between(self, statistics: GraphStatistics, theta: int) -> tuple[int, int]:
        """Return `bounds`, or the exact value twice."""
        if self.bounds is not None:
            return self.bounds(statistics, theta)
        [exact] = self.read(statistics, [theta])
        return exact, exact

    def sensitivity(self, theta: int) -> int:
        """Greatest change by one row. A row with a self-conflict changes U by 1 instead, and theta + extra >= 1."""
        return self.copies * self.in_one_graph(theta)

    def in_one_graph(self, theta: int) -> int:
        """Greatest change by one row in one of the graphs: the unit of the constants that were chosen by accuracy."""
        return theta + self.extra


EDGES = ProjectedStatistic(
    name="projected_edges",
    # Sensitivity theta, monotone: a new row has at most theta kept edges, and each edge of other rows that it drives
    # out makes room for no more than it took (PRIVACY, audited claims; tests check all small graphs).
    read=lambda statistics, thetas: statistics.projected_edges(thetas),
    extra=0,
    monotone=True,
    estimand="minimal_inconsistency, from below: conflicts beyond theta per tuple may be left out",
    bounds=lambda statistics, theta: statistics.projected_edges_between(theta),
)

NODES = ProjectedStatistic(
    name="projected_nodes",
    # Change in [-(theta - 1), theta + 1]: paper A's Lemma 1 says theta, and a hub on theta isolated nodes refutes it.
    read=lambda statistics, thetas: statistics.projected_nodes(thetas),
    extra=1,
    monotone=False,
    estimand="problematic, from below: conflicts beyond theta per tuple may be left out",
)

WITNESSES = ProjectedStatistic(
    name="witnesses",
    # Change in [0, theta + 1]: a new row is covered once and charges at most theta others (greedy matching between
    # nodes and theta copies of each charger).
    read=lambda statistics, thetas: statistics.witnesses(thetas),
    extra=1,
    monotone=True,
    estimand="problematic, from below: tuples whose conflicts are with overloaded tuples only may be left out",
    bounds=lambda statistics, theta: statistics.witnesses_between(theta),
)


# By the method of `GraphStatistics` that computes them.
STATISTICS = {statistic.name: statistic for statistic in (EDGES, NODES, WITNESSES)}


def noisy_answer(
    statistic: ProjectedStatistic, statistics: GraphStatistics, theta: int, epsilon: int, beta: float
) -> Answer:
    """Release the statistic at a theta that is already public: epsilon-DP by its sensitivity.

    Parameters
    ----------
    statistic
        The statistic to release.
    statistics
        Where it is read.
    theta
        The public theta.
    epsilon
        Nano-epsilon to spend.
    beta
        Probability that the lower bound exceeds the exact value, at most.
    """
    noisy, scale = discrete_laplace(statistic.exact(statistics, theta), statistic.sensitivity(theta), epsilon)
    lower = noisy - laplace_tail(scale, beta)
    return Answer(
        value=noisy,
        lower=lower,
        upper_reason=statistic.upper_reason,
        theta=theta,
        noise_scale=scale,
        estimand=statistic.estimand,
    )
