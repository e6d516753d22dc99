"""The only source of random numbers for releases: OpenDP's exact discrete samplers.

Nothing here is seeded. Tests replace the source through `replaced_noise`, which no public function reaches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import cache
from typing import Any, Protocol

from dpdb.privacy.epsilon import as_fraction, rho_as_fraction

__all__ = [
    "Noise",
    "check_samplers",
    "discrete_gaussian",
    "discrete_laplace",
    "discrete_laplaces",
    "gaussian_scale",
    "laplace_scale",
    "noisy_max",
    "noisy_min",
    "replaced_noise",
]

_I64 = "i64"  # OpenDP's `int` is i32, and its overflow message prints the exact count


class Noise(Protocol):
    """The source of noise: OpenDP in production, a recorded sequence in tests."""

    def laplace(self, value: int, scale: float) -> int:
        """Return `value` plus discrete Laplace noise of the given scale."""

    def gaussian(self, value: int, scale: float) -> int:
        """Return `value` plus discrete Gaussian noise of the given scale."""

    def noisy_extreme(self, scores: Sequence[int], scale: float, *, negate: bool) -> int:
        """Return the index of the noisily largest score (smallest if `negate`), with exponential noise.

        Parameters
        ----------
        scores : sequence of int
            The exact scores.
        scale : float
            Of the exponential noise.
        negate : bool
            Whether the smallest score is wanted.
        """


class _OpenDPNoise:
    """Exact sampling, entropy from the operating system."""

    def laplace(self, value: int, scale: float) -> int:
        return int(_laplace(scale)(value))

    def laplaces(self, count: int, scale: float) -> list[int]:
        return list(_laplaces(scale)([0] * count))

    def gaussian(self, value: int, scale: float) -> int:
        return int(_gaussian(scale)(value))

    def noisy_extreme(self, scores: Sequence[int], scale: float, *, negate: bool) -> int:
        return int(_noisy_max(scale, negate)(list(scores)))


_noise: ContextVar[Noise] = ContextVar("dpdb_noise", default=_OpenDPNoise())  # noqa: B039 - stateless


@contextmanager
def replaced_noise(noise: Noise) -> Iterator[None]:
    """Draw from `noise` inside the block; for tests only."""
    token = _noise.set(noise)
    try:
        yield
    finally:
        _noise.reset(token)


def discrete_laplace(value: int, sensitivity: int, epsilon: int) -> tuple[int, float]:
    """Add discrete Laplace noise to an integer statistic.

    Parameters
    ----------
    value : int
        The exact statistic.
    sensitivity : int
        By how much one row changes it at most.
    epsilon : int
        Nano-epsilon spent; the release is epsilon-DP (Ghosh, Roughgarden and Sundararajan 2009).

    Returns
    -------
    (noisy value, scale)
        The scale is public: it depends on sensitivity and epsilon only.
    """
    scale = laplace_scale(sensitivity, epsilon)
    return _noise.get().laplace(value, scale), scale


def discrete_laplaces(count: int, sensitivity: int, epsilon: int) -> list[int]:
    """Return independent draws of the noise of `discrete_laplace`; many at once take a thirteenth of the time.

    Parameters
    ----------
    count : int
        How many draws.
    sensitivity : int
        By how much one row changes at most what the noise will hide.
    epsilon : int
        Nano-epsilon that each draw is worth.
    """
    noise, scale = _noise.get(), laplace_scale(sensitivity, epsilon)
    if isinstance(noise, _OpenDPNoise):
        return noise.laplaces(count, scale)
    return [noise.laplace(0, scale) for _ in range(count)]


@cache
def laplace_scale(sensitivity: int, epsilon: int) -> float:
    """Return the smallest scale found, rounding up, for which OpenDP certifies at most `epsilon` (nano)."""
    target = as_fraction(epsilon)
    return _certified(_laplace, float(Fraction(sensitivity) / target), sensitivity, target)


def discrete_gaussian(value: int, sensitivity: int, rho: int) -> tuple[int, float]:
    """Add discrete Gaussian noise to an integer statistic.

    Parameters
    ----------
    value : int
        The exact statistic.
    sensitivity : int
        By how much one row changes it at most.
    rho : int
        Pico-rho spent; the release is rho-zCDP (Canonne, Kamath and Steinke 2020, Theorem 4).

    Returns
    -------
    (noisy value, scale)
        The scale is public: it depends on sensitivity and rho only.

    Notes
    -----
    It is not mu-GDP for mu = sensitivity / scale, as the continuous Gaussian is. With sensitivity 1 and scale s its
    total variation is 1 / sum of exp(-x^2 / (2 s^2)) over the integers x, about 1 / (s sqrt(2 pi)); the Gaussian's is
    the mean of the density over a unit around its peak, which is less.
    """
    scale = gaussian_scale(sensitivity, rho)
    return _noise.get().gaussian(value, scale), scale


@cache
def gaussian_scale(sensitivity: int, rho: int) -> float:
    """Return the smallest scale found, rounding up, for which OpenDP certifies at most `rho` (pico)."""
    target = rho_as_fraction(rho)
    return _certified(_gaussian, math.sqrt(Fraction(sensitivity) ** 2 / (2 * target)), sensitivity, target)


def noisy_min(scores: Sequence[int], sensitivity: int, epsilon: int) -> int:
    """Return the index of a noisily smallest score; epsilon-DP for scores that each change by at most `sensitivity`.

    Report-noisy-min with exponential noise, which is permute-and-flip (McKenna and Sheldon 2020).

    Parameters
    ----------
    scores : sequence of int
        The exact scores.
    sensitivity : int
        By how much one row changes each score at most.
    epsilon : int
        Nano-epsilon spent.
    """
    return _extreme(scores, 2 * sensitivity, epsilon, negate=True)


def noisy_max(scores: Sequence[int], low: int, high: int, epsilon: int) -> int:
    """Return the index of a noisily largest score; epsilon-DP if one more row changes each by `low` to `high`.

    Report-noisy-max with exponential noise of scale (high - low) / epsilon: not the greatest change counts, but the
    range R = high - low. Changes in {0, 1} need 1 / epsilon, changes in {-1, 0, 1} twice that.

    Proof (range lemma): let X_1, ..., X_m be independent with Pr[X >= x] = exp(-x epsilon / R) for x >= 0, and fix all
    but X_i. Index i wins if X_i >= t, t = max over j of s_j + X_j - s_i (a tie goes to i or not by its index alone). On
    the neighbour s + c, t moves by at most max over j of c_j - c_i <= R, so that Pr[X_i >= t] changes at most by the
    factor exp(epsilon), and so does its mean over the others. A neighbour with one row less has -c, in [-high, -low]:
    the same R. Put otherwise: no choice depends on a number that is added to all scores, so changes by `low` to `high`
    are changes by 0 to R, which is what OpenDP certifies. It is attained: of two scores, the lesser gains R.

    OpenDP draws the noise exactly, as a comparison of real numbers, so none ties. A score with fractions must be
    floored to whole steps by the caller: floor(k s) keeps changes in [k low, k high] if these two are integers.

    Parameters
    ----------
    scores : sequence of int
        The exact scores, at least one; the list of candidates must be public.
    low, high : int
        Least and greatest change of any score by one more row, low <= 0 <= high, low < high.
    epsilon : int
        Nano-epsilon spent.
    """
    assert low <= 0 <= high
    assert low < high
    return _extreme(scores, high - low, epsilon, negate=False)


@cache
def check_samplers(*, gaussian: bool) -> None:
    """Load OpenDP and draw once from each sampler that a release may use, so that failures come before a debit."""
    noise = _OpenDPNoise()
    noise.laplace(0, 1.0)
    noise.laplaces(1, 1.0)
    for negate in (False, True):
        noise.noisy_extreme([0, 1], 1.0, negate=negate)
    if gaussian:
        noise.gaussian(0, 1.0)


def _extreme(scores: Sequence[int], width: int, epsilon: int, *, negate: bool) -> int:
    return _noise.get().noisy_extreme(scores, _extreme_scale(width, epsilon, negate), negate=negate)


@cache
def _extreme_scale(width: int, epsilon: int, negate: bool) -> float:
    """Return the smallest scale found, rounding up, that OpenDP certifies for changes in a range of this width."""
    target = as_fraction(epsilon)
    return _certified(lambda scale: _noisy_max(scale, negate), float(Fraction(width) / target), width, target)


def _certified(measurement: Callable[[float], Any], scale: float, change: int, most: Fraction) -> float:
    """Return the first scale, from a given one upwards, for which OpenDP certifies a loss of at most so much."""
    while Fraction(measurement(scale).map(change)) > most:
        scale = math.nextafter(scale, math.inf)
    return scale


# -- OpenDP measurements, imported on first use ---------------------------------------------------------------


@cache
def _opendp() -> Any:
    import opendp.domains
    import opendp.measurements
    import opendp.measures
    import opendp.metrics
    from opendp.mod import enable_features

    enable_features("contrib")
    return opendp


@cache
def _laplace(scale: float) -> Any:
    dp = _opendp()
    return dp.measurements.make_laplace(
        dp.domains.atom_domain(T=_I64), dp.metrics.absolute_distance(T=_I64), scale=scale
    )


@cache
def _laplaces(scale: float) -> Any:
    dp = _opendp()
    return dp.measurements.make_laplace(
        dp.domains.vector_domain(dp.domains.atom_domain(T=_I64)), dp.metrics.l1_distance(T=_I64), scale=scale
    )


@cache
def _gaussian(scale: float) -> Any:
    dp = _opendp()
    return dp.measurements.make_gaussian(
        dp.domains.atom_domain(T=_I64),
        dp.metrics.absolute_distance(T=_I64),
        scale=scale,
        MO="ZeroConcentratedDivergence",
    )


@cache
def _noisy_max(scale: float, negate: bool) -> Any:
    dp = _opendp()
    return dp.measurements.make_noisy_max(
        dp.domains.vector_domain(dp.domains.atom_domain(T=_I64)),
        dp.metrics.linf_distance(T=_I64, monotonic=True),  # all changes from 0 to the width; see `noisy_max`
        dp.measures.max_divergence(),
        scale=scale,
        negate=negate,
    )
