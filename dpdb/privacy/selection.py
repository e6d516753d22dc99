"""Private choices: of the projection threshold theta, and of the names of the best candidates.

Every function here gets exact statistics or scores for a public list of candidates and returns places in it, at a
stated cost.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

from dpdb.privacy.epsilon import ZCDP, as_fraction
from dpdb.privacy.noise import bounded_range_max, noisy_max, noisy_min

# Scores become integers after multiplication by this; flooring then costs one part in 65,536 of the noise.
_K = 1 << 16
_LARGEST_SCORE = 1 << 60  # scores are 64-bit integers
_SQRT2 = Fraction(math.isqrt(2 * 10**24), 10**12)
_PAPER_THETAS = (1, 5, 10, 100, 500, *range(1_000, 11_000, 1_000))


def paper_grid(cap: int) -> tuple[int, ...]:
    """Return the candidates of paper A's experiments (section 6.1) below `cap`, then `cap`. Public like `cap`."""
    return (*(theta for theta in _PAPER_THETAS if theta < cap), cap)


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


def rho_of_choice(epsilon: int) -> int:
    """Return the pico-rho of a choice whose bounded range is so much nano-epsilon: epsilon^2 / 8, rounded up.

    It is a quarter of what a choice that is only known to be pure costs (`bounded_range_max` has the proof).
    """
    return -(-ZCDP.charge_pure(as_fraction(epsilon)) // 4)


def peeled(
    scores: Sequence[int], low: int, high: int, shares: Sequence[int], *, paid: Literal["epsilon", "rho"] = "epsilon"
) -> list[int]:
    """Name candidates by noisy maxima, each among those that were not named before.

    Privacy: every round is `noisy_max` of scores whose changes lie in [low, high], so its share of epsilon is what it
    loses whatever the rounds before have named; which candidates it has is decided by those names and public facts
    alone, and the shares are fixed in advance. So the rounds compose adaptively, and all names with their order lose
    at most the sum of the shares. Paid in rho every round is `bounded_range_max` at its share of rho, which is zCDP
    whatever was named before, and zCDP composes adaptively likewise (Bun and Steinke 2016, Lemma 2.3).

    Parameters
    ----------
    scores
        The exact scores of all candidates, whose list is public.
    low, high
        The least and the greatest change of any score by one unit.
    shares
        Nano-epsilon, or pico-rho, of each round; not more rounds than candidates.
    paid
        By which of both.

    Returns
    -------
    list of int
        Places of the named, in the order in which they were named.
    """
    left, choose = list(range(len(scores))), noisy_max if paid == "epsilon" else bounded_range_max
    return [left.pop(choose([scores[place] for place in left], low, high, share)) for share in shares]


# Scores become integers after multiplication by this; flooring then costs one part in 65,536 of the noise.


def thirds_grid(cap: int) -> tuple[int, ...]:
    """Return the candidates: `cap`, a third of it, a ninth and so on while at least 1, ascending. Public like `cap`."""
    grid = []
    while cap:
        grid.append(cap)
        cap //= 3
    return tuple(reversed(grid))


def tripling_grid(top: int, extra: int) -> tuple[int, ...]:
    """Return the thetas whose theta + extra is (1 + extra) 3^k, up to the first that is at least `top`, ascending."""
    grid = [1]
    while grid[-1] < top:
        grid.append(3 * (grid[-1] + extra) - extra)
    return tuple(grid)


def marginal_choice(statistics: Sequence[int], sensitivities: Sequence[int], price: Fraction, epsilon: int) -> int:
    """Choose the candidate beyond which larger candidates gain little for their noise.

    The score of candidate i is max(0, max over j > i of (g(j) - g(i)) / S(j)) + (price / epsilon) log2(S(i) / S(0)):
    what some larger candidate would add, in units of that candidate's sensitivity, and a price for each doubling of
    the own sensitivity; the smallest score wins. The price is public, so it costs nothing, and it grows with the noise
    of the choice: choosing 2^k times too large a theta then has probability about 2^(-k price), which keeps the
    *expected* error small.

    Sensitivity: one more row lets each g(i) grow by 0 to S(i), so (g(j) - g(i)) / S(j) changes by at least -S(i)/S(j)
    and at most 1, and so do the maximum and the score: all scores move within one interval of length 1 + r, where r is
    the greatest S(i)/S(j) of neighbouring candidates. Moving all scores together changes no choice, so only half of
    that length counts: K s floored has sensitivity (K (1 + r) + 2) / 2. Report-noisy-min then spends `epsilon`.

    Parameters
    ----------
    statistics, sensitivities : sequence of int
        g(i), monotone in rows, and S(i) >= 1, its greatest change, strictly ascending.
    price : Fraction
        Per doubling, in units of 1 / epsilon.
    epsilon : int
        Nano-epsilon spent.

    Returns
    -------
    int
        Index of the chosen candidate.
    """
    toll = float(price / as_fraction(epsilon))
    scores = []
    for i, (g, s) in enumerate(zip(statistics, sensitivities, strict=True)):
        larger = zip(statistics[i + 1 :], sensitivities[i + 1 :], strict=True)
        gain = max([Fraction(0), *(Fraction(other - g, t) for other, t in larger)])
        scores.append(math.floor(_K * gain) + math.floor(_K * toll * math.log2(s / sensitivities[0])))
    ratio = max((Fraction(s, t) for s, t in itertools.pairwise(sensitivities)), default=Fraction(0))
    return noisy_min(scores, math.ceil((_K * (1 + ratio) + 2) / 2), epsilon)
