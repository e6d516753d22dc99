"""`Answer`: the numbers that a mechanism may publish; `GraphStatistics`: the protocol of those that it may read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from dpdb.graph import CertifiedCover

__all__ = ["FROM_BELOW", "Answer", "GraphStatistics", "why_no_upper"]

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
        How many handicaps the noise has (`dpdb.privacy.handicapped_noise`), where other numbers might have been
        published instead of this one; None elsewhere.
    draw_share : float or None
        The part of 1 - confidence that this number gets in that case.
    theta_limits : bool or None
        See `dpdb.measures.estimate`.
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

    def fewest_deletions(self) -> int:
        """Fewest rows to delete, those in conflict with themselves among them, of rules with a closed form."""
