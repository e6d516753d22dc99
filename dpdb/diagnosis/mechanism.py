"""The three private questions of a diagnosis: exact scores on a lattice in, indices and noisy numbers out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpdb.privacy import discrete_laplaces, laplace_scale, laplace_tail, noisy_max

__all__ = [
    "Lattice",
    "joint_tail",
    "name_rule",
    "name_worst",
    "noisy_slices",
]


@dataclass(frozen=True)
class Lattice:
    """Scores tau - p n as integers: tau the fewest rows to delete of a slice of n rows, p = r/s public.

    Sensitivity
    -----------
    One more row raises tau by 0 to 1 (in steps of 1/parts: tau is monotone, and the row itself may go) and n by 1, in
    its own slice only. In steps of 1/(parts s) that slice's score changes by -parts r to parts (s - r), every other
    score by 0: `low` and `high` for any number of slices, of any number of columns, and for the slices of one column,
    which are disjoint, `greatest` is the sum of all changes.

    Attributes
    ----------
    parts : int
        1 where tau is a whole number, 2 where it is a fractional vertex cover: 2 tau is an integer.
    rate : Fraction
        p, at least 0 and below 1.
    """

    parts: int
    rate: Fraction = Fraction(0)

    @property
    def row(self) -> int:
        """Steps of one row."""
        return self.parts * self.rate.denominator

    @property
    def low(self) -> int:
        """Least change of a score by one more row."""
        return -self.parts * self.rate.numerator

    @property
    def high(self) -> int:
        """Greatest change of a score by one more row."""
        return self.row + self.low

    @property
    def greatest(self) -> int:
        """Greatest absolute change of all scores of one column together."""
        return max(self.high, -self.low)

    def score(self, parts: int, rows: int) -> int:
        """Return the score of a slice of `rows` rows whose tau is `parts` steps of tau."""
        return self.rate.denominator * parts + self.low * rows

    def at_least(self, steps: int) -> float:
        """Return rows that a number of steps is at least, and that are whole or a half."""
        return _plain(Fraction(math.floor(Fraction(self.parts * steps, self.row)), self.parts))

    def at_most(self, steps: int) -> float:
        """Return rows that a number of steps is at most, and that are whole or a half."""
        return _plain(Fraction(math.ceil(Fraction(self.parts * steps, self.row)), self.parts))


def _plain(number: Fraction) -> float:
    return int(number) if number.denominator == 1 else float(number)


def name_worst(scores: Sequence[int], lattice: Lattice, epsilon: int) -> int:
    """Return the index of a noisily largest score among the slices of all columns; epsilon-DP.

    One more row lies in at most one slice of each column, and changes the scores of those by `low` to `high` and no
    other: the range is that of one score (`noisy_max`), however many columns and slices there are.

    Parameters
    ----------
    scores : sequence of int
        One per slice, in an order that is public.
    lattice : Lattice
    epsilon : int
        Nano-epsilon spent.
    """
    return noisy_max(scores, lattice.low, lattice.high, epsilon)


def noisy_slices(scores: Sequence[int], lattice: Lattice, epsilon: int) -> list[int]:
    """Return all scores of one column's slices with noise; epsilon-DP all together.

    Sensitivity: a row lies in at most one of the slices, so the vector of scores changes by `greatest` in the L1 norm,
    and independent discrete Laplace noise of scale greatest / epsilon on each is epsilon-DP (Dwork et al. 2006): the
    losses of the slices add up to epsilon times the sum of their changes over `greatest`. What is read off the noisy
    scores, as which are the largest, costs nothing more.
    """
    noises = discrete_laplaces(len(scores), lattice.greatest, epsilon)
    return [score + noise for score, noise in zip(scores, noises, strict=True)]


def joint_tail(count: int, sensitivity: int, epsilon: int, beta: float) -> int:
    """Return steps that none of some noises exceeds in size, all at once, with probability at least 1 - beta.

    The noises are independent: Pr[all within t] = (1 - Pr[one beyond t])^count, exactly. It holds for every candidate,
    so also for those that were chosen by looking at all.

    Parameters
    ----------
    count
        The number of noises: of slices (`noisy_slices`), or of rules (`name_rule`).
    sensitivity, epsilon
        The change, in steps, that the nano-epsilon pays for.
    beta
        The most that the probability of a larger noise may be.
    """
    each = -math.expm1(math.log1p(-beta) / count)
    return laplace_tail(laplace_scale(sensitivity, epsilon), each / 2)


def name_rule(counts: Sequence[int], parts: int, epsilon: int) -> tuple[int, int]:
    """Return the index of a noisily largest count and by how much it leads; epsilon-DP both together.

    Report-noisy-max with discrete Laplace noise of scale parts / epsilon and its gap. One more row changes each count
    by 0 to `parts` (steps of a row): monotone, range `parts`.

    Proof: write s for the counts, X for the noises, n for their number, and order candidates by n (s + X) - index, so
    that none ties. Fix the noises of all but i, and let M be the best of the others in that order. The outcome "i, and
    leads by u" means u = floor((n (s_i + X_i) - i - M) / n) >= 0: residues differ, so for every u >= 0 there is exactly
    one X_i = u - s_i + ceil((M + i) / n). On a neighbour s + c with c in [0, parts] (or in [-parts, 0]) M moves by n
    times at least the least and at most the greatest c, so the ceiling moves within the same bounds, and X_i by at most
    `parts` in all: its probability changes at most by the factor exp(epsilon), and so does the mean over the others.

    Returns
    -------
    (index, lead)
        The lead is in whole steps, rounded down where the runner-up stands before the winner: one less than the
        difference of the two noisy counts.
    """
    noises = discrete_laplaces(len(counts), parts, epsilon)
    noisy = [count + noise for count, noise in zip(counts, noises, strict=True)]
    order = [len(noisy) * count - place for place, count in enumerate(noisy)]
    best = max(range(len(order)), key=order.__getitem__)
    second = max(value for place, value in enumerate(order) if place != best)
    return best, (order[best] - second) // len(order)
