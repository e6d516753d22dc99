"""Private choice of the projection threshold theta.

Every function here gets exact statistics for a public list of candidates and returns an index, at a stated cost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from dpdb.privacy.epsilon import as_fraction
from dpdb.privacy.noise import noisy_max, noisy_min

__all__ = ["generalized_exponential_mechanism", "paper_exponential_mechanism", "paper_grid", "power_grid"]

# Scores become integers after multiplication by this; flooring then costs one part in 65,536 of the noise.
_K = 1 << 16
_LARGEST_SCORE = 1 << 60  # scores are 64-bit integers
_SQRT2 = Fraction(math.isqrt(2 * 10**24), 10**12)
_PAPER_THETAS = (1, 5, 10, 100, 500, *range(1_000, 11_000, 1_000))


def power_grid(cap: int) -> tuple[int, ...]:
    """Return the candidates: powers of two below `cap`, then `cap`. Public once `cap` is released."""
    return (*(1 << k for k in range(cap.bit_length()) if 1 << k < cap), cap)


def paper_grid(cap: int) -> tuple[int, ...]:
    """Return the candidates of paper A's experiments (section 6.1) below `cap`, then `cap`. Public like `cap`."""
    return (*(theta for theta in _PAPER_THETAS if theta < cap), cap)


def generalized_exponential_mechanism(
    statistics: Sequence[int], sensitivities: Sequence[int], weight: Fraction, epsilon: int
) -> int:
    """Choose the candidate whose statistic loses least, weighed against its noise (Raskhodnikova and Smith 2016).

    With A(i) = weight S(i) - g(i), the score is s(i) = max over j of (A(i) - A(j)) / max(S(i), S(j)), smallest wins.

    Sensitivity of s is 1: one more row lets g(i) grow by at most S(i) and g(j) by at most S(j), both monotone, so each
    A(i) - A(j) changes by at most max(S(i), S(j)), and a maximum of such ratios by at most 1. The scores themselves are
    not monotone, so the noise is the full 2/epsilon. K s floored changes by at most K + 1.

    Parameters
    ----------
    statistics, sensitivities : sequence of int
        g(i), monotone in rows, and S(i) >= 1, its greatest change.
    weight : Fraction
        What a unit of sensitivity costs: roughly the noise per unit, in the statistic's units.
    epsilon : int
        Nano-epsilon spent.

    Returns
    -------
    int
        Index of the chosen candidate.
    """
    up = [weight * s - g for g, s in zip(statistics, sensitivities, strict=True)]
    scores = [
        max(math.floor(_K * (mine - other) / max(s, t)) for other, t in zip(up, sensitivities, strict=True))
        for mine, s in zip(up, sensitivities, strict=True)
    ]
    return noisy_min(scores, _K + 1, epsilon)


def paper_exponential_mechanism(
    statistics: Sequence[int],
    candidates: Sequence[int],
    low: int,
    high: int,
    *,
    answer_epsilon: int,
    epsilon: int,
) -> int:
    """Choose theta by paper A's quality function (Algorithm 3, Equation 2), as permute-and-flip.

    The score is f(G_theta) - sqrt(2) theta / epsilon2; the paper's common term f(G_theta_max) is left out, because it
    is the same for all candidates and cancels in the choice, but not in the sensitivity (with it, for positive-degree
    nodes, the sensitivity is theta_max + theta and Lemma 2 is false). Without it a row changes the score by what it
    changes f(G_theta): by 0 to theta_max for edges, by at most theta_max + 1 in either direction for positive-degree
    nodes. sqrt(2) theta / epsilon2 does not depend on the data: its rounding is free.

    Parameters
    ----------
    statistics : sequence of int
        f(G_theta) of each candidate.
    candidates : sequence of int
        The thetas.
    low, high : int
        Least and greatest change of f(G_theta) by one more row, for every candidate.
    answer_epsilon : int
        epsilon2: nano-epsilon of the answer at the chosen theta.
    epsilon : int
        Nano-epsilon spent on the choice.
    """
    costs = [_SQRT2 * theta / as_fraction(answer_epsilon) for theta in candidates]
    k = max(1, min(_K, int(_LARGEST_SCORE / max(costs))))
    scores = [k * value - math.floor(k * cost) for value, cost in zip(statistics, costs, strict=True)]
    return noisy_max(scores, k * low, k * high, epsilon)
