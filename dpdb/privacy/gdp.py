"""Gaussian differential privacy: mu to (epsilon, delta), and mu of a pure release; all rounded to the safe side."""

from __future__ import annotations

import math
import sys

__all__ = ["gdp_delta", "gdp_epsilon", "gdp_of_pure"]

_ERROR = 1e-12
"""More than the relative error of `erfcx`, `exp` and the few operations around them, about 1e-13."""

_ROOT_2 = math.sqrt(2)
_ROOT_2_PI = math.sqrt(2 * math.pi)


def gdp_delta(mu: float, epsilon: float) -> float:
    """Delta of a mu-GDP guarantee at `epsilon` (Dong, Roth & Su 2019, Corollary 2.13), rounded up.

    Notes
    -----
    With a = epsilon/mu - mu/2 and b = epsilon/mu + mu/2 it is Phi(-a) - e^epsilon Phi(-b). Since e^epsilon phi(b) =
    phi(a), it equals phi(a) (R(a) - R(b)) with Mills' ratio R(x) = Phi(-x) / phi(x) = sqrt(pi/2) erfcx(x / sqrt 2): no
    tail is ever taken as 1 minus almost 1, and no power of e overflows.
    """
    if mu == 0:
        return 0.0
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if b <= 0:  # a large negative epsilon: delta is 1 - e^epsilon or more
        return 1.0
    error = _ERROR * (1 + b + abs(a) * b)  # a is a difference, as exact as b, and its square is in an exponent
    density = math.exp(-a * a / 2) / _ROOT_2_PI
    if a <= 0:
        delta = math.erfc(a / _ROOT_2) / 2 * (1 + error) - density * _mills_ratio(b) * (1 - error)
    else:
        delta = density * (1 + error) * (_mills_ratio(a) * (1 + _ERROR) - _mills_ratio(b) * (1 - _ERROR))
    return min(1.0, max(delta, sys.float_info.min))  # never 0, and what is smaller than this is not exact


def _mills_ratio(x: float) -> float:
    from scipy.special import erfcx  # only reports of gdp ledgers need it

    return math.sqrt(math.pi / 2) * float(erfcx(x / _ROOT_2))


def gdp_epsilon(mu: float, delta: float) -> float:
    """Epsilon of a mu-GDP guarantee at `delta`, rounded up."""
    if mu == 0:
        return 0.0
    if delta < sys.float_info.min:
        return math.inf
    low, high = 0.0, 1.0
    if gdp_delta(mu, 0.0) <= delta:
        return 0.0
    while gdp_delta(mu, high) > delta:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if gdp_delta(mu, middle) > delta else (low, middle)
    return high


def gdp_of_pure(epsilon: float) -> float:
    """The least mu such that every epsilon-DP release is mu-GDP, rounded up.

    Notes
    -----
    Phi(-mu/2) = 1 / (1 + e^epsilon): the error at which both kinds are equally likely. Twice that is
    erfc(mu / sqrt 8), and 1 minus it is erf(mu / sqrt 8) = tanh(epsilon / 2): the former is accurate where mu is large,
    the latter where it is small. Both are monotone, so halving an interval finds mu to the last bits.
    """
    tail = 2 / (1 + math.exp(epsilon))

    def too_small(mu: float) -> bool:
        if epsilon < 1:
            return math.erf(mu / math.sqrt(8)) < math.tanh(epsilon / 2)
        return math.erfc(mu / math.sqrt(8)) > tail

    low, high = 0.0, 2.0 * epsilon + 1.0
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if too_small(middle) else (low, middle)
    return high * (1 + _ERROR)
