"""count: the number of rows of a slice. Needs no constraint."""

from __future__ import annotations

from dpdb.measures.answer import Answer
from dpdb.measures.measure import Counted
from dpdb.measures.mechanism import Words
from dpdb.privacy import discrete_gaussian, discrete_laplace, gaussian_tail, laplace_tail

__all__ = ["COUNT", "noisy_count"]

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
