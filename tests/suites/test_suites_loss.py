"""The exact privacy loss of a suite, through the real code: Theorem 5, never exceeded and attained."""

from __future__ import annotations

from fractions import Fraction

import pytest
from exact_law import Z, losses, quadrature
from suite_cases import CASES, SLOW_CASES


def check_loss(case):
    found = losses(case.plan, case.pairs())
    assert found.holds
    for rings in case.attained:
        assert found.worst[rings] > 1 - Fraction(1, 10**5), rings


@pytest.mark.parametrize("name", CASES)
def test_no_transcript_loses_more_than_it_is_finally_charged(name):
    check_loss(CASES[name]())


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW_CASES)
def test_no_transcript_of_a_larger_suite_loses_more(name):
    check_loss(SLOW_CASES[name]())


def test_the_infinite_sum_over_threshold_noises_is_exact():
    """Against the closed form of Pr[quiet] = sum of (1 - q1) q1^r (1 - q^(r - x)) over r > x."""
    q1, q, x = Z**3, Z**2, 4
    weights = quadrature(3, 2, x)
    summed = sum(weight * (1 - q ** max(0, r - x)) for r, weight in enumerate(weights))
    assert summed == q1 ** (x + 1) * (1 - q) / (1 - q1 * q)
    assert sum(weights) == Fraction(1)
