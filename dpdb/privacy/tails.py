"""Quantiles of discrete noise, for intervals."""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist

__all__ = ["gaussian_tail", "laplace_tail"]

# Wider Gaussians are bounded by the continuous one: at most one more than the sum would say.
_WIDEST_SUMMED = 1000.0
_SLACK = 1e-9


def laplace_tail(scale: float, beta: float) -> int:
    """Return the smallest t with Pr[noise > t] <= beta for discrete Laplace noise of the given scale, 0 < beta < 1.

    Pr[noise >= t + 1] = exp(-t/b) / (1 + exp(1/b)), so t = ceil(b (ln(1/beta) - ln(1 + exp(1/b)))); the slack of one
    part in a billion keeps the bound valid under floating-point rounding.
    """
    log_one_plus_exp = 1 / scale + math.log1p(math.exp(-1 / scale))
    return max(0, math.ceil(scale * (math.log(1 / beta) - log_one_plus_exp) * (1 + _SLACK) + _SLACK))


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
