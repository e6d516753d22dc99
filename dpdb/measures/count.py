"""count: the number of rows of a slice. Needs no constraint."""

from __future__ import annotations

from dpdb.measures.answer import Answer
from dpdb.measures.measure import Counted
from dpdb.measures.mechanism import Words
from dpdb.privacy import discrete_gaussian, discrete_laplace, gaussian_tail, laplace_tail

__all__ = ["COUNT", "noisy_count", "noisy_gaussian_count"]

_ESTIMAND = "number of rows in the slice"

COUNT = Counted(
    name="count",
    counts="rows",
    words=Words(
        heading="Rows", counted="rows in the slice", short="number of rows", meaning="there are about {value} rows"
    ),
)


def noisy_count(count: int, epsilon: int, beta: float) -> Answer:
    """Release a count: sensitivity 1, because one row is in the slice or not. Nothing is lost: two-sided bounds.

    Parameters
    ----------
    count
        The exact number of rows.
    epsilon
        Nano-epsilon to spend.
    beta
        Probability that the count lies outside the bounds, at most.
    """
    noisy, scale = discrete_laplace(count, 1, epsilon)
    tail = laplace_tail(scale, beta / 2)
    return _two_sided(noisy, tail, scale)


def noisy_gaussian_count(count: int, rho: int, beta: float) -> Answer:
    """Release a count with discrete Gaussian noise: sensitivity 1, two-sided bounds.

    Parameters
    ----------
    count
        The exact number of rows.
    rho
        Pico-rho of zCDP to spend.
    beta
        Probability that the count lies outside the bounds, at most.
    """
    noisy, scale = discrete_gaussian(count, 1, rho)
    tail = gaussian_tail(scale, beta / 2)
    return _two_sided(noisy, tail, scale)


def _two_sided(noisy: int, tail: int, scale: float) -> Answer:
    low, high = noisy - tail, noisy + tail
    return Answer(
        value=noisy, lower=low, upper=high, noise_scale=scale, estimand=_ESTIMAND, estimate_lower=low,
        estimate_upper=high,
    )  # fmt: skip
