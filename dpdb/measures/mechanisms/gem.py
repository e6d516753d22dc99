"""`gem`: choose theta by the generalized exponential mechanism, then release the statistic at about that theta.

Sensitivity
-----------
That of the statistic at theta: theta + extra (`projected`, with proofs); of the scores 1.

Proof
-----
The cap is released first; then the selection and the answer each spend their share, and the shares add up
(`gem_answer`; the selection's own proof is in `dpdb.privacy.selection`).

Source
------
The generalized exponential mechanism of Raskhodnikova and Smith (2016).
"""

from __future__ import annotations

from fractions import Fraction

from dpdb.measures.answer import Answer, GraphStatistics
from dpdb.measures.mechanism import Mechanism, Run
from dpdb.measures.mechanisms.projected import WITNESSES, ProjectedStatistic, noisy_answer
from dpdb.privacy import as_fraction, generalized_exponential_mechanism, power_grid, split

__all__ = [
    "gem",
    "gem_answer",
    "witness",
]


# The selection's own error grows like the sensitivity times a small multiple of 1/epsilon1; found on synthetic tables.
_SELECTION_PENALTY = 12


def gem(statistic: ProjectedStatistic, noise: str) -> Mechanism:
    """Return the mechanism for one statistic."""

    def release(run: Run) -> Answer:
        """Choose theta below the cap by GEM, which pays for a large cap only logarithmically."""
        select, answer = split(run.epsilon, (35, 55))
        return gem_answer(statistic, run.statistics, run.degree_cap, (select, answer), run.beta)

    return Mechanism("gem", release, Fraction(55, 100), statistic.name, noise, cap_weight=1, answer_weight=9)


def gem_answer(
    statistic: ProjectedStatistic,
    statistics: GraphStatistics,
    cap: int,
    epsilons: tuple[int, int],
    beta: float,
) -> Answer:
    """Select theta below a public cap, and release the statistic at min(2 theta, cap).

    The cost is the sum of both epsilons (sequential composition); doubling and capping read only released numbers. The
    statistic must be monotone with sensitivity theta + extra.

    Parameters
    ----------
    statistic
        The statistic to release.
    statistics
        Where it is read.
    cap
        The public cap.
    epsilons
        Nano-epsilon of the selection, and of the answer.
    beta
        Probability that the lower bound exceeds the exact value, at most.
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


def witness(noise: str) -> Mechanism:
    """Return the mechanism."""
    return Mechanism("witness", _witness, Fraction(70, 100), WITNESSES.name, noise, cap_weight=5, answer_weight=95)


def _witness(run: Run) -> Answer:
    """Count tuples that a witness covers, with theta chosen by GEM. Sensitivity theta + 1 (`WITNESSES`)."""
    select, answer = split(run.epsilon, (25, 70))
    return gem_answer(WITNESSES, run.statistics, run.degree_cap, (select, answer), run.beta)
