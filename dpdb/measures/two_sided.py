"""`two_sided`: an interval with an upper end, at the price of accuracy; opt-in by name."""

from __future__ import annotations

from fractions import Fraction

from dpdb.measures.answer import Answer
from dpdb.measures.mechanism import Mechanism, Run
from dpdb.measures.projected import ProjectedStatistic
from dpdb.privacy.randomness import discrete_laplace
from dpdb.privacy.tails import laplace_tail

__all__ = ["two_sided"]


def two_sided(statistic: ProjectedStatistic, measure: str, noise: str) -> Mechanism:
    """Return the mechanism for a statistic that equals the measure once theta is at least every degree.

    theta is the released degree cap plus the tail of its noise, so it is below some degree with probability at most
    beta / 3; the answer's noise leaves either side of its tail with probability at most beta / 3. By the union bound
    the interval holds with confidence 1 - beta, on both sides at once. The cost is that of the cap and of the answer;
    everything else reads released numbers. `value` pays for the largest group of rows, clean or not.
    """

    def release(run: Run) -> Answer:
        theta, statistics = run.released_cap.above_all_degrees(run.beta / 3), run.statistics
        exact = statistics.self_conflicts + statistic.read(statistics, [theta])[0]
        noisy, scale = discrete_laplace(exact, statistic.sensitivity(theta), run.epsilon)
        tail = laplace_tail(scale, run.beta / 3)
        return Answer(
            value=noisy, lower=noisy - tail, upper=noisy + tail, theta=theta, noise_scale=scale, estimand=measure
        )

    return Mechanism("two_sided", release, Fraction(9, 10), statistic.name, noise, cap_weight=1, answer_weight=9)
