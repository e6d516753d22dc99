"""Charges and conversions, and trade-off functions against closed forms."""

from __future__ import annotations

import math
import sys
from decimal import Decimal
from math import comb

import pytest
from tradeoff import TradeOff, composed, lower_convex_envelope

from dpdb.errors import DpdbError, ParameterError
from dpdb.ledger.report import reported_epsilon, tight_epsilon
from dpdb.privacy import GDP, PURE, ZCDP


def test_charges_round_up_and_budgets_down() -> None:
    assert PURE.charge(0.1) == PURE.budget("0.1") == 100_000_000
    assert PURE.charge("0.0000000001") == 1
    assert PURE.budget(Decimal("0.0000000019")) == 1
    assert ZCDP.charge_pure("0.001") == 500_000
    assert GDP.charge("0.5") == 250_000_000_000
    assert GDP.value(GDP.charge("0.5")) == 0.5
    assert PURE.charge_pure(1) == 10**9
    assert GDP.charge_pure(0) == ZCDP.charge_pure(0) == 0


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 3.0])
def test_a_pure_release_is_inside_its_gaussian_charge(epsilon: float) -> None:
    mu = GDP.value(GDP.charge_pure(epsilon))
    gaussian, pure = TradeOff.gaussian(mu), TradeOff.approximate(epsilon)
    for k in range(1, 100):
        assert gaussian(k / 100) <= pure(k / 100) + 1e-9
    at = 1 / (1 + math.exp(epsilon))
    assert gaussian(at) == pytest.approx(pure(at), abs=1e-4)


def test_zcdp_conversion_beats_the_simple_one_and_is_consistent() -> None:
    rho, delta = 0.1, 1e-6
    epsilon = ZCDP.epsilon(ZCDP.charge(rho), delta)
    assert epsilon < rho + 2 * math.sqrt(rho * math.log(1 / delta))
    assert ZCDP.delta(ZCDP.charge(rho), epsilon) <= delta * 1.001
    mu = math.sqrt(2 * rho)  # the Gaussian mechanism with that rho
    assert epsilon >= GDP.epsilon(GDP.charge(mu), delta)


def test_gaussian_conversion_is_consistent() -> None:
    charge = GDP.charge(1)
    assert GDP.epsilon(charge, 1e-5) == pytest.approx(4.3775, abs=1e-3)
    assert GDP.delta(charge, GDP.epsilon(charge, 1e-5)) <= 1e-5
    assert GDP.epsilon(charge, 0.9) == 0.0
    assert GDP.epsilon(0, 0) == ZCDP.epsilon(0, 0) == 0.0
    assert GDP.epsilon(charge, 0) == ZCDP.epsilon(charge, 0) == math.inf


def test_pure_conversion() -> None:
    charge = PURE.charge(1)
    assert PURE.epsilon(charge) == 1.0
    assert PURE.delta(charge, 0.0) == pytest.approx(math.tanh(0.5))
    assert PURE.delta(charge, 0.3) == pytest.approx(TradeOff.approximate(1).delta(0.3))
    assert PURE.delta(charge, 1.0) == 0.0


UNUSABLE = [
    -1,
    "x",
    math.nan,
    math.inf,
    None,
    "",
    "1/0",
    "1_0",
    "\u0665",
    "1e99999999",
    "1e-99999999",
    Decimal("1e99999999"),
]


@pytest.mark.parametrize("value", UNUSABLE)
def test_unusable_numbers_are_refused(value: object) -> None:
    """At once: a number that is too long to be written out is not written out."""
    with pytest.raises(ParameterError):
        PURE.charge(value)


@pytest.mark.parametrize(("k", "step"), [(2, 0.5), (10, 0.2), (30, 0.1)])
def test_tensor_of_pure_releases_is_the_binomial_closed_form(k: int, step: float) -> None:
    curve = composed([TradeOff.approximate(step)] * k, [range(k)])
    p = 1 / (1 + math.exp(step))
    for epsilon in (0.0, 0.5, 1.0):
        delta = sum(
            comb(k, i) * max(0.0, (1 - p) ** i * p ** (k - i) - math.exp(epsilon) * p**i * (1 - p) ** (k - i))
            for i in range(k + 1)
        )
        assert curve.delta(epsilon) == pytest.approx(delta, abs=1e-9)


def test_the_central_limit_would_undercharge() -> None:
    """One release of epsilon 1, asked at epsilon 0.1; Theorem 4 claims less delta than there is."""
    assert TradeOff.approximate(1.0).delta(0.1) == pytest.approx(0.434, abs=1e-3)
    assert TradeOff.gaussian(1.0).delta(0.1) == pytest.approx(0.352, abs=3e-3)


def test_tensor_of_gaussians_is_never_above_the_gaussian_of_the_root() -> None:
    together = TradeOff.gaussian(0.6).tensor(TradeOff.gaussian(0.8))
    for k in range(101):
        exact = TradeOff.gaussian(1.0, lines=20_000)(k / 100)
        assert together(k / 100) <= exact + 1e-6
        assert together(k / 100) >= exact - 5e-3
    assert together.delta(1.0) >= GDP.delta(GDP.charge(1), 1.0) - 1e-9


def test_disjoint_releases_compose_to_the_worst_one() -> None:
    """Theorem 5 and Corollary 2."""
    worst = composed([TradeOff.gaussian(0.5), TradeOff.gaussian(1.2)], [[0], [1]])
    for k in range(101):
        assert worst(k / 100) == pytest.approx(TradeOff.gaussian(1.2)(k / 100), abs=1e-6)


def test_lower_convex_envelope_is_below_and_convex() -> None:
    curves = [TradeOff.approximate(0.1, 0.2), TradeOff.approximate(1.5)]
    below = lower_convex_envelope(curves)
    values = [below(k / 200) for k in range(201)]
    for k, value in enumerate(values):
        assert value <= min(curve(k / 200) for curve in curves) + 1e-12
        assert not 0 < k < 200 or values[k - 1] + values[k + 1] >= 2 * value - 1e-12
    assert below.delta(0.1) >= 0.2 - 1e-12
    assert composed([], []).epsilon(0.0) == 0.0


def test_epsilon_at_delta() -> None:
    curve = TradeOff.approximate(1.0, 1e-3)
    assert curve.epsilon(1e-3) == pytest.approx(1.0)
    assert curve.epsilon(1e-4) == math.inf
    with pytest.raises(ParameterError):
        TradeOff.approximate(-1)
    with pytest.raises(ParameterError):
        TradeOff.gaussian(-1)


def test_without_dp_accounting_the_tight_report_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting.pld.common", None)
    with pytest.raises(DpdbError, match="dp-accounting"):
        tight_epsilon([0.5], 1e-6)
    assert reported_epsilon([0.5, 0.25], 1e-6) == 0.75
    assert reported_epsilon([0.5, 0.25], 0.0) == 0.75
