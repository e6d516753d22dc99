"""dcap: the released upper bound of the maximum degree, shared by the measures of one call."""

from __future__ import annotations

from dataclasses import dataclass

from dpdb.measures.answer import GraphStatistics
from dpdb.privacy import discrete_laplace, laplace_tail

__all__ = ["DegreeCap", "release_degree_cap"]


@dataclass(frozen=True)
class DegreeCap:
    """A released cap, at least 1, and the scale of its noise (0 if nothing was drawn)."""

    value: int
    scale: float

    def above_all_degrees(self, beta: float) -> int:
        """Return a theta that is below some degree with probability at most beta: the cap plus its noise's tail."""
        return self.value + (laplace_tail(self.scale, beta) if self.scale else 0)


def release_degree_cap(statistics: GraphStatistics, epsilon: int) -> DegreeCap:
    """Release max(1, d + DLap(l / epsilon)): epsilon-DP, because one row changes d by at most l.

    d is the sum of the terms of `dpdb.engine.sql.degree_bound`, l the sum of their sensitivities (paper A, Lemma 3 and
    Theorem 3, with one Laplace draw instead of one per dependency). Without a constraint over two tuples d is 0 for
    every table and nothing is drawn.
    """
    sensitivity = statistics.degree_sensitivity
    if sensitivity == 0:
        return DegreeCap(1, 0.0)
    noisy, scale = discrete_laplace(statistics.degree_bound(), sensitivity, epsilon)
    return DegreeCap(max(1, noisy), scale)
