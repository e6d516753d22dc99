"""`bound`: the statistic at the released degree cap.

Sensitivity
-----------
That of the statistic at theta: theta + extra (`projected`, with proofs).

Proof
-----
The cap is released first (`release_degree_cap`); given it theta is public, and `noisy_answer` is epsilon-DP for its
share. The two shares add up (sequential composition).

Source
------
The degree cap is that of Mohapatra et al. (SIGMOD 2025), Lemma 3 and Theorem 3; all of the rest goes to the answer.
"""

from __future__ import annotations

from fractions import Fraction

from dpdb.measures.answer import Answer
from dpdb.measures.mechanism import Mechanism, Run
from dpdb.measures.mechanisms.projected import ProjectedStatistic, noisy_answer

__all__ = ["bound"]


def bound(statistic: ProjectedStatistic, noise: str) -> Mechanism:
    """Return the mechanism for one statistic."""

    def release(run: Run) -> Answer:
        """Project to the released degree cap. Sensitivity of edges(pi_theta) is theta (`EDGES`)."""
        return noisy_answer(statistic, run.statistics, run.degree_cap, run.epsilon, run.beta)

    return Mechanism("bound", release, Fraction(9, 10), statistic.name, noise, cap_weight=1, answer_weight=9)
