"""Quantiles of discrete Laplace noise, for intervals."""

from __future__ import annotations

import math

__all__ = ["laplace_tail"]


def laplace_tail(scale: float, beta: float) -> int:
    """Return the smallest t with Pr[noise > t] <= beta for discrete Laplace noise of the given scale, 0 < beta < 1.

    Pr[noise >= t + 1] = exp(-t/b) / (1 + exp(1/b)), so t = ceil(b (ln(1/beta) - ln(1 + exp(1/b)))); the slack of one
    part in a billion keeps the bound valid under floating-point rounding.
    """
    log_one_plus_exp = 1 / scale + math.log1p(math.exp(-1 / scale))
    return max(0, math.ceil(scale * (math.log(1 / beta) - log_one_plus_exp) * (1 + 1e-9) + 1e-9))
