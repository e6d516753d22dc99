"""Margins: the design's table, the exact sums behind the formulas, and simulated runs and years.

Every statistical test here is wrong with a chance below 1e-6; `most_allowed` fixes that before anything is drawn.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from simulated import first_rings, geometric, missed_reach, most_allowed, quiet_years, rates, simulate, wrong_years
from suite_cases import count

from dpdb.privacy import NANO
from dpdb.privacy.noise import replaced_noise
from dpdb.suites import (
    Ring,
    SuitePlan,
    SuiteState,
    bound_of_quiet,
    draw_secret,
    plan_suite,
    run_level,
    size_of_failure,
)
from dpdb.suites.mechanism.bounds import quiet_reach, repeated_reach, threshold_reach

BETA = 0.01
SEED = 20261123


def suite(checks: int, **fields: object) -> SuitePlan:
    return plan_suite([count()] * checks, NANO, Fraction(99, 100), **fields)


def alarm(runs: int, first: Fraction = Fraction(2, 5)) -> SuitePlan:
    """One check of one level, at a split that makes s + m least."""
    return suite(1, runs=runs, levels=1, first=first, last=1 - first)


def both_rates(plan: SuitePlan) -> tuple[float, float]:
    first, (level,) = rates(plan)
    return first, level


@pytest.mark.parametrize(("checks", "margin"), [(5, 24), (25, 30), (400, 41), (4000, 51)])
def test_the_margins_of_the_design(checks, margin):
    plan = suite(checks)
    assert (plan.margins, plan.known) == ((margin,), 18)
    assert set(plan.thresholds) == {margin}  # a failure is certain: limit + s


def test_a_pass_of_25_checks_says_at_most_48_rows():
    assert bound_of_quiet(suite(25), 0, 23) == (None, 48)


@pytest.mark.parametrize(
    ("runs", "first", "margin", "missed"),
    [(30, Fraction(43, 100), 14, 9), (365, Fraction(2, 5), 17, 10), (3650, Fraction(3, 8), 20, 11)],
)
def test_the_margins_of_a_kept_alarm(runs, first, margin, missed):
    plan = alarm(runs, first)
    assert plan.margins == (margin,)
    assert missed_reach(*both_rates(plan), -math.log(BETA)) == missed


@pytest.mark.parametrize("first", [0.05, 0.25, 2.0])
@pytest.mark.parametrize("level", [0.01, 0.25, 1.0])
@pytest.mark.parametrize("beta", [0.3, 0.01, 1e-6])
def test_each_reach_is_the_least_that_its_exact_sum_allows(first, level, beta):
    rho = np.arange(int(60 / first))
    p = -math.expm1(-first) * np.exp(-first * rho)

    def rings(x: int) -> float:  # nu - rho >= x
        return float((p * np.exp(-level * np.maximum(0, x + rho))).sum())

    def is_quiet(x: int) -> float:  # nu < rho - x
        return float((p * -np.expm1(-level * np.maximum(0, rho - x))).sum())

    x = quiet_reach(first, level, -math.log(beta))
    assert rings(x) <= beta
    assert x == 0 or rings(x - 1) > beta * (1 - 1e-6)
    x = missed_reach(first, level, -math.log(beta))
    assert is_quiet(x) <= beta
    assert x == 0 or is_quiet(x - 1) > beta * (1 - 1e-6)
    x = threshold_reach(first, -math.log(beta))
    assert math.exp(-first * (x + 1)) <= beta
    assert x < -math.log(beta) / first + 1e-6


def test_reaches_on_a_lattice_of_millionths_are_those_of_continuous_noise():
    first, level, log_chance, steps = 0.25, 0.05, math.log(1000), 10**6
    continuous = (log_chance + math.log(first / (first + level))) / level
    assert quiet_reach(first / steps, level / steps, log_chance) / steps == pytest.approx(continuous, abs=1e-5)
    assert threshold_reach(first / steps, log_chance) / steps == pytest.approx(log_chance / first, abs=1e-5)


def test_lower_ends_without_horizon_add_up_to_beta():
    chances = [math.exp(-0.25 * (repeated_reach(0.25, k, -math.log(BETA)) + 1)) for k in range(1, 2000)]
    assert sum(chances) <= BETA
    assert sum(chances) > BETA / math.exp(0.25) / 1.01


class Tape:
    """Hands out given noises."""

    def __init__(self, numbers):
        self.numbers = iter(numbers)

    def laplace(self, value, scale):
        return value + int(next(self.numbers))


def test_the_simulation_is_the_real_code_noise_by_noise():
    plan = suite(4)
    first, levels = rates(plan)
    rng = np.random.default_rng(SEED)
    found = set()
    for excess in (-20, -8, 0, 30, 4000):
        for _ in range(20):
            rho, noises = geometric(rng, first, 1), [geometric(rng, rate, (1, 4)) for rate in levels]
            with replaced_noise(Tape(rho)):
                secret = draw_secret(plan)
            state = SuiteState.start(plan)
            for level, noise in enumerate(noises, start=1):
                with replaced_noise(Tape(noise[0])):
                    table = [plan.thresholds[0] + excess] * 4
                    state = state.after(plan, run_level(plan, secret, level, table, state))
            expected_levels, expected_gaps = first_rings(plan.offsets[0], rho, noises, excess)
            if state.left >= 2 * plan.levels[-1]:  # money was never short
                rings = [(ring.level, ring.gap) if ring else (0, 0) for ring in state.rings]
                assert rings == list(zip(expected_levels[0], expected_gaps[0], strict=True))
                found |= {level for level, _ in rings}
    assert len(found) > 3


def test_of_2000_runs_at_most_44_have_a_false_fail_and_44_a_false_pass():
    """Every check is at its margin. A true 1% exceeds 44 of 2,000 with a chance of 7e-7."""
    plan, rng = suite(25), np.random.default_rng(SEED)
    assert most_allowed(2000, BETA) == 44
    levels, *_ = simulate(plan, -plan.margins[0], 2000, rng)
    assert int((levels > 0).any(axis=1).sum()) <= 44
    levels, *_ = simulate(plan, plan.known + 1, 2000, rng)
    assert int((levels == 0).any(axis=1).sum()) <= 44


@pytest.mark.parametrize("plan", [alarm(365), suite(1, runs=365)], ids=["one level", "23 levels"])
def test_of_10000_kept_years_at_most_151_are_wrong_in_each_way(plan):
    """A true 1% exceeds 151 of 10,000 with a chance below 1e-6."""
    rng = np.random.default_rng(SEED)
    assert most_allowed(10_000, BETA) == 151
    wrong = wrong_years(plan, -plan.margins[0], 10_000, rng)
    assert 0 < wrong <= 151
    assert quiet_years(plan, plan.known + 1, 10_000, rng) <= 151


def test_of_10000_days_of_an_alarm_at_most_151_miss_what_is_10_rows_above():
    plan, rng = alarm(365), np.random.default_rng(SEED)
    levels, *_ = simulate(plan, missed_reach(*both_rates(plan), -math.log(BETA)), 10_000, rng)
    assert 0 < int((levels == 0).sum()) <= 151


@pytest.mark.slow
def test_10000_kept_years_day_by_day():
    plan, rng = suite(1, runs=365), np.random.default_rng(SEED)
    first, levels = rates(plan)
    failed = passed = 0
    for _ in range(100):
        rho = geometric(rng, first, 100)
        noises = [geometric(rng, rate, (100, 365)) for rate in levels]
        rang, _ = first_rings(plan.offsets[0], rho, noises, -plan.margins[0])
        failed += int((rang > 0).any(axis=1).sum())
        rang, _ = first_rings(plan.offsets[0], rho, noises, plan.known + 1)
        passed += int((rang == 0).any(axis=1).sum())
    assert failed <= 151
    assert passed <= 151


@pytest.mark.heavy(family="alone")
def test_sizes_hold_together_for_3650_checks_just_below_their_thresholds():
    """f = T - 8 in all: some fail; every interval of a run contains f, but in 2 beta of the runs."""
    plan, rng, runs = suite(3650), np.random.default_rng(SEED), 150
    wrong = failures = 0
    for _ in range(runs // 50):
        levels, gaps, _ = simulate(plan, -8, 50, rng)
        truth = plan.thresholds[0] - 8
        for row_levels, row_gaps in zip(levels, gaps, strict=True):
            pairs = {(int(level), int(gap)) for level, gap in zip(row_levels, row_gaps, strict=True) if level}
            intervals = [size_of_failure(plan, 0, Ring(level, gap, level - 1, 1, 1, 0)) for level, gap in pairs]
            failures += len(pairs)
            wrong += any(not lower <= truth <= upper for lower, upper in intervals)
    assert failures > runs
    assert wrong <= most_allowed(runs, 2 * BETA)


def test_sizes_without_horizon_hold_together():
    """After the runs that s is meant for: the lower end by the number of the test, at a beta of its own."""
    plan, rng, runs = suite(200), np.random.default_rng(SEED), 300
    levels, gaps, _ = simulate(plan, -8, runs, rng)
    truth = plan.thresholds[0] - 8
    wrong = 0
    for row_levels, row_gaps in zip(levels, gaps, strict=True):
        rings = [
            Ring(int(level), int(gap), int(level) - 1, 200 * (int(level) - 1) + place + 1, 2, 0)
            for place, (level, gap) in enumerate(zip(row_levels, row_gaps, strict=True))
            if level
        ]
        wrong += any(size_of_failure(plan, 0, ring)[0] > truth for ring in rings)
    assert wrong <= most_allowed(runs, BETA)
