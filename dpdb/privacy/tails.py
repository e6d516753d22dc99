"""Quantiles of discrete Laplace noise, for intervals."""

from __future__ import annotations

import math

__all__ = ["laplace_tail"]


def laplace_tail(scale: float, beta: float) -> int:
    """Return t with Pr[noise > t] <= beta for discrete Laplace noise of the given scale, 0 < beta < 1.

    Pr[noise >= t + 1] = exp(-t/b) / (1 + exp(1/b)) <= exp(-t/b) / 2, so t = ceil(b ln(1 / (2 beta))) suffices.
    """
    return max(0, math.ceil(scale * math.log(1 / (2 * beta))))
