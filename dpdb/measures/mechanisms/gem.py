"""`gem`: choose theta by the generalized exponential mechanism, then release the statistic at about that theta."""

from __future__ import annotations

from fractions import Fraction

from dpdb.measures.answer import Answer, GraphStatistics
from dpdb.measures.mechanisms.projected import ProjectedStatistic, noisy_answer
from dpdb.privacy import as_fraction, generalized_exponential_mechanism, power_grid

__all__ = ["gem_answer"]

# The selection's own error grows like the sensitivity times a small multiple of 1/epsilon1; found on synthetic tables.
_SELECTION_PENALTY = 12


def gem_answer(
    statistic: ProjectedStatistic,
    statistics: GraphStatistics,
    cap: int,
    epsilons: tuple[int, int],
    beta: float,
) -> Answer:
    """Select theta below a public cap with `epsilons[0]`, release at min(2 theta, cap) with `epsilons[1]`.

    The cost is the sum of both (sequential composition); doubling and capping read only released numbers. The statistic
    must be monotone with sensitivity theta + extra.
    """
    select, answer = epsilons
    candidates = power_grid(cap)
    weight = 1 / as_fraction(answer) + Fraction(_SELECTION_PENALTY) / as_fraction(select)
    chosen = generalized_exponential_mechanism(
        statistic.read(statistics, candidates),
        [statistic.sensitivity(theta) for theta in candidates],
        weight,
        select,
    )
    return noisy_answer(statistic, statistics, min(2 * candidates[chosen], cap), answer, beta)
