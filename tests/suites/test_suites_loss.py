"""The exact privacy loss of a suite, through the real code: Theorem 5, never exceeded and attained."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from exact_law import TAU, Code, Z, losses, quadrature
from suite_cases import BELOW, CASES, FAR, SLOW_CASES, Case, count

from dpdb.suites import plan_suite


def check_loss(case):
    found = losses(case.plan, case.pairs(), Code(own=case.own), keys=case.plan.keys if case.spread else 1)
    assert found.holds
    for rings in case.attained:
        assert found.worst[rings] > 1 - Fraction(1, 10**5), rings


@pytest.mark.heavy
@pytest.mark.parametrize("name", CASES)
def test_no_transcript_loses_more_than_it_is_finally_charged(name):
    check_loss(CASES[name]())


@pytest.mark.heavy
@pytest.mark.parametrize("tests", [[count()] * 2, [count(), count(2)], [count(), BELOW]])
@pytest.mark.parametrize("certain", ["fail", "pass"])
def test_a_suite_as_it_is_planned_loses_what_it_is_charged(tests, certain):
    """One level of `plan_suite`, whose thresholds are margins away from the limits."""
    tests = [replace(test, limit=Fraction(10**4)) for test in tests]
    plan = plan_suite(tests, 16 * TAU, Fraction(99, 100), certain=certain, levels=1)
    at = [threshold * test.sign for threshold, test in zip(plan.thresholds, tests, strict=True)]
    check_loss(Case(plan, [(at[0], at[0] + FAR), (at[1],)], [(0, int(test.high)) for test in tests]))


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
