"""The quantile of a difference of two discrete Laplace noises, against sums over their probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from dpdb.privacy.noise import laplace_difference_tail, laplace_tail

REACH = 4_000


def above(first: float, second: float) -> np.ndarray:
    """Pr[|N - M| > t] for t = 0, 1, ..., from the convolution."""
    steps = np.abs(np.arange(-REACH, REACH + 1))
    one, other = (np.exp(-steps / scale) for scale in (first, second))
    both = np.convolve(one / one.sum(), other / other.sum())
    middle = len(both) // 2
    return np.array([2 * both[middle + t + 1 :].sum() for t in range(1_000)])


@pytest.mark.parametrize(
    "scales",
    [
        (1, 1),
        (3, 3),
        (2, 5),
        (0.2, 7),
        (10, 10.5),
        (10, 10.001),
        (10, 10.0000001),
        (0.05, 0.05),
        (0.05, 0.04),
        (50, 20),
    ],
)
def test_it_is_the_smallest(scales: tuple[float, float]) -> None:
    chances = above(*scales)
    for beta in (0.5, 0.2, 0.05, 0.01, 1e-4, 1e-6):
        t = laplace_difference_tail(*scales, beta)
        assert t == laplace_difference_tail(*reversed(scales), beta)
        assert chances[t] <= beta
        assert t == 0 or chances[t - 1] > beta * (1 - 1e-5)


def test_large_scales_neither_overflow_nor_cancel() -> None:
    for scale in (1e6, 1e9, 1e12):
        equal = laplace_difference_tail(scale, scale, 0.05)
        nearly = [laplace_difference_tail(scale, scale * (1 - gap), 0.05) for gap in (1e-7, 2e-6, 1e-4, 1e-2)]
        assert all(0.985 * equal < t <= equal for t in nearly)
        assert nearly == sorted(nearly, reverse=True)
        # A noise that is next to nothing leaves the other one's own two-sided tail.
        alone = laplace_tail(scale, 0.025)
        assert abs(laplace_difference_tail(scale, 1e-3, 0.05) - alone) <= 1e-5 * alone
