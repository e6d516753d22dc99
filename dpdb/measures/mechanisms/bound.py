"""`bound`: the statistic at the released degree cap."""

from __future__ import annotations

from fractions import Fraction

from dpdb.measures.answer import Answer
from dpdb.measures.mechanism import Mechanism, Run
from dpdb.measures.mechanisms.projected import ProjectedStatistic, noisy_answer

__all__ = ["bound"]


def bound(statistic: ProjectedStatistic, noise: str) -> Mechanism:
    """Return the mechanism for one statistic."""

    def release(run: Run) -> Answer:
        """Project to the released degree cap. Sensitivity of edges(pi_theta) is theta (`projected.EDGES`)."""
        return noisy_answer(statistic, run.statistics, run.degree_cap, run.epsilon, run.beta)

    return Mechanism("bound", release, Fraction(9, 10), statistic.name, noise, cap_weight=1, answer_weight=9)
