"""`progressive`: the statistic at the degree cap if that stands out of its noise, else `gem`.

Sensitivity
-----------
That of the statistic at theta: theta + extra (`projected`, with proofs).

Proof
-----
The branch reads the first released number only, so the cost is the sum of the shares on either branch (`_release`).

Source
------
New here; what it falls back to is `gem`.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dpdb.measures.answer import FROM_BELOW, Answer
from dpdb.measures.mechanism import Mechanism, Run
from dpdb.measures.mechanisms.gem import gem_answer
from dpdb.measures.mechanisms.projected import ProjectedStatistic
from dpdb.privacy import as_fraction, discrete_laplace, laplace_tail, split

__all__ = ["progressive"]


def progressive(statistic: ProjectedStatistic, noise: str) -> Mechanism:
    """Return the mechanism for one statistic, which must be monotone."""

    def release(run: Run) -> Answer:
        return _release(statistic, run)

    return Mechanism(
        "progressive",
        release,
        Fraction(7, 10),
        statistic.name,
        noise,
        cap_weight=1,
        answer_weight=9,
        no_estimate="the first draw decides whether it is used again, so its noise is not symmetric",
    )


def _release(statistic: ProjectedStatistic, run: Run) -> Answer:
    """Try the cap with a small share; keep it if the first answer stands out of its noise, else fall back to `gem`.

    The branch reads the first released number only, so the cost is the sum of the shares on either branch. The lower
    bound splits beta over the three draws that may occur: it holds whatever branch is taken.
    """
    first, rest = split(run.epsilon, (2, 7))
    theta, statistics = run.degree_cap, run.statistics
    exact = statistic.exact(statistics, theta)
    noisy, scale = discrete_laplace(exact, statistic.sensitivity(theta), first)
    if noisy <= 1.5 * theta / float(as_fraction(first)):
        select, answer = split(rest, (27, 43))
        return gem_answer(statistic, statistics, theta, (select, answer), run.beta / 3)
    again, finer = discrete_laplace(exact, statistic.sensitivity(theta), rest)
    weight, finer_weight = first**2 / (first**2 + rest**2), rest**2 / (first**2 + rest**2)
    value = round(weight * noisy + finer_weight * again)
    tail = weight * laplace_tail(scale, run.beta / 3) + finer_weight * laplace_tail(finer, run.beta / 3)
    spread = math.hypot(weight * scale, finer_weight * finer)
    lower = math.floor(value - tail - 1)  # one for the rounding of value
    return Answer(
        value=value,
        lower=lower,
        upper_reason=FROM_BELOW,
        theta=theta,
        noise_scale=spread,
        estimand=statistic.estimand,
    )
