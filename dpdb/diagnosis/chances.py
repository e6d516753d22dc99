"""The chance that a diagnosis names the right slice or rule, for sizes that are public or assumed. Reads no row."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np

__all__ = ["chance_of_largest", "chance_of_noisy_max", "smallest_lead"]

_WIDEST = 10_000.0  # scales in steps beyond it are made coarser: only the quotient of lead and scale counts
_CUT = 45  # scales beyond which noise has probability below 1e-19
_POINTS = 20_000


def chance_of_largest(leads: Mapping[int, int], scale: float) -> float:
    """Return the chance that one of several noisy scores is the largest, all with discrete Laplace noise.

    Exact but for rounding: the sum over its noise of the product of the others' distribution functions. A tie is lost.

    Parameters
    ----------
    leads : mapping of int to int
        By how many steps its score exceeds others: how many there are of each lead.
    scale : float
        Of the noise, in steps.
    """
    coarser = max(1.0, scale / _WIDEST)
    scale /= coarser
    end = math.ceil(_CUT * scale)
    q = math.exp(-1 / scale)
    x = np.arange(-end, end + 1)
    mass = (1 - q) / (1 + q) * q ** np.abs(x).astype(float)
    below = np.concatenate([[0.0], np.cumsum(mass)])  # below[i]: noise < x[i]
    product = np.ones(len(x))
    for lead, count in leads.items():
        place = np.clip(x + math.floor(lead / coarser) + end, 0, len(x))
        product *= below[place] ** count
    return float(min(1.0, (mass * product).sum()))


def chance_of_noisy_max(leads: Mapping[int, int], scale: float) -> float:
    """Return the chance that `noisy_max` picks a score, with exponential noise of a scale: a mean over its quantiles.

    Parameters as `chance_of_largest`.
    """
    u = (np.arange(_POINTS) + 0.5) / _POINTS  # exp(-noise / scale) of the one
    product = np.ones(_POINTS)
    for lead, count in leads.items():
        product *= np.clip(1 - u * math.exp(min(700.0, -lead / scale)), 0, None) ** count
    return float(product.mean())


def smallest_lead(chance: Callable[[Fraction], float], wanted: float, step: Fraction = Fraction(1)) -> int:
    """Return the fewest rows of lead for which a chance is at least as wanted; the chance grows with the lead."""
    most = 1
    while chance(most * step) < wanted:
        most *= 2
    least = most // 2
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if chance(middle * step) >= wanted else (middle, most)
    return most
