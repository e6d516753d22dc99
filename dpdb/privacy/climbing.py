"""Several noisy answers to one question at the cost of one: only the last answer that stands out is published.

All numbers here are in *units*: a statistic divided by its own sensitivity S and multiplied by UNIT, rounded down. If a
row lets the statistic grow by 0 to S, it lets the units grow by 0 to UNIT, whatever S is.

The law of the noise of the number that `climb` publishes does not depend on the rows, so it has exact tails
(`HandicappedNoise`). Rung k has the noise N = n - c: discrete Laplace noise n, less a handicap c, the sum of max(0, -m)
over k other draws m of the same law. The start, and whatever is published with noise of its own, has N = n: no
handicaps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from dpdb.privacy.noise import discrete_laplace, laplace_tail

# Flooring to units costs at most one part in 65,536 of a sensitivity.
UNIT = 1 << 16


def in_units(value: int, sensitivity: int) -> int:
    """Return floor(UNIT value / sensitivity): it grows by 0 to UNIT if the value grows by 0 to its sensitivity.

    floor(a + b) - floor(a) is at most ceil(b), and b is at most UNIT, an integer.
    """
    return UNIT * value // sensitivity


@dataclass(frozen=True)
class HiddenNoise:
    """Noise of the start and of every rung above it, in units, drawn whatever their statistics are.

    Attributes
    ----------
    draws : tuple of int
        The first draw is the start's.
    scale : float
        Of each draw.
    """

    draws: tuple[int, ...]
    scale: float

    @property
    def handicap(self) -> int:
        """The number that a test above all of them must subtract: the sum of max(0, -n)."""
        return sum(max(0, -n) for n in self.draws)


def draw_hidden_noise(rungs: int, epsilon: int) -> HiddenNoise:
    """Draw for a start and a number of rungs; free until something is published with it (see `climb`)."""
    drawn = [discrete_laplace(0, UNIT, epsilon) for _ in range(rungs + 1)]
    return HiddenNoise(tuple(noise for noise, _ in drawn), drawn[0][1])


def height_above(noisy: int, hidden: HiddenNoise, threshold: int, epsilon: int) -> int:
    """Test a number in units against a public threshold, with noise of its own and the handicap of `hidden`.

    It is accepted if the height is not negative, and nothing else of the height may be told. A refusal is paid for by
    `climb` if the draws of `hidden` were made with the same `epsilon`; an acceptance tells no more than `noisy`, which
    must be released for it.

    Parameters
    ----------
    noisy : int
        The number to test, in units, with noise of its own.
    hidden : HiddenNoise
        Of the `climb` that pays for a refusal.
    threshold : int
        Public, in units.
    epsilon : int
        Nano-epsilon of the test's noise.
    """
    answer, _ = discrete_laplace(noisy - hidden.handicap, UNIT, epsilon)
    return answer - threshold


def climb(start: int, rungs: Sequence[int], thresholds: Sequence[int], noise: Sequence[int]) -> tuple[int, int]:
    """Return the highest rung whose noisy number reaches its threshold, and that number; else 0, and the start's.

    Rung k = 1, 2, ... has the number w(k) = x(k) + n(k) - c(k) with its exact units x(k), its noise n(k) and the
    handicap c(k), the sum of max(0, -n(j)) over all j < k, the start included. The start has x(0) + n(0).

    Parameters
    ----------
    start : int
        x(0), in units.
    rungs : sequence of int
        x(1), x(2), ..., in units.
    thresholds : sequence of int
        The public threshold of each rung, in units.
    noise : sequence of int
        From `draw_hidden_noise`: n(0), then one for each rung, more are not read.

    Privacy
    -------
    Let one more row let every x(k) grow by 0 to UNIT, the thresholds be public, the noise discrete Laplace of scale
    UNIT / epsilon. Then (position, number) *together with* the refusal of one test `height_above` of a number y + noise
    (y in units, growing by 0 to UNIT, its noise of any law) is epsilon-DP, for any number of rungs. Only what is
    published is paid for: of the others one learns that they did not stand out, and the handicap makes this free.

    Proof, with UNIT / scale = epsilon and a = 1 / scale. Let F(k, c) be the probability that everything above k is
    refused, given the handicap c there: the rungs j > k one after the other, the test last. F grows with c. Claims:

    1. F(k, c + z) <= exp(a z) F(k, c) for z >= 0. For the test this is its own Laplace noise. Going down from k + 1 to
       k: substitute n = m + z for the noise n of rung k + 1. It is refused at c + z with n iff it is refused at c with
       m, and the handicap above it, c + z + max(0, -m - z), exceeds c + max(0, -m) by
         0                if m < -z;        the probability of n is exp(a z) times that of m: together exp(a z).
         z - |m|          if -z <= m < 0;   probability exp(a (2|m| - z)): together exp(a |m|) <= exp(a z).
         z                if m >= 0;        probability exp(-a z): together 1.
       (The excess costs exp(a excess), by the claim for k + 1.)
    2. With F' after one more row: F'(k, c) <= F(k, c), for all numbers grew; and F(k, c) <= F'(k, c + UNIT), for none
       grew by more than UNIT and c lowers each by as much. With 1, F'(k, c) is within [exp(-epsilon), 1] F(k, c).

    The outcome (k, v) given the noise below k, which no row touches and which fixes c = c(k): n = v - x(k) + c, and its
    probability is p(n) F(k, c + max(0, -n)), the position's condition v >= threshold being public. One more row moves n
    to n - d, 0 <= d <= UNIT. With L the log ratio of after to before, in units of a:
      n - d >= 0:      p gives +d, F gives [-UNIT, 0].                       L in [-UNIT, d].
      n < 0:           p gives -d, F' at a handicap greater by d gives       L in [-UNIT, 0].
                       at most +d (monotone, 1) and at least -(UNIT - d) (2, 1).
      n >= 0 > n - d:  with e = d - n: p gives n - e, F' at a handicap       L in [-UNIT, d].
                       greater by e at most +e, at least -(UNIT - e).
    So |L| <= UNIT a = epsilon in every case, and averaging over the noise below k keeps this. QED
    """
    handicap, position, number = 0, 0, start + noise[0]
    for k, (x, threshold) in enumerate(zip(rungs, thresholds, strict=True), 1):
        handicap += max(0, -noise[k - 1])
        noisy = x + noise[k] - handicap
        if noisy >= threshold:
            position, number = k, noisy
    return position, number


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
    scales = [scale for scale in (later.scale, earlier.scale) if scale > 0]
    phases = np.array([earlier.scale] * earlier.handicaps + scales)
    extra, count = earlier.handicaps, len(phases)
    entered = np.zeros(count)
    entered[: extra + 1] = [math.comb(extra, j) / 2**extra for j in range(extra, -1, -1)]
    identity = np.eye(count)
    generator = (np.eye(count, k=1) - identity) / phases[:, None]
    after = np.ones(count)
    for scale in scales:
        after = np.linalg.solve(identity - scale * generator, after)
    for _ in range(later.handicaps):
        after = (after + np.linalg.solve(identity - later.scale * generator, after)) / 2
    fastest = 1 / phases.min()

    def chance(t: float) -> float:
        halvings = max(0, math.ceil(math.log2(2 * fastest * t))) if t > 0 else 0
        part = t / 2**halvings
        flow = _exponential((generator + fastest * identity) * part) * math.exp(-fastest * part)
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
