"""The tails of what a climb publishes, against sums over the probabilities of every draw. No randomness."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from climbing_law import handicap, noise

from dpdb.privacy.climbing import HandicappedNoise, difference_tail
from dpdb.privacy.noise import laplace_difference_tail

BETAS = (0.6, 0.3, 0.05, 0.0025, 1e-5)
LAWS = [(0.3, 0), (0.3, 2), (4.0, 0), (4.0, 1), (12.0, 1), (12.0, 3), (7.5, 2)]


@cache
def law(scale: float, handicaps: int) -> tuple[np.ndarray, int]:
    """Probabilities of n - c from the smallest up, and where 0 is."""
    radius = int(25 * scale) + 30
    total = handicap(scale, radius, handicaps)
    return np.convolve(noise(scale, radius), total[::-1]), radius + len(total) - 1


def above(p: np.ndarray, zero: int, t: float) -> float:
    return float(p[max(0, zero + int(np.floor(t)) + 1) :].sum())


@pytest.mark.parametrize(("scale", "handicaps"), LAWS)
def test_the_mean(scale: float, handicaps: int) -> None:
    p, zero = law(scale, handicaps)
    assert HandicappedNoise(scale, handicaps).mean == pytest.approx((p * (np.arange(len(p)) - zero)).sum(), abs=1e-6)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("scale", "handicaps"), LAWS)
def test_each_tail_holds_and_is_no_wider_than_it_says(scale: float, handicaps: int, beta: float) -> None:
    (p, zero), known = law(scale, handicaps), HandicappedNoise(scale, handicaps)
    t = known.above(beta)
    assert above(p, zero, t) <= beta
    assert t == 0 or above(p, zero, t - 1) > beta * (1 - 1e-6)
    down, start = p[::-1], len(p) - 1 - zero
    t = known.below(beta)
    assert above(down, start, t) <= beta
    # Within the steps that its continuous relative is off, on both sides.
    assert t <= 2 * (2 + handicaps) or above(down, start, t - 2 * (2 + handicaps)) > beta


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("earlier", LAWS)
@pytest.mark.parametrize("later", [(4.0, 0), (9.0, 2)])
def test_the_tail_of_a_difference_holds(later: tuple[float, int], earlier: tuple[float, int], beta: float) -> None:
    (p, zero), (q, middle) = law(*later), law(*earlier)
    both, start = np.convolve(p, q[::-1]), zero + len(q) - 1 - middle
    t, steps = difference_tail(HandicappedNoise(*later), HandicappedNoise(*earlier), beta), 2 + later[1] + earlier[1]
    assert above(both, start, t + steps) <= beta
    assert t < steps or above(both, start, t - steps) > beta


def test_a_forgotten_handicap_is_caught() -> None:
    for handicaps in (1, 2):
        p, zero = law(12.0, handicaps)
        forgotten = HandicappedNoise(12.0, 0)
        assert above(p[::-1], len(p) - 1 - zero, forgotten.below(0.025)) > 2 * 0.025
        later, start = law(4.0, 0)
        both = np.convolve(later, p[::-1])
        t = difference_tail(HandicappedNoise(4.0, 0), forgotten, 0.025)
        assert above(both, start + len(p) - 1 - zero, t + 2) > 1.5 * 0.025


@pytest.mark.parametrize("scales", [(1e5, 1e5), (1e5, 3e4), (1e5, 1.0), (2.0, 1e5)])
def test_without_handicaps_it_is_the_symmetric_one(scales: tuple[float, float]) -> None:
    one, other = (HandicappedNoise(scale, 0) for scale in scales)
    for beta in (0.5, 0.05, 1e-4, 1e-8):
        assert difference_tail(one, other, beta / 2) == pytest.approx(laplace_difference_tail(*scales, beta), abs=2)


def test_scales_of_any_ratio() -> None:
    for ratio in (1e-9, 1e-4, 1e4, 1e9):
        alone = difference_tail(HandicappedNoise(0, 0), HandicappedNoise(1.0, 2), 0.01)
        beside = difference_tail(HandicappedNoise(ratio, 1), HandicappedNoise(1.0, 2), 0.01)
        assert alone - 6 * ratio <= beside <= (alone + 6 * ratio) * (1 + 1e-3)
