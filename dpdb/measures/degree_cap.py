"""dcap: the released upper bound of the maximum degree, shared by the measures of one call."""

from __future__ import annotations

from dpdb.measures.answer import GraphStatistics
from dpdb.privacy.randomness import discrete_laplace

__all__ = ["release_degree_cap"]


def release_degree_cap(statistics: GraphStatistics, epsilon: int) -> int:
    """Release max(1, d + DLap(l / epsilon)): epsilon-DP, because one row changes d by at most l.

    d is the sum of the terms of `dpdb.engine.degree_bound`, l the sum of their sensitivities (paper A, Lemma 3 and
    Theorem 3, with one Laplace draw instead of one per dependency). Without a constraint over two tuples d is 0 for
    every table and nothing is drawn.
    """
    sensitivity = statistics.degree_sensitivity
    if sensitivity == 0:
        return 1
    noisy, _ = discrete_laplace(statistics.degree_bound(), sensitivity, epsilon)
    return max(1, noisy)
