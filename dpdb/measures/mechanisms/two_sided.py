"""`two_sided`: an interval with an upper end, at the price of accuracy; opt-in by name.

Sensitivity
-----------
That of the statistic at theta: theta + extra (`projected`, with proofs).

Proof
-----
The cap and the answer are two releases that add up (`two_sided`); with a declared theta there is one (`declared`).

Source
------
New here; the degree cap is that of Mohapatra et al. (SIGMOD 2025), Lemma 3 and Theorem 3.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpdb.measures.answer import Answer
from dpdb.measures.mechanism import Mechanism, Run
from dpdb.measures.mechanisms.projected import STATISTICS, ProjectedStatistic
from dpdb.privacy import discrete_laplace, laplace_tail

__all__ = ["declared", "two_sided"]


def two_sided(statistic: ProjectedStatistic, measure: str, noise: str) -> Mechanism:
    """Return the mechanism for a statistic that equals the measure once theta is at least every degree.

    theta is the released degree cap plus the tail of its noise, so it is below some degree with probability at most
    beta / 3; the answer's noise leaves either side of its tail with probability at most beta / 3. By the union bound
    the interval holds with confidence 1 - beta, on both sides at once. The cost is that of the cap and of the answer;
    everything else reads released numbers. `value` pays for the largest group of rows, clean or not.

    Parameters
    ----------
    statistic
        The statistic to release.
    measure
        The measure's name, the estimand of the answer.
    noise
        The statistic's sensitivity in words.
    """

    def release(run: Run) -> Answer:
        theta = run.released_cap.above_all_degrees(run.beta / 3)
        exact = statistic.exact(run.statistics, theta)
        noisy, scale = discrete_laplace(exact, statistic.sensitivity(theta), run.epsilon)
        tail = laplace_tail(scale, run.beta / 3)
        return Answer(
            value=noisy, lower=noisy - tail, upper=noisy + tail, theta=theta, noise_scale=scale, estimand=measure
        )

    return Mechanism("two_sided", release, Fraction(9, 10), statistic.name, noise, cap_weight=1, answer_weight=9)


def declared(mechanism: Mechanism, measure: str, theta: int) -> Mechanism:
    """Return `two_sided` for a public theta that the owner declares to be at least every degree.

    theta comes from `max_group`, the owner's word that no group of rows with a common left-hand side is larger. No row
    is asked whether that is true, so nothing is spent on it and nothing leaks if it is not.

    Privacy, for every theta, true or not: the statistic at theta has sensitivity theta + extra (`ProjectedStatistic`),
    and it is released once with discrete Laplace noise of that sensitivity over epsilon. The declaration is a constant.

    Interval, if the declaration is true: the projection at theta keeps every conflict, so the statistic is the measure
    itself, and the noise leaves [-t, t] with probability at most beta. If it is wrong, the statistic is below the
    measure: `lower` still holds with probability at least 1 - beta / 2, `upper` is one of the projection only. QED

    Parameters
    ----------
    mechanism
        The measure's `two_sided`.
    measure
        The measure's name, for the estimand.
    theta
        The declared bound of the degrees.
    """
    statistic = STATISTICS[mechanism.reads]

    def release(run: Run) -> Answer:
        exact = statistic.exact(run.statistics, theta)
        estimand = f"{measure}, if no group of rows is larger than the owner declares"
        return run.by_laplace(exact, statistic.sensitivity(theta), estimand, theta=theta)

    return replace(mechanism, answer=release, answer_share=Fraction(1), cap_weight=0, answer_weight=1)
