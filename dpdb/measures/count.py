"""count: the number of rows of a slice, without any constraint; rate: a measure of rows, as a share of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpdb.measures.answer import Answer
from dpdb.measures.measure import Counted
from dpdb.measures.mechanism import Words
from dpdb.privacy import (
    discrete_gaussian,
    discrete_gaussians,
    discrete_laplace,
    discrete_laplaces,
    gaussian_tail,
    laplace_tail,
    split,
)

_ESTIMAND = "number of rows in the slice"

COUNT = Counted(
    name="count",
    counts="rows",
    words=Words(
        heading="Rows", counted="rows in the slice", short="number of rows", meaning="there are about {value} rows"
    ),
)


def noisy_count(count: int, cost: int, beta: float, *, gaussian: bool = False) -> Answer:
    """Release a count: sensitivity 1, because one row is in the slice or not. Nothing is lost: two-sided bounds.

    Parameters
    ----------
    count
        The exact number of rows.
    cost
        Nano-epsilon to spend; pico-rho of zCDP if the noise is Gaussian.
    beta
        Probability that the count lies outside the bounds, at most.
    gaussian
        Whether the noise is discrete Gaussian; else it is discrete Laplace.
    """
    noisy, scale = (discrete_gaussian if gaussian else discrete_laplace)(count, 1, cost)
    tail = (gaussian_tail if gaussian else laplace_tail)(scale, beta / 2)
    low, high = noisy - tail, noisy + tail
    return Answer(
        value=noisy, lower=low, upper=high, noise_scale=scale, estimand=_ESTIMAND, estimate_lower=low,
        estimate_upper=high,
    )  # fmt: skip


def noisy_keys(counts: Sequence[int], cost: int, *, gaussian: bool = False) -> list[int]:
    """Add a noise to each of many counts of disjoint rows: one more row changes one of them by 1, or none.

    Parameters
    ----------
    counts
        The exact numbers of rows.
    cost
        Nano-epsilon to spend; pico-rho of zCDP if the noise is Gaussian.
    gaussian
        Whether the noise is discrete Gaussian; else it is discrete Laplace.
    """
    noises = (discrete_gaussians if gaussian else discrete_laplaces)(len(counts), 1, cost)
    return [count + noise for count, noise in zip(counts, noises, strict=True)]


# Epsilon of the private row count and of the measure. With n rows, a true share p and numerator noise of s rows per
# 1/epsilon, the relative errors are 1 / (c n epsilon) and s / ((1 - c) p n epsilon); the sum of their squares is least
# at c / (1 - c) = (p / s)^(2/3), whatever n and epsilon: 5% is the optimum where p / s is about 1.2%, an ordinary dirty
# table. It costs the measure 5% of its accuracy and keeps the count's noise below 1% of the count from
# n epsilon = 2,000 on.
_COUNT, _MEASURE = 5, 95

# In rho the optimum is c / (1 - c) = p / s: 5% is that of p / s = 5.3%, and costs the measure 3% of its accuracy.

# Of 1 - confidence, the count's interval gets a tenth: by the same figures its tail is the smaller one.
_COUNT_BETA = 0.1


def rate_shares(cost: int) -> tuple[int, int]:
    """Split nano-epsilon, or pico-rho, exactly between the row count and the measure."""
    count, measure = split(cost, (_COUNT, _MEASURE))
    return count, measure


def rate_beta(beta: float) -> tuple[float, float]:
    """Split beta between the intervals of the row count and of the measure (Bonferroni).

    The sum does not exceed `beta` but for floating-point rounding, which the slack of `laplace_tail` covers.
    """
    return _COUNT_BETA * beta, (1 - _COUNT_BETA) * beta


def rate_answer(measure: Answer, count: Answer, most: float = 1) -> Answer:
    """Divide a measure by the row count of its slice: post-processing of two releases, which costs nothing more.

    The rate of a slice without rows is 0. Whenever both intervals hold, so does lower / (upper count) <= rate <=
    upper / (lower count), with counts of at least 1 and rates of at most `most`, as every table's; the same for the
    interval of the estimand.

    `noise_scale` is that of the quotient to first order, sqrt(s^2 + (value b)^2) / count, for the published scales s of
    the measure and b of the count and the released value and count: it reads nothing that is private.
    """
    rows, low, high = max(1, count.value), measure.estimate_lower, measure.estimate_upper
    value = min(most, measure.value / rows)
    assert count.upper is not None, "a count has a two-sided interval"
    return Answer(
        value=value,
        lower=min(most, measure.lower / max(1, count.upper)),
        upper=None if measure.upper is None else min(most, measure.upper / max(1, count.lower)),
        upper_reason=measure.upper_reason,
        theta=measure.theta,
        noise_scale=math.hypot(measure.noise_scale, value * count.noise_scale) / rows,
        estimand=f"{measure.estimand}; divided by the number of rows in the slice",
        raw=measure.unclamped / rows,
        estimate_lower=None if low is None else min(most, low / max(1, count.upper)),
        estimate_upper=None if high is None else min(most, high / max(1, count.lower)),
        estimate_reason=measure.estimate_reason,
        theta_limits=measure.theta_limits,
    )
