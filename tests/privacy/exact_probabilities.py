"""Exact distributions of the noise, in closed form, and the one statistical check of this folder."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from scipy.stats import binom


def laplace_probability(k: int, scale: float) -> float:
    """Pr[noise = k] of the discrete Laplace distribution."""
    return math.tanh(1 / (2 * scale)) * math.exp(-abs(k) / scale)


def laplace_above(t: int, scale: float) -> float:
    """Pr[noise > t], t >= 0."""
    return math.exp(-t / scale) / (1 + math.exp(1 / scale))


def permute_and_flip(scores: Sequence[int], scale: float) -> list[float]:
    """Probability of each index: visit in random order, take index i with probability exp((score - best) / scale).

    McKenna and Sheldon (2020); report-noisy-max with exponential noise is the same distribution (Ding et al. 2021).
    """
    best = max(scores)
    take = [math.exp((score - best) / scale) for score in scores]

    @cache
    def reach(left: frozenset[int]) -> float:
        """Probability that at some time exactly `left` are still unvisited and nothing was taken."""
        if len(left) == len(scores):
            return 1.0
        return sum(reach(left | {i}) / (len(left) + 1) * (1 - take[i]) for i in range(len(scores)) if i not in left)

    everyone = range(len(scores))
    subsets = [frozenset(i for i in everyone if bits >> i & 1) for bits in range(1, 1 << len(scores))]
    return [sum(reach(left) / len(left) * take[i] for left in subsets if i in left) for i in everyone]


def is_plausible(hits: int, trials: int, probability: float, alpha: float) -> bool:
    """Two-sided exact binomial test: false for a true probability with probability at most `alpha`."""
    return bool(
        binom.cdf(hits, trials, probability) > alpha / 2 and binom.sf(hits - 1, trials, probability) > alpha / 2
    )
