"""How far from its threshold a test can be wrong, in steps of the lattice.

Everywhere rho and nu are independent, Pr[rho >= x] = q1^x and Pr[nu >= x] = q^x for x = 0, 1, 2, ..., with q1 =
exp(-first) and q = exp(-level), both rates per step. A test of statistic f at offset o rings if f + nu >= T + o + rho.

**No false fail.** If f <= T - s, a ring needs nu - rho >= o + s, of probability

    sum over r of (1 - q1) q1^r q^(o + s + r) = q^(o + s) (1 - q1) / (1 - q1 q),

which is beta / m if o + s = [ln(m / beta) + ln((1 - q1) / (1 - q1 q))] / level: `quiet_reach`. The union over m checks
and over levels whose betas add up to beta holds for all of them together, however they depend on one another.

**No false pass.** A quiet test has f <= f + nu < T + o + rho. So f - T - o < ln(n / beta) / first for all quiet tests
of n banks (or n keys) together, but for a probability of beta, because Pr[rho >= ln(n / beta) / first] <= beta / n:
`threshold_reach`. It does not depend on how many tests there are, nor on how often they are repeated.

**A failure's size.** A ring with the gap u = f + nu - T - o - rho has f = T + o + u - (nu - rho), so with nu - rho <
o + s (the event of the first margin) f > T + u - s, and with rho < ln(n / beta) / first (that of the second)
f < T + o + u + ln(n / beta) / first. Hence the sizes hold together with both margins at 2 beta.

Rates are floats, and every margin is rounded up by one part in a billion before it is rounded up to a step.
"""

from __future__ import annotations

import math

__all__ = ["quiet_reach", "repeated_reach", "threshold_reach"]

_SLACK = 1e-9


def quiet_reach(first: float, level: float, log_chance: float) -> int:
    """Return the least x >= 0 with Pr[nu - rho >= x] <= exp(-log_chance).

    Parameters
    ----------
    first, level : float
        Rates of rho and nu per step.
    log_chance : float
        ln(m / beta).
    """
    log_ratio = math.log(-math.expm1(-first)) - math.log(-math.expm1(-first - level))
    return max(0, math.ceil(_up((log_chance + log_ratio) / level)))


def threshold_reach(first: float, log_chance: float) -> int:
    """Return the largest x below log_chance / first: Pr[rho > x] <= exp(-log_chance)."""
    return math.ceil(_up(log_chance / first)) - 1


def repeated_reach(level: float, number: int, log_chance: float) -> int:
    """Return the largest x below ln(K (K + 1) / beta) / level, for the K-th test of a suite without horizon.

    Pr[nu >= ln(K (K + 1) / beta) / level] <= beta / (K (K + 1)), and these add up to beta over all K = 1, 2, ...

    Parameters
    ----------
    level : float
        Rate of nu per step.
    number : int
        K.
    log_chance : float
        ln(1 / beta).
    """
    return math.ceil(_up((log_chance + math.log(number) + math.log(number + 1)) / level)) - 1


def _up(value: float) -> float:
    return value + abs(value) * _SLACK + _SLACK
