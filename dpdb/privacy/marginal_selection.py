"""Private choice of theta by the gain of larger candidates, at a public price per doubling."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

from dpdb.privacy.epsilon import as_fraction
from dpdb.privacy.noise import noisy_min

__all__ = ["marginal_choice", "thirds_grid", "tripling_grid"]

# Scores become integers after multiplication by this; flooring then costs one part in 65,536 of the noise.
_K = 1 << 16


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
