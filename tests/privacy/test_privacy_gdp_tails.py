"""Conversions of Gaussian differential privacy far out in the tails, against arithmetic with 80 digits."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache

import pytest
from scipy.special import log_ndtr

from dpdb.privacy import GDP
from dpdb.privacy.epsilon import gdp_delta, gdp_epsilon, gdp_of_pure

DIGITS = 80
TAILS = [(mu, delta) for mu in (1e-3, 0.1, 1.0, 5.0, 15.0, 40.0) for delta in (0.5, 1e-3, 1e-10, 1e-16, 1e-100, 1e-300)]


@cache
def pi() -> Decimal:
    """Machin: pi = 16 atan(1/5) - 4 atan(1/239)."""

    def arctangent_of_inverse(x: int) -> Decimal:
        total, power, k = Decimal(0), Decimal(1) / x, 0
        while abs(power) > Decimal(10) ** -(DIGITS + 10):
            total += power / (2 * k + 1) * (-1) ** k
            power, k = power / (x * x), k + 1
        return total

    return 16 * arctangent_of_inverse(5) - 4 * arctangent_of_inverse(239)


def upper_tail(x: Decimal) -> Decimal:
    """1 - Phi(x): the alternating series of Phi around 0 near 0, Mills' continued fraction further out."""
    if x < 0:
        return 1 - upper_tail(-x)
    density = (-x * x / 2).exp() / (2 * pi()).sqrt()
    if x < 12:
        with localcontext() as context:
            context.prec = DIGITS + 80  # terms up to e^72 cancel
            term, total, k = x, x, 0
            while abs(term) > Decimal(10) ** -(DIGITS + 70):
                k += 1
                term = -term * x * x / (2 * k)
                total += term / (2 * k + 1)
            return Decimal("0.5") - total / (2 * pi()).sqrt()
    fraction = x
    for k in range(1200, 0, -1):
        fraction = x + k / fraction
    return density / fraction


def true_delta(mu: float, epsilon: float) -> Decimal:
    with localcontext() as context:
        context.prec = DIGITS
        m, e = Decimal(mu), Decimal(epsilon)
        return upper_tail(e / m - m / 2) - e.exp() * upper_tail(e / m + m / 2)


@pytest.mark.parametrize("x", [-20.0, -1.0, 0.0, 0.5, 1.0, 8.0, 11.99, 12.0, 38.0, 200.0])
def test_the_reference_is_right(x: float) -> None:
    with localcontext() as context:
        context.prec = DIGITS
        logarithm = upper_tail(Decimal(x)).ln()
    assert float(logarithm) == pytest.approx(log_ndtr(-x), rel=1e-13, abs=1e-80)


@pytest.mark.parametrize(("mu", "delta"), TAILS)
def test_epsilon_at_delta_holds_and_is_tight(mu: float, delta: float) -> None:
    epsilon = gdp_epsilon(mu, delta)
    assert true_delta(mu, epsilon) <= Decimal(delta)
    if epsilon > 0:
        assert true_delta(mu, epsilon * (1 - 1e-6)) > Decimal(delta)


@pytest.mark.parametrize(("mu", "delta"), TAILS)
def test_delta_at_epsilon_holds_and_is_tight(mu: float, delta: float) -> None:
    for factor in (0.25, 1.0, 1.5):
        epsilon = factor * gdp_epsilon(mu, delta)
        truth, found = true_delta(mu, epsilon), Decimal(gdp_delta(mu, epsilon))
        assert truth <= found
        assert found <= truth * Decimal("1.000001") + Decimal("3e-308")


def test_delta_is_a_probability_at_any_epsilon() -> None:
    for mu in (1e-9, 1.0, 300.0):
        deltas = [gdp_delta(mu, epsilon) for epsilon in (-1e9, -5.0, 0.0, 1e-12, 1.0, 800.0, 1e6)]
        assert all(0 < delta <= 1 for delta in deltas)
        assert deltas == sorted(deltas, reverse=True)
    assert (gdp_delta(0, 0.0), gdp_epsilon(0, 0.0), gdp_epsilon(1.0, 5e-324)) == (0.0, 0.0, math.inf)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 1e-3, 0.1, 0.999, 1.0, 3.0, 15.0, 30.0])
def test_mu_of_a_pure_release_holds_and_is_tight(epsilon: float) -> None:
    """Phi(-mu/2) <= 1 / (1 + e^epsilon): then the Gaussian trade-off lies below that of epsilon-DP."""
    with localcontext() as context:
        context.prec = DIGITS
        at = 1 / (1 + Decimal(epsilon).exp())
        mu = Decimal(gdp_of_pure(epsilon))
        assert upper_tail(mu / 2) <= at < upper_tail(mu * (1 - Decimal("1e-11")) / 2)
    charged = Fraction(GDP.charge_pure(Fraction(repr(epsilon))), GDP.unit)
    assert charged >= Fraction(mu) ** 2
    assert charged <= Fraction(mu) ** 2 + Fraction(1, GDP.unit)


@pytest.mark.parametrize(("mu", "epsilon"), [(2.087436694582288, 15.0), (2.2, 15.0), (15.0, 207.0)])
def test_a_ledger_promises_what_holds(mu: float, epsilon: float) -> None:
    """Deltas around 1e-10, where a difference of two numbers close to 1 made them half as large as they are."""
    charge = GDP.charge(mu)
    assert Decimal(GDP.delta(charge, epsilon)) >= true_delta(mu, epsilon) > Decimal("9.9e-11")
    assert true_delta(mu, GDP.epsilon(charge, 1e-10)) <= Decimal("1e-10")
