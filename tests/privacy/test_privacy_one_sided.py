"""One-sided geometric noise: exact law, as many draws whatever the data."""

from __future__ import annotations

import math

import pytest

from dpdb.privacy import one_sided_noises
from dpdb.privacy.noise import _laplace, _laplaces, laplace_scale, replaced_noise


class Scripted:
    """Hands out given numbers and remembers the scales it was asked for."""

    def __init__(self, numbers):
        self.numbers, self.scales = list(numbers), []

    def laplace(self, value, scale):
        self.scales.append(scale)
        return value + self.numbers.pop(0)


def test_negative_draws_are_drawn_again_and_others_kept():
    noise = Scripted([3, -1, 0, -2, -7, 4, 5])
    with replaced_noise(noise):
        assert one_sided_noises(4, 1, 10**9) == [3, 5, 0, 4]
    assert noise.numbers == []


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 10**9), (3, 250_000_000), (10**6, 122_070)])
def test_the_scale_is_certified_for_the_whole_shift(sensitivity, epsilon):
    noise = Scripted([0, 0])
    with replaced_noise(noise):
        one_sided_noises(2, sensitivity, epsilon)
    assert noise.scales == [laplace_scale(sensitivity, epsilon)] * 2
    assert noise.scales[0] >= sensitivity * 1e9 / epsilon * (1 - 1e-15)


def test_many_draws_at_once_are_certified_as_one_is():
    for scale in (0.1, 4.0, 8.2e9):
        for shift in (1, 3, 10**6):
            assert _laplaces(scale).map(shift) == _laplace(scale).map(shift)


def test_real_draws_are_geometric():
    """20,000 draws of q = e^-1: each count of 0, 1, 2 within 5.5 standard deviations, 3 tests, alpha below 1e-6."""
    draws, q = one_sided_noises(20_000, 1, 10**9), math.exp(-1)
    assert min(draws) >= 0
    for x in range(3):
        p = (1 - q) * q**x
        assert abs(draws.count(x) - 20_000 * p) < 5.5 * math.sqrt(20_000 * p * (1 - p))


def test_no_draws_are_none():
    assert one_sided_noises(0, 1, 10**9) == []
