"""Discrete Gaussian noise: certified scale, exact distribution, Renyi divergence on neighbours, valid tails.

The sampling tests share a false-alarm rate below 1e-6: each of the fewer than 100 exact binomial tests has 5e-9.
"""

import math
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import pairwise
from statistics import NormalDist

import pytest
from case_share import examples
from exact_probabilities import is_plausible
from hypothesis import given, settings, strategies as st
from recorded_noise import RecordedNoise

from dpdb.errors import ParameterError
from dpdb.privacy import ZCDP, noise as randomness
from dpdb.privacy.epsilon import PICO, format_rho, parse_rho, rho_as_fraction
from dpdb.privacy.noise import discrete_gaussian, gaussian_scale, gaussian_tail, replaced_noise

ALPHA = 5e-9
exactly = examples(150)
shares = st.one_of(st.integers(1, 10**15), st.sampled_from([1, 2, 3, 499, PICO, PICO // 3, 10**15]))
sensitivities = st.one_of(st.integers(1, 10), st.integers(1, 2**20))


@cache
def weights(scale: float) -> tuple[list[float], float]:
    """exp(-x^2 / 2 scale^2) for x = 0, 1, ... and the sum over all integers."""
    terms = [math.exp(-(x**2) / (2 * scale**2)) for x in range(math.ceil(39 * scale) + 2)]
    return terms, terms[0] + 2 * math.fsum(terms[1:])


def probability(x: int, scale: float) -> float:
    terms, total = weights(scale)
    return terms[abs(x)] / total if abs(x) < len(terms) else 0.0


def above(t: int, scale: float) -> float:
    """Pr[noise > t], t >= 0."""
    terms, total = weights(scale)
    return math.fsum(terms[t + 1 :]) / total


# -- the scale ------------------------------------------------------------------------------------------------


@exactly
@given(sensitivities, shares)
def test_scale_is_certified_and_minimal(sensitivity, rho):
    scale = gaussian_scale(sensitivity, rho)
    target = rho_as_fraction(rho)
    assert Fraction(randomness._gaussian(scale).map(sensitivity)) <= target
    assert Fraction(sensitivity) ** 2 / (2 * Fraction(scale) ** 2) <= target  # without trusting OpenDP's arithmetic
    smaller = scale * (1 - 2**-49)
    assert Fraction(randomness._gaussian(smaller).map(sensitivity)) > target  # so the checks above can fail


def test_what_is_noised():
    noise = RecordedNoise()
    with replaced_noise(noise):
        assert discrete_gaussian(7, 3, 2 * PICO) == (7, gaussian_scale(3, 2 * PICO))
    assert noise.gaussians == [(7, gaussian_scale(3, 2 * PICO))]


def test_rho_is_counted_as_the_ledger_counts_it():
    assert ZCDP.unit == PICO
    assert [parse_rho(value) for value in (1, "0.1", 0.1, 1e-12)] == [PICO, PICO // 10, PICO // 10, 1]
    assert [format_rho(rho) for rho in (1, PICO // 10, 20 * PICO)] == ["0.000000000001", "0.1", "20"]
    for value in (0, -1, "x", True, float("nan"), 1e-13, 1001, None, 10**400):
        with pytest.raises(ParameterError, match="rho must be"):
            parse_rho(value)


# -- the distribution -----------------------------------------------------------------------------------------


def failures(values: list[int], scale: float) -> int:
    """How many of the tested probabilities are implausible."""
    trials, counts = len(values), Counter(values)
    reach = math.ceil(2.5 * scale)
    bad = 0
    for x in range(-reach, reach + 1):
        bad += not is_plausible(counts[x], trials, probability(x, scale), ALPHA)
    bad += not is_plausible(sum(v > reach for v in values), trials, above(reach, scale), ALPHA)
    bad += not is_plausible(sum(v < -reach for v in values), trials, above(reach, scale), ALPHA)
    return bad


@pytest.mark.parametrize(
    ("rho", "trials"),
    [
        (PICO, 4_000),
        (PICO // 18, 8_000),
        pytest.param(PICO // 2, 200_000, marks=pytest.mark.slow),
        pytest.param(PICO // 72, 200_000, marks=pytest.mark.slow),
    ],
)
def test_distribution(rho, trials):
    values = [discrete_gaussian(0, 1, rho)[0] for _ in range(trials)]
    scale = gaussian_scale(1, rho)
    assert failures(values, scale) == 0
    # The same checker notices a wrong sensitivity, a scale that is a variance, or a shift.
    assert failures(values, scale / 1.5) > 0
    assert failures(values, scale * 1.5) > 0
    assert failures([value + 1 for value in values], scale) > 0


def renyi(alpha: float, shift: int, scale: float) -> float:
    """Renyi divergence of order `alpha` between the noise and the noise moved by `shift`."""
    reach = math.ceil(38 * scale) + alpha * shift
    exponents = [
        (-alpha * x * x - (1 - alpha) * (x - shift) ** 2) / (2 * scale**2)
        for x in range(-math.ceil(reach), math.ceil(reach) + 1)
    ]
    top = max(exponents)
    return (top + math.log(math.fsum(math.exp(e - top) for e in exponents)) - math.log(weights(scale)[1])) / (alpha - 1)


@pytest.mark.parametrize("alpha", [1.01, 1.5, 2, 3.7, 8, 32])
@pytest.mark.parametrize("shift", [1, 3])
@pytest.mark.parametrize("rho", [PICO // 200, PICO // 8, PICO, 4 * PICO])
def test_neighbours_diverge_by_at_most_alpha_rho(alpha, shift, rho):
    """Rho-zCDP by its definition, summed over the exact probabilities."""
    scale = gaussian_scale(shift, rho)
    bound = alpha * float(rho_as_fraction(rho))
    assert renyi(alpha, shift, scale) <= bound * (1 + 1e-9) + 1e-12 / (alpha - 1)
    assert renyi(alpha, shift, scale * 0.7) > bound  # less noise is noticed


@pytest.mark.parametrize("scale", [0.2, 0.5, 1.0, 3.0, 100.0])
def test_the_discrete_gaussian_is_not_gdp_of_the_continuous_one(scale):
    """Why a count on a gdp ledger takes no Gaussian noise: two neighbours differ more in total variation."""
    total_variation = sum(max(0.0, probability(x, scale) - probability(x - 1, scale)) for x in range(-4000, 4001))
    assert total_variation == pytest.approx(probability(0, scale))
    assert total_variation > math.erf(1 / (2 * math.sqrt(2) * scale)) * (1 + 1e-6)


@pytest.mark.parametrize("in_units", [0.5, 1.0, 3.0])
def test_finer_steps_come_nearer_to_gdp_and_never_reach_it(in_units):
    """Why bits take no Gaussian noise on a gdp ledger, although their steps are fine.

    Of a statistic that a row changes by d steps, with noise of a scale of d `in_units`, take the test that calls every
    noisy number from d/2 on the larger table. Its two errors lie below the trade-off curve of mu = 1 / `in_units`, by a
    part that falls with the square of d (Euler and Maclaurin's formula has it as 1 / (24 scale^2)), and is never 0.
    """
    below = []
    for steps in (1, 2, 4, 8, 16, 64):
        scale, start = steps * in_units, steps // 2
        false_alarm = above(start - 1, scale) if start else above(0, scale) + probability(0, scale)
        missed = above(steps - start, scale)
        allowed = NormalDist().cdf(-NormalDist().inv_cdf(false_alarm) - 1 / in_units)
        below.append(1 - missed / allowed)
    assert min(below) > 1e-7  # sums and the normal quantile are exact to 1e-13
    assert [one / other for one, other in pairwise(below[2:5])] == pytest.approx([4, 4], 0.1)


# -- the tail -------------------------------------------------------------------------------------------------


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.one_of(st.floats(0.05, 10), st.floats(10, 1000)), st.floats(1e-12, 0.5))
def test_tail_is_valid_and_minimal(scale, beta):
    t = gaussian_tail(scale, beta)
    assert above(t, scale) <= beta
    if t > 0:
        assert above(t - 1, scale) > beta * (1 - 1e-8)


@pytest.mark.parametrize("beta", [1e-12, 0.005, 0.025, 0.4])
def test_tail_of_wide_noise_is_valid_and_close(beta):
    scale = 1000.5
    t = gaussian_tail(scale, beta)
    assert above(t, scale) <= beta
    assert above(t - 3, scale) > beta


def test_narrow_noise_and_half_have_no_tail():
    assert gaussian_tail(0.02, 1e-9) == 0
    assert gaussian_tail(5000.0, 0.5) == 0
    assert gaussian_tail(5.0, 0.5) == 0
