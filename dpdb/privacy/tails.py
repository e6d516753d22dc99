"""Quantiles of discrete noise, and of sums of independent noises, for intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist

import numpy as np

from dpdb.errors import ParameterError

__all__ = [
    "gaussian_tail",
    "laplace_difference_tail",
    "laplace_sum_tail",
    "laplace_tail",
]

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
