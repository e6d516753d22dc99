"""The only source of random numbers for releases: OpenDP's exact discrete samplers; and the quantiles of their noise.

Nothing here is seeded. Tests replace the source through `replaced_noise`, which no public function reaches.

One-sided geometric noise is for thresholds: a comparison with a noisy threshold needs noise that only one shift leaves.
With X on 0, 1, 2, ... and Pr[X >= x] = exp(-x / b), Pr[X = x] is exp(d / b) times Pr[X = x + d], and Pr[X >= x] at most
exp(d / b) times Pr[X >= x + d], for every x and d >= 0. Nothing is said of d < 0, and nothing needs to be
(`dpdb.suites.mechanism.levels`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import cache
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np

from dpdb.errors import ParameterError
from dpdb.privacy.epsilon import as_fraction, rho_as_fraction

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

    def gumbel_max(self, scores: Sequence[int], scale: float) -> int:
        """Return the index of the noisily largest score, with Gumbel noise of the given scale."""


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

    def gumbel_max(self, scores: Sequence[int], scale: float) -> int:
        return int(_gumbel_max(scale)(list(scores)))

    def gaussians(self, count: int, scale: float) -> list[int]:
        return list(_gaussians(scale)([0] * count))


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


def discrete_gaussians(count: int, sensitivity: int, rho: int) -> list[int]:
    """Return independent draws of the noise of `discrete_gaussian`, for a vector of statistics that is released whole.

    Parameters
    ----------
    count : int
        How many draws.
    sensitivity : int
        By how much one row changes the vector in l2 at most.
    rho : int
        Pico-rho of the whole vector (Canonne, Kamath and Steinke 2020, Theorem 14).
    """
    noise, scale = _noise.get(), gaussian_scale(sensitivity, rho)
    if isinstance(noise, _OpenDPNoise):
        return noise.gaussians(count, scale)
    return [noise.gaussian(0, scale) for _ in range(count)]


def bounded_range_max(scores: Sequence[int], low: int, high: int, rho: int) -> int:
    """Return the index of a noisily largest score; rho-zCDP if one more row changes each score by `low` to `high`.

    Report-noisy-max with Gumbel noise is the exponential mechanism: index i with probability proportional to exp(s_i /
    scale). With R = high - low its log-ratio at a neighbour lies, for all indices, in one interval of length eta = R /
    scale, so its range is bounded by eta and it is eta^2 / 8-zCDP (Dong, Durfee and Rogers 2020; Cesar and Rogers
    2021). Exponential noise has no such range: it costs eta^2 / 2.

    As in `noisy_max` only the range counts, so changes by `low` to `high` are changes by 0 to R, which OpenDP certifies
    as monotonic, for any signs: adding a number to all scores changes no choice.

    Parameters
    ----------
    scores : sequence of int
        The exact scores, at least one; the list of candidates must be public.
    low, high : int
        Least and greatest change of any score by one more row, low <= 0 <= high, low < high.
    rho : int
        Pico-rho spent.
    """
    assert low <= 0 <= high
    assert low < high
    return _noise.get().gumbel_max(scores, gumbel_scale(high - low, rho))


@cache
def gumbel_scale(width: int, rho: int) -> float:
    """Return the smallest scale found, rounding up, that OpenDP certifies for changes in a range of this width."""
    target = rho_as_fraction(rho)
    return _certified(_gumbel_max, width / math.sqrt(8 * target), width, target)


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
        noise.gaussians(1, 1.0)
        noise.gumbel_max([0, 1], 1.0)


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


@cache
def _gaussians(scale: float) -> Any:
    dp = _opendp()
    return dp.measurements.make_gaussian(
        dp.domains.vector_domain(dp.domains.atom_domain(T=_I64)),
        dp.metrics.l2_distance(T=_I64),
        scale=scale,
        MO="ZeroConcentratedDivergence",
    )


@cache
def _gumbel_max(scale: float) -> Any:
    dp = _opendp()
    return dp.measurements.make_noisy_max(
        dp.domains.vector_domain(dp.domains.atom_domain(T=_I64)),
        dp.metrics.linf_distance(T=_I64, monotonic=True),  # all changes from 0 to the width; see `bounded_range_max`
        dp.measures.zero_concentrated_divergence(),
        scale=scale,
    )


def one_sided_noises(count: int, sensitivity: int, epsilon: int) -> list[int]:
    """Draw independent geometric noises, whose loss is at most `epsilon` for a shift by `sensitivity`.

    Discrete Laplace noise is drawn again until it is not negative: given that, its law is exactly geometric, because
    Pr[X = x] is proportional to exp(-x / b) there. More than half of all draws are kept, and how many are drawn depends
    on the coins alone, never on a table.

    Parameters
    ----------
    count : int
        How many noises.
    sensitivity : int
        The shift, in steps of the lattice.
    epsilon : int
        Nano-epsilon that the shift costs; OpenDP certifies the scale b = sensitivity / epsilon for it.
    """
    noises = discrete_laplaces(count, sensitivity, epsilon)
    while again := [place for place, noise in enumerate(noises) if noise < 0]:
        for place, noise in zip(again, discrete_laplaces(len(again), sensitivity, epsilon), strict=True):
            noises[place] = noise
    return noises


# Wider Gaussians are bounded by the continuous one: at most one more than the sum would say.
_WIDEST_SUMMED = 1000.0
_SLACK = 1e-9
# Scales that differ by a smaller share are taken as equal; also the slack for rounding in the formulas above it.
_NEARLY = 1e-6


def laplace_tail(scale: float, beta: float) -> int:
    """Return the smallest t with Pr[noise > t] <= beta for discrete Laplace noise of the given scale, 0 < beta < 1.

    Pr[noise >= t + 1] = exp(-t/b) / (1 + exp(1/b)), so t = ceil(b (ln(1/beta) - ln(1 + exp(1/b)))); the slack of one
    part in a billion keeps the bound valid under floating-point rounding.
    """
    log_one_plus_exp = 1 / scale + math.log1p(math.exp(-1 / scale))
    return max(0, math.ceil(scale * (math.log(1 / beta) - log_one_plus_exp) * (1 + _SLACK) + _SLACK))


@cache
def laplace_difference_tail(first: float, second: float, beta: float) -> int:
    """Return the smallest t with Pr[|N - M| > t] <= beta for independent discrete Laplace noises N and M, 0 < beta < 1.

    With p = exp(-1/first) and q = exp(-1/second), M is symmetric, and summing Pr[N = j] Pr[M = k - j] over j gives

        Pr[N - M >= k] = ((1-q)^2 p^(k+1)/(1+p) - (1-p)^2 q^(k+1)/(1+q)) / ((p-q)(1-pq))    for k >= 1 and p != q,
        Pr[N - M >= k] = ((1-p)/(1+p))^2 p^k ((k+1)/(1-p) + p/(1-p)^2 + 2p^2/((1-p)(1-p^2)))   for p = q.

    The first cancels where the scales are nearly equal; the larger one then stands for both. That is safe: |M| grows
    stochastically with its scale, and Pr[|N + m| > t] with |m|, because N is symmetric and unimodal on the integers.

    Parameters
    ----------
    first, second : float
        The scales of N and M.
    beta : float
        The most that the tail may be.
    """
    large, small = max(first, second), min(first, second)
    small = large if large - small < _NEARLY * large else small
    most = 1
    while 2 * _difference_above(large, small, most + 1) > beta:
        most *= 2
    least = -1
    while most - least > 1:
        middle = (least + most) // 2
        if 2 * _difference_above(large, small, middle + 1) * (1 + _NEARLY) <= beta:
            most = middle
        else:
            least = middle
    return max(0, most)


def _difference_above(large: float, small: float, k: int) -> float:
    """Pr[N - M >= k] for k >= 1; at k = 0 by symmetry half of one more than Pr[N = M], never needed exactly."""
    if k < 1:
        return 1.0
    p, rest = math.exp(-1 / large), -math.expm1(-1 / large)
    both = -math.expm1(-1 / large - 1 / small)  # 1 - pq
    if large == small:
        terms = (k + 1) / rest + p / rest**2 + 2 * p**2 / (rest * both)
        return (rest / (1 + p)) ** 2 * math.exp(-k / large) * terms
    q, rest_q = math.exp(-1 / small), -math.expm1(-1 / small)
    gap = -p * math.expm1(1 / large - 1 / small)  # p - q
    return (rest_q**2 * math.exp(-(k + 1) / large) / (1 + p) - rest**2 * math.exp(-(k + 1) / small) / (1 + q)) / (
        gap * both
    )


@cache
def gaussian_tail(scale: float, beta: float) -> int:
    """Return a t with Pr[noise > t] <= beta for discrete Gaussian noise, 0 < beta < 1.

    Up to a scale of 1000 the smallest such t, from the sum of the probabilities. Beyond it, the continuous Gaussian's:
    each term above t is at most the integral over the unit before it, and the terms' total is at least the integral
    over all reals (Canonne, Kamath and Steinke 2020), so Pr[noise > t] <= Pr[N(0, scale^2) >= t].
    """
    if scale > _WIDEST_SUMMED:
        return max(0, math.ceil(scale * -NormalDist().inv_cdf(beta) * (1 + _SLACK)))
    t = math.ceil(40 * scale) + 1  # what lies beyond is below exp(-800) of the whole
    terms = [math.exp(-((x / scale) ** 2) / 2) for x in range(t + 1)]
    allowed = beta * (1 - _SLACK) * (terms[0] + 2 * math.fsum(terms[1:]))
    above = 0.0
    while t > 0 and above + terms[t] <= allowed:
        above += terms[t]
        t -= 1
    return t


_CUT = 1e-13  # of each law, on each side; what is cut counts as beyond
_ROUNDING = 1e-11  # for rounding in the convolution, whose sums are below 1
_MOST_CELLS = 1 << 24


def laplace_sum_tail(scales: Sequence[float], beta: float) -> int:
    """Return the smallest t with Pr[sum > t] <= beta for independent discrete Laplace noises, 10^-9 <= beta < 1.

    The law of the sum is the convolution of the laws, each cut where its tails are below 10^-13; what is cut, and
    10^-11 for rounding, is taken as beyond t: the tail is at most 10^-11 + 2 n 10^-13 below beta when t is too large.

    Parameters
    ----------
    scales : sequence of float
        Of the noises, at least one.
    beta : float
        The most that the tail may be.

    Raises
    ------
    ParameterError
        If a scale is not positive and finite, beta is too small, or the law of the sum has more than 16 million values.
    """
    if not scales or not all(math.isfinite(scale) and scale > 0 for scale in scales) or not 1e-9 <= beta < 1:
        raise ParameterError("a sum of noises needs positive scales and a doubt from 10^-9")
    ends = [laplace_tail(scale, _CUT) for scale in scales]
    reach = sum(ends)
    cells = 1 << (2 * reach + 1).bit_length()
    if cells > _MOST_CELLS:
        raise ParameterError("the noises are too wide to be added up exactly: their scales come to more than 250,000")
    spectrum = np.ones(cells // 2 + 1, dtype=np.complex128)
    for scale, end in zip(scales, ends, strict=True):
        law = np.exp(-np.abs(np.arange(-end, end + 1)) / scale) * math.tanh(0.5 / scale)
        spectrum *= np.fft.rfft(law, cells)
    law = np.fft.irfft(spectrum, cells)[: 2 * reach + 1]
    beyond = np.concatenate([np.cumsum(law[::-1])[::-1], [0.0]]) + 2 * _CUT * len(scales) + _ROUNDING
    # beyond[reach + t + 1] is Pr[sum > t]
    return int(np.argmax(beyond[reach + 1 :] <= beta))
