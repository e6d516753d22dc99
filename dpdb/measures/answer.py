"""What all mechanisms share: the statistics that they may read, and the answers that they may publish.

`GraphStatistics` is the protocol of what may be read, `DegreeCap` the released upper bound of the maximum degree, which
the measures of one call share, `ProjectedStatistic` a statistic of the edge-addition projection with its sensitivity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dpdb.privacy import discrete_laplace, laplace_tail

if TYPE_CHECKING:
    from dpdb.engine import StatisticKind
    from dpdb.graph import CertifiedCover

# Why a projection has no upper bound, and why no mechanism has a small one.
#
# Theorem. Let M be epsilon-DP for adding or removing one row, and U its upper bound at confidence 1 - beta, for every
# table, of a measure f. For all tables D and rows r with f(D + r) = v:
# Pr[U(D) >= v] >= max((1 - beta) exp(-epsilon), 1 - beta exp(epsilon)).
# Proof. Pr[U(D + r) >= v] >= 1 - beta, so Pr[U(D) >= v] >= exp(-epsilon) (1 - beta); and Pr[U(D + r) < v] <= beta, so
# Pr[U(D) < v] <= exp(epsilon) beta. QED
# On a table without conflicts take r with the left-hand side of the largest group, of g rows, and another right-hand
# side: v is g pairs of rows, and g + 1 rows in conflict.
_FROM_BELOW = (
    "at most theta conflicts per row are counted, so this number bounds the measure from below only. No mechanism has "
    "an upper end that is both valid and small: adding one row can put {rows} in conflict{because}, so even on a table "
    "without any conflict it is at least as large as {size} with probability at least max((1-beta)e^-epsilon, 1-beta "
    "e^epsilon), 86% at epsilon 1 and 95% confidence; mechanism 'two_sided' gives a valid one, at that price"
)
FROM_BELOW = _FROM_BELOW.format(
    rows="every row of the largest group with a common left-hand side", size="that group", because=""
)
_OF_COMPARED = _FROM_BELOW.format(
    rows="every row of the largest group with a common value where a rule compares by equality",
    size="that group",
    because="",
)
_OF_ALL = _FROM_BELOW.format(
    rows="every other row", size="the table", because=" (a rule compares rows without an equality between them)"
)
_ON_ONE_ROW = (
    "this mechanism bounds the measure from below only, although rules on one row leave nothing out; leave the "
    "mechanism out for a count with both ends"
)


def why_no_upper(reason: str, *, pairs: bool, grouped: bool, all_rows: bool) -> str:
    """Return why there is no upper bound: a mechanism's general reason, made specific to the public constraints.

    Parameters
    ----------
    reason : str
        The mechanism's reason: `FROM_BELOW`, or one made for its constraints, which is returned as it is.
    pairs : bool
        Whether a constraint compares two rows.
    grouped, all_rows : bool
        Whether every such constraint compares rows with a common left-hand side; whether one has no equality at all.
    """
    if reason != FROM_BELOW:
        return reason
    if not pairs:
        return _ON_ONE_ROW
    if all_rows:
        return _OF_ALL
    return FROM_BELOW if grouped else _OF_COMPARED


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A noisy answer with everything published about it.

    Attributes
    ----------
    value : float
        The noisy statistic, at least 0; an integer, or a multiple of 1/2.
    lower : float
        With probability at least `confidence`, at most the estimand.
    upper : float or None
        None where no valid upper bound exists (a projection may lose any number of edges).
    upper_reason : str or None
        Why there is no upper bound; None if there is one.
    theta : int or None
        The released projection threshold.
    noise_scale : float
        Scale of the Laplace noise, or of the Gaussian noise its standard deviation, in units of `value`.
    estimand : str
        What `value` estimates.
    raw : float
        `value` before it was clamped.
    estimate_lower, estimate_upper : float or None
        With probability at least `confidence` the estimand *at this theta* lies between them; see `with_estimate`.
    estimate_reason : str or None
        Why there is no such interval; None if there is one.
    handicaps : int or None
        How many handicaps the noise has (`dpdb.privacy.climbing`), where other numbers might have been
        published instead of this one; None elsewhere.
    draw_share : float or None
        The part of 1 - confidence that this number gets in that case.
    most_deletions : float or None
        Of a verdict that no conflict is shown: with probability at least `confidence`, at most so many rows have to be
        deleted before the table is consistent.
    """

    value: float
    lower: float
    upper: float | None = None
    upper_reason: str | None = None
    theta: int | None = None
    noise_scale: float
    estimand: str
    raw: float | None = None
    estimate_lower: float | None = None
    estimate_upper: float | None = None
    estimate_reason: str | None = None
    handicaps: int | None = None
    draw_share: float | None = None
    theta_limits: bool | None = None
    most_deletions: float | None = None

    def __post_init__(self) -> None:
        if self.raw is None:
            object.__setattr__(self, "raw", self.value)
        # Clamped at 0, which costs no privacy: it reads the noisy numbers only. The estimand is never below 0.
        for name in ("value", "lower", "upper", "estimate_lower", "estimate_upper"):
            number = getattr(self, name)
            if number is not None:
                object.__setattr__(self, name, max(0, number))

    @property
    def unclamped(self) -> float:
        """`raw`, which every answer has."""
        assert self.raw is not None
        return self.raw


