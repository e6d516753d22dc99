"""The noise of the number that `climb` publishes: its law does not depend on the rows, so it has exact tails.

Rung k has the noise N = n - c: discrete Laplace noise n, less a handicap c, the sum of max(0, -m) over k other draws m
of the same law. The start, and whatever is published with noise of its own, has N = n: no handicaps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from dpdb.privacy.tails import laplace_tail

__all__ = ["HandicappedNoise", "difference_tail"]

_TERMS = 24  # of an exponential series at 1/2 or less: the remaining terms are below 1e-30
_ROUNDING = 1e-14  # of one product of small matrices without a negative number, with room to spare


@dataclass(frozen=True)
class HandicappedNoise:
    """Law of N = n - c.

    Attributes
    ----------
    scale : float
        Of each draw.
    handicaps : int
        How many draws c sums over.
    """

    scale: float
    handicaps: int

    @property
    def mean(self) -> float:
        """Expected N, at most 0: less the expected max(0, -m) for each handicap."""
        q = math.exp(-1 / self.scale)
        return -self.handicaps * q / ((1 - q) * (1 + q))

    def above(self, beta: float) -> int:
        """Return the smallest t >= 0 with Pr[N > t] <= beta, for noise on the integers and 0 < beta < 1.

        For t >= 0, Pr[N > t] = E[Pr[n > t + c | c]] = E[q^(t + 1 + c)] / (1 + q) = Pr[n > t] E[q^c], q = exp(-1/scale).
        max(0, -m) is 0 with probability 1/(1 + q) and h >= 1 with (1-q)/(1+q) q^h, so its part of E[q^c] is
        1/(1 + q) + q^2 / (1 + q)^2 = (1 + q + q^2) / (1 + q)^2: nearly 3/4.
        """
        q = math.exp(-1 / self.scale)
        return laplace_tail(self.scale, beta / ((1 + q + q**2) / (1 + q) ** 2) ** self.handicaps)

    def below(self, beta: float) -> int:
        """Return a t >= 0 with Pr[N < -t] <= beta, for noise on the integers and 0 < beta < 1.

        -N = c - n. The tail is that of continuous Laplace noise, to which N is near (`difference_tail`).
        """
        return math.ceil(difference_tail(HandicappedNoise(0, 0), self, beta)) + 1 + self.handicaps


@cache
def difference_tail(later: HandicappedNoise, earlier: HandicappedNoise, beta: float) -> float:
    """Return a t >= 0 with Pr[M' - M > t] <= beta for the continuous relatives M', M of two independent noises.

    It is nearly the smallest such t, and never less. A scale of 0 is no noise.

    The relative of N = n - c replaces each discrete Laplace draw by a continuous one of the same scale, such that each
    differs by less than a step: floor(E) is geometric with q = exp(-1/scale) if E is exponential with that scale, and a
    discrete Laplace draw is the difference of two independent such ones, a continuous one that of two exponentials. As
    max(0, -m) differs by no more than m does, |N - M| is less than 1 + handicaps steps; the caller adds that.

    Parameters
    ----------
    later, earlier : HandicappedNoise
        The noises whose relatives are M' and M.
    beta : float
        The most that the tail may be.
    """
    chance = _chance_above(later, earlier)
    low, high = 0.0, max(later.scale, earlier.scale)
    while chance(high) > beta:
        low, high = high, 2 * high
    if low == 0 and chance(0.0) <= beta:
        return 0.0
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if chance(middle) <= beta else (middle, high)
    return high


def _chance_above(later: HandicappedNoise, earlier: HandicappedNoise) -> Callable[[float], float]:
    """Return t -> Pr[M' - M > t] for t >= 0, rounded up.

    A continuous Laplace draw of scale b is b (E - F) with independent standard exponentials, and max(0, -m) is b E or 0
    with probability 1/2 each. So M' - M = U - V: with b', b the scales and k', k the handicaps,

        U = b' E + b E, and k times b E or 0;        V = b' E + b E, and k' times b' E or 0.

    U is the time that a chain of exponential phases takes, entered at phase k - j with the chance of j further ones.
    With T the generator of the chain and a the law of its entry, Pr[U > t] = a exp(Tt) 1; V is independent of U, so

        Pr[U - V > t] = a exp(Tt) E[exp(TV)] 1    for t >= 0,    where E[exp(T b E)] = (1 - b T)^-1.

    All of these are products of numbers that are not negative, so nothing cancels.
    """
    own = [scale for scale in (later.scale, earlier.scale) if scale > 0]
    phases = np.array([earlier.scale] * earlier.handicaps + own)
    extra, count = earlier.handicaps, len(phases)
    entered = np.zeros(count)
    entered[: extra + 1] = [math.comb(extra, j) / 2**extra for j in range(extra, -1, -1)]
    one = np.eye(count)
    generator = (np.eye(count, k=1) - one) / phases[:, None]
    after = np.ones(count)
    for scale in own:
        after = np.linalg.solve(one - scale * generator, after)
    for _ in range(later.handicaps):
        after = (after + np.linalg.solve(one - later.scale * generator, after)) / 2
    fastest = 1 / phases.min()

    def chance(t: float) -> float:
        halvings = max(0, math.ceil(math.log2(2 * fastest * t))) if t > 0 else 0
        part = t / 2**halvings
        flow = _exponential((generator + fastest * one) * part) * math.exp(-fastest * part)
        for _ in range(halvings):
            flow = flow @ flow
        return float(entered @ flow @ after) * (1 + _ROUNDING * 2.0**halvings)

    return chance


def _exponential(matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return exp of a small matrix without negative numbers."""
    term = total = np.eye(len(matrix))
    for n in range(1, _TERMS):
        term = term @ matrix / n
        total = total + term
    return total
