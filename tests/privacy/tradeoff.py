"""Trade-off functions of f-DP, an oracle: tensor product, lower convex envelope, conversion to (epsilon, delta).

A trade-off function is kept as a convex polygon: probability steps (p, q) sorted by falling ratio q / p, each lowering
the type II error by q while the type I error grows by p. It is a pair of discrete distributions, so the tensor product
is the product of the steps. Where a polygon must be simplified, or a Gaussian is turned into one, supporting lines are
dropped, which only lowers the curve: the report never claims more privacy than there is (up to floating point).

Never a filter: adaptive composition by f-DP or by privacy loss distributions is not valid for a budget.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce as fold

import numpy as np
from numpy.typing import NDArray

from dpdb.errors import ParameterError

__all__ = ["TradeOff", "composed", "lower_convex_envelope"]

MOST_STEPS = 1500
"""Steps kept after a tensor product."""


@dataclass(frozen=True, eq=False)
class TradeOff:
    """A trade-off function (paper B, Definition 3) as the steps of a convex polygon.

    Parameters
    ----------
    p, q
        Steps of the type I and type II error, sorted by falling q / p; both sum to 1.
    """

    p: NDArray[np.float64]
    q: NDArray[np.float64]

    @staticmethod
    def perfect() -> TradeOff:
        """Id(alpha) = 1 - alpha: nothing is revealed."""
        return TradeOff(np.ones(1), np.ones(1))

    @staticmethod
    def approximate(epsilon: float, delta: float = 0.0) -> TradeOff:
        """The trade-off function of (epsilon, delta)-DP."""
        if not (epsilon >= 0 and 0 <= delta < 1):
            raise ParameterError(f"need epsilon >= 0 and 0 <= delta < 1, got {epsilon!r} and {delta!r}")
        near = (1 - delta) / (1 + math.exp(epsilon))
        far = (1 - delta) - near
        steps = np.array([[0.0, delta], [near, far], [far, near], [delta, 0.0]])
        return _sorted(steps[:, 0], steps[:, 1])

    @staticmethod
    def gaussian(mu: float, lines: int = 800) -> TradeOff:
        """G_mu (paper B, Definition 5), from below by its supporting lines."""
        if not mu >= 0:
            raise ParameterError(f"mu must be non-negative, got {mu!r}")
        if mu == 0:
            return TradeOff.perfect()
        from scipy.special import ndtr

        cuts = np.linspace(mu + 9, -9, lines)  # reject above the cut
        alpha, beta = ndtr(-cuts), ndtr(cuts - mu)
        return _from_lines(alpha, beta, np.exp(mu * cuts - mu * mu / 2))

    def __call__(self, alpha: float) -> float:
        """The least type II error at type I error `alpha`."""
        errors, misses = self.vertices
        below = errors <= alpha + 0.0
        start = int(below.sum()) - 1
        if start + 1 == len(errors):
            return float(misses[-1])
        share = (alpha - errors[start]) / (errors[start + 1] - errors[start])
        return float(misses[start] + share * (misses[start + 1] - misses[start]))

    @property
    def vertices(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Corners of the polygon: type I errors ascending, type II errors descending."""
        errors = np.concatenate([[0.0], np.cumsum(self.p)])
        misses = np.concatenate([[1.0], 1 - np.cumsum(self.q)])
        return errors, np.maximum(misses, 0.0)

    def tensor(self, other: TradeOff) -> TradeOff:
        """The tensor product: both releases seen together (paper B, Definition 6)."""
        steps = _sorted(np.outer(self.p, other.p).ravel(), np.outer(self.q, other.q).ravel())
        return steps if len(steps.p) <= MOST_STEPS else _simpler(steps)

    def delta(self, epsilon: float) -> float:
        """The smallest delta of (epsilon, delta)-DP: the sum of max(q - e^epsilon p, 0)."""
        return float(np.maximum(self.q - math.exp(epsilon) * self.p, 0).sum())

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon of (epsilon, delta)-DP, rounded up; infinite when there is none."""
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0.0, 1.0
        while self.delta(high) > delta:
            high *= 2
            if high > 600:
                return math.inf
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return high


def _sorted(p: NDArray[np.float64], q: NDArray[np.float64]) -> TradeOff:
    """Steps by falling ratio; steps of one ratio become one."""
    some = (p > 0) | (q > 0)
    p, q = p[some], q[some]
    with np.errstate(divide="ignore"):
        ratio = np.log(q) - np.log(p)
    order = np.argsort(-ratio, kind="stable")
    p, q, ratio = p[order], q[order], ratio[order]
    with np.errstate(invalid="ignore"):
        new = np.append(True, ~(np.abs(np.diff(ratio)) <= 1e-12) & (ratio[1:] != ratio[:-1]))
    group = np.cumsum(new) - 1
    return TradeOff(np.bincount(group, p).astype(np.float64), np.bincount(group, q).astype(np.float64))


def _simpler(curve: TradeOff) -> TradeOff:
    """A lower curve with few steps: keep the supporting lines of some steps, spread evenly over the curve."""
    errors, misses = curve.vertices
    finite = (curve.p > 0) & (curve.q > 0)
    ratio = np.divide(curve.q, curve.p, out=np.zeros_like(curve.q), where=curve.p > 0)
    length = np.cumsum(curve.p + curve.q)
    marks = np.linspace(0, length[-1], MOST_STEPS)
    kept = np.unique(np.minimum(np.searchsorted(length, marks), len(length) - 1))
    kept = kept[finite[kept]]
    return _from_lines(errors[kept], misses[kept], ratio[kept])


def _from_lines(alpha: NDArray[np.float64], beta: NDArray[np.float64], slope: NDArray[np.float64]) -> TradeOff:
    """The largest of 0 and the lines through (alpha, beta) of slope -slope (falling), on [0, 1]."""
    level = beta + slope * alpha
    meet = (level[:-1] - level[1:]) / (slope[:-1] - slope[1:])
    end = level[-1] / slope[-1]
    errors = np.clip(np.concatenate([[0.0], meet, [min(end, 1.0)]]), 0.0, 1.0)
    errors = np.maximum.accumulate(errors)
    misses = np.clip(np.append(level - slope * errors[:-1], max(level[-1] - slope[-1] * errors[-1], 0.0)), 0.0, 1.0)
    misses = np.minimum.accumulate(misses)
    p = np.concatenate([[0.0], np.diff(errors), [1 - errors[-1]]])
    q = np.concatenate([[1 - misses[0]], -np.diff(misses), [misses[-1]]])
    return _sorted(p, q)


def lower_convex_envelope(curves: Iterable[TradeOff]) -> TradeOff:
    """The largest trade-off function below all the curves (paper B, Definition 7): disjoint releases together."""
    corners = np.concatenate([np.column_stack(curve.vertices) for curve in curves])
    corners = corners[np.lexsort((corners[:, 1], corners[:, 0]))]
    hull: list[tuple[float, float]] = []
    for x, y in corners.tolist():
        while len(hull) > 1 and _not_below(hull[-2], hull[-1], (x, y)):
            hull.pop()
        if not hull or y < hull[-1][1]:
            hull.append((x, y))
    if hull[-1][0] < 1:
        hull.append((1.0, hull[-1][1]))
    points = np.array(hull)
    p = np.append(0.0, np.diff(points[:, 0]))
    q = np.append(1 - points[0, 1], -np.diff(points[:, 1]))
    return _sorted(p, q)


def _not_below(one: tuple[float, float], two: tuple[float, float], three: tuple[float, float]) -> bool:
    """Return whether `two` lies on or above the line from `one` to `three`."""
    return (two[0] - one[0]) * (three[1] - one[1]) <= (two[1] - one[1]) * (three[0] - one[0])


def composed(curves: Sequence[TradeOff], overlapping: Iterable[Sequence[int]]) -> TradeOff:
    """The maximum overlap of f-DP releases (paper B, section 2.4 and Theorem 6).

    Parameters
    ----------
    curves
        One trade-off function per release.
    overlapping
        The maximal sets of releases, by index, that share a row.
    """
    together = [fold(TradeOff.tensor, (curves[k] for k in group), TradeOff.perfect()) for group in overlapping]
    return lower_convex_envelope(together or [TradeOff.perfect()])
