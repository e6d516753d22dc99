"""One-sided geometric noise, for thresholds: exact, through the one source of random numbers.

A comparison with a noisy threshold needs noise that only one shift leaves: with X on 0, 1, 2, ... and Pr[X >= x] =
exp(-x / b), Pr[X = x] is exp(d / b) times Pr[X = x + d], and Pr[X >= x] at most exp(d / b) times Pr[X >= x + d], for
every x and d >= 0. Nothing is said of d < 0, and nothing needs to be (`dpdb.suites.mechanism.levels`).
"""

from __future__ import annotations

from dpdb.privacy.noise import discrete_laplaces

__all__ = ["one_sided_noises"]


def one_sided_noises(count: int, sensitivity: int, epsilon: int) -> list[int]:
    """Draw independent geometric noises, whose loss is at most `epsilon` for a shift by `sensitivity`.

    Discrete Laplace noise is drawn again until it is not negative: given that, its law is exactly geometric, because
    Pr[X = x] is proportional to exp(-x / b) there. More than half of all draws are kept, and how many are drawn depends
    on the coins alone, never on a table.

    Parameters
    ----------
    count : int
        How many noises.
    sensitivity : int
        The shift, in steps of the lattice.
    epsilon : int
        Nano-epsilon that the shift costs; OpenDP certifies the scale b = sensitivity / epsilon for it.
    """
    noises = discrete_laplaces(count, sensitivity, epsilon)
    while again := [place for place, noise in enumerate(noises) if noise < 0]:
        for place, noise in zip(again, discrete_laplaces(len(again), sensitivity, epsilon), strict=True):
            noises[place] = noise
    return noises