class GraphStatistics(Protocol):
    """Exact statistics of one conflict graph. All private except those marked public."""

    @property
    def self_conflicts(self) -> int:
        """U: rows outside the graph because they violate a single-tuple constraint."""

    @property
    def degree_sensitivity(self) -> int:
        """By how much one row changes `degree_bound`; 0 if no constraint is over two tuples. Public."""

    @property
    def scans_once(self) -> bool:
        """Return whether several thetas in one call cost one scan, not one each; changes no answer. Private."""

    def prepare(self, projection_thetas: Sequence[int], witness_thetas: Sequence[int]) -> None:
        """Announce the thetas that will be read, so that one scan computes them all; changes no answer."""

    def degree_bound(self) -> int:
        """Upper bound of the maximum degree."""

    def projected_edges(self, thetas: Sequence[int]) -> Sequence[int]:
        """Edges of the projection, for each theta."""

    def projected_edges_between(self, theta: int) -> tuple[int, int]:
        """Lower and upper bound of `projected_edges` at one theta, without a scan; equal where it is known."""

    def projected_nodes(self, thetas: Sequence[int]) -> Sequence[int]:
        """Positive-degree nodes of the projection, for each theta."""

    def witnesses(self, thetas: Sequence[int]) -> Sequence[int]:
        """W_theta, for each theta."""

    def witnesses_between(self, theta: int) -> tuple[int, int]:
        """Lower and upper bound of `witnesses` at one theta, without a scan; equal where it is known."""

    def twice_truncated_edges(self, taus: Sequence[int]) -> Sequence[int]:
        """2 Q(tau), twice the LP truncation of the edges, for each tau."""

    def twice_fractional_cover(self) -> CertifiedCover:
        """2 tau* of all rows, even if only some of them were loaded from another engine."""

    def greedy_cover(self) -> int:
        """Size of the greedy stable cover (Algorithm 5)."""

    def counted(self, kind: StatisticKind) -> int:
        """A statistic that is counted without a conflict graph, in its steps, of rules that have one of its kind."""


@dataclass(frozen=True)
class DegreeCap:
    """A released cap, at least 1, and the scale of its noise (0 if nothing was drawn)."""

    value: int
    scale: float

    def above_all_degrees(self, beta: float) -> int:
        """Return a theta that is below some degree with probability at most beta: the cap plus its noise's tail."""
        return self.value + (laplace_tail(self.scale, beta) if self.scale else 0)


def release_degree_cap(statistics: GraphStatistics, epsilon: int) -> DegreeCap:
    """Release max(1, d + DLap(l / epsilon)): epsilon-DP, because one row changes d by at most l.

    d is the sum of the terms of `dpdb.engine.sql.joins`, l the sum of their sensitivities (paper A, Lemma 3 and
    Theorem 3, with one Laplace draw instead of one per dependency). Without a constraint over two tuples d is 0 for
    every table and nothing is drawn.
    """
    sensitivity = statistics.degree_sensitivity
    if sensitivity == 0:
        return DegreeCap(1, 0.0)
    noisy, scale = discrete_laplace(statistics.degree_bound(), sensitivity, epsilon)
    return DegreeCap(max(1, noisy), scale)


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
    # out makes room for no more than it took (tests check all small graphs).
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
