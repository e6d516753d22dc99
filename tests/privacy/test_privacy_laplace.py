"""Discrete Laplace noise: certified scale, exact distribution, valid tails.

The sampling tests share a false-alarm rate below 1e-6: each of the fewer than 100 exact binomial tests has 5e-9.
"""

import math
from collections import Counter
from fractions import Fraction

import pytest
from case_share import examples
from exact_probabilities import is_plausible, laplace_above, laplace_probability
from hypothesis import given, strategies as st
from recorded_noise import RecordedNoise

from dpdb.privacy import noise as randomness
from dpdb.privacy.epsilon import NANO, as_fraction
from dpdb.privacy.noise import discrete_laplace, laplace_scale, laplace_tail, replaced_noise

ALPHA = 5e-9
exactly = examples(150)
shares = st.one_of(st.integers(10, 10**15), st.sampled_from([10, 59, 60, 333, 1000, NANO, NANO // 3, 10**15]))
sensitivities = st.one_of(st.integers(1, 100), st.integers(1, 2**40))


@exactly
@given(sensitivities, shares)
def test_scale_is_certified_and_minimal(sensitivity, epsilon):
    scale = laplace_scale(sensitivity, epsilon)
    target = as_fraction(epsilon)
    assert Fraction(randomness._laplace(scale).map(sensitivity)) <= target
    assert Fraction(sensitivity) / Fraction(scale) <= target  # without trusting OpenDP's arithmetic
    assert Fraction(scale) <= Fraction(sensitivity) / target * (1 + Fraction(4, 2**52))


@exactly
@given(sensitivities, shares)
def test_a_smaller_scale_is_not_certified(sensitivity, epsilon):
    """The check above can fail: three units in the last place below, OpenDP certifies more than the share."""
    scale = laplace_scale(sensitivity, epsilon) * (1 - 2**-50)
    assert Fraction(randomness._laplace(scale).map(sensitivity)) > as_fraction(epsilon)


def test_what_is_noised():
    noise = RecordedNoise()
    with replaced_noise(noise):
        assert discrete_laplace(7, 3, 2 * NANO) == (7, laplace_scale(3, 2 * NANO))
    assert noise.laplaces == [(7, laplace_scale(3, 2 * NANO))]


def failures(values: list[int], scale: float) -> int:
    """How many of the tested probabilities are implausible."""
    trials, counts = len(values), Counter(values)
    reach = math.ceil(3 * scale)
    bad = 0
    for k in range(-reach, reach + 1):
        bad += not is_plausible(counts[k], trials, laplace_probability(k, scale), ALPHA)
    bad += not is_plausible(sum(v > reach for v in values), trials, laplace_above(reach, scale), ALPHA)
    bad += not is_plausible(sum(v < -reach for v in values), trials, laplace_above(reach, scale), ALPHA)
    return bad


@pytest.mark.parametrize(
    ("sensitivity", "epsilon", "trials"),
    [
        (1, 2 * NANO, 8_000),
        (2, NANO, 8_000),
        pytest.param(1, 3 * NANO, 200_000, marks=pytest.mark.slow),
        pytest.param(3, NANO // 2, 200_000, marks=pytest.mark.slow),
    ],
)
def test_distribution(sensitivity, epsilon, trials):
    values = [discrete_laplace(0, sensitivity, epsilon)[0] for _ in range(trials)]
    scale = sensitivity * NANO / epsilon
    assert failures(values, scale) == 0
    # The same checker notices a wrong sensitivity or share.
    assert failures(values, scale / 1.5) > 0
    assert failures(values, scale * 1.5) > 0
    assert failures([value + 1 for value in values], scale) > 0


@exactly
@given(st.integers(-(2**40), 2**40), sensitivities, shares)
def test_no_value_or_scale_fails(value, sensitivity, epsilon):
    noisy, scale = discrete_laplace(value, sensitivity, epsilon)
    assert isinstance(noisy, int)
    assert scale > 0


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63)])
def test_extreme_values_saturate(value):
    assert all(-(2**63) <= discrete_laplace(value, 1, 1000)[0] < 2**63 for _ in range(20))


@exactly
@given(st.floats(1e-6, 1e9), st.floats(1e-12, 0.5))
def test_tail_is_valid_and_almost_minimal(scale, beta):
    t = laplace_tail(scale, beta)
    assert isinstance(t, int)
    assert log_above(t, scale) <= math.log(beta) + 1e-12
    fewer = t - 1 - math.ceil(3e-9 * t + 1e-8)  # the code keeps one part in a billion for its own rounding
    if fewer >= 0:
        assert log_above(fewer, scale) > math.log(beta) - 1e-12


def log_above(t: int, scale: float) -> float:
    """ln Pr[noise > t], where the probability itself would underflow."""
    return -t / scale - (1 / scale + math.log1p(math.exp(-1 / scale)))


@pytest.mark.parametrize(("scale", "beta"), [(2.5, 0.025), (10.0, 0.01), (1000.0, 0.05)])
def test_one_less_or_half_the_scale_is_no_tail(scale, beta):
    """The validity check can fail."""
    t = laplace_tail(scale, beta)
    assert laplace_above(t, scale) <= beta
    assert laplace_above(t - 2, scale) > beta
    assert laplace_above(laplace_tail(scale / 2, beta), scale) > beta


def test_tail_of_a_half_is_zero():
    assert laplace_tail(5.0, 0.5) == 0
    assert laplace_tail(5.0, 0.9) == 0
