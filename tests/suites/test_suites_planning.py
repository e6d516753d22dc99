"""Figures in advance, against the design's table and against what the code then finds."""

from __future__ import annotations

from fractions import Fraction

import pytest
from simulated import most_allowed
from suite_cases import count, share
from suite_runs import FAR, plan_of, run

from dpdb.errors import ParameterError
from dpdb.privacy import NANO
from dpdb.suites import (
    SuiteState,
    draw_secret,
    epsilon_for,
    numbers_instead,
    plan_suite,
    plan_words,
    run_level,
    surely_found,
    unsure_rows,
    verdicts,
)


@pytest.mark.parametrize(
    ("checks", "pure", "zcdp", "approximate", "unsure"),
    [(5, 31, 7, 29, 42), (25, 196, 18, 75, 48), (400, 4239, 84, 356, 59), (4000, 51597, 298, 1258, 69)],
)
def test_the_table_of_the_design(checks, pure, zcdp, approximate, unsure):
    plan = plan_of(*[count()] * checks)
    numbers = numbers_instead(plan)
    assert (numbers.pure, numbers.zcdp, numbers.approximate) == (pure, zcdp, approximate)
    assert unsure_rows(plan) == unsure


def test_numbers_on_a_zcdp_ledger_are_better_up_to_about_50_checks():
    better = [checks for checks in range(30, 101) if numbers_instead(plan_of(*[count()] * checks)).better_on_zcdp]
    assert better == list(range(30, better[-1] + 1))
    assert 40 < better[-1] < 60
    assert not numbers_instead(plan_of(*[count()] * 5, runs=365)).better_on_zcdp


def test_three_close_failures_are_surely_found():
    plan = plan_of(*[count()] * 25)
    assert surely_found(plan, 0, unsure_rows(plan)) == 3
    assert surely_found(plan, 0, unsure_rows(plan) - 1) is None
    assert surely_found(plan, 0, FAR) > 1000


def test_60_failures_by_1000_rows_do_not_fit_in_4000_checks():
    plan = plan_of(*[count()] * 4000)
    assert 28 <= surely_found(plan, 0, 1000) < 40
    assert 20 <= surely_found(plan, 0, 1000, others_decided=True) < 28


@pytest.mark.parametrize("others_decided", [False, True])
@pytest.mark.parametrize("rows", [48, 60, 100, 1000, 30_000])
def test_as_many_as_are_promised_are_found_with_the_least_noise_and_the_largest_threshold(rows, others_decided):
    plan = plan_of(*[count()] * 25)
    found = surely_found(plan, 0, rows, others_decided=others_decided)
    failing = min(found, 25)
    secret = f'{{"rho": [[{plan.known}]]}}'
    state, _, _ = run(plan, [rows] * failing + [0] * (25 - failing), secret=secret)
    assert [verdict.verdict == "fail" for verdict in verdicts(plan, state)] == [True] * failing + [False] * (
        25 - failing
    )


@pytest.mark.heavy(family="alone")
def test_promised_failures_are_found_in_real_runs():
    """25 real runs; a true 2% exceeds `most_allowed` with a chance below 1e-6."""
    plan = plan_of(*[count()] * 12)
    failing = surely_found(plan, 0, 200)
    assert 3 < failing < 12
    wrong = 0
    for _ in range(25):
        secret, state = draw_secret(plan), SuiteState.start(plan)
        for level in range(1, 24):
            statistics = [200] * failing + [0] * (12 - failing)
            state = state.after(plan, run_level(plan, secret, level, statistics, state))
        found = [verdict.verdict == "fail" for verdict in verdicts(plan, state)]
        wrong += found != [True] * failing + [False] * (12 - failing)
    assert wrong <= most_allowed(25, 0.02)


@pytest.mark.parametrize(("tests", "rows"), [([count()] * 25, 48), ([count(3), share(Fraction(1, 100))], 500)])
def test_the_epsilon_for_a_wished_margin_is_the_smallest(tests, rows):
    epsilon = epsilon_for(tests, rows, Fraction(99, 100))
    assert unsure_rows(plan_suite(tests, epsilon, Fraction(99, 100))) <= rows
    assert unsure_rows(plan_suite(tests, epsilon - 1, Fraction(99, 100))) > rows
    assert epsilon <= NANO or rows != 48


def test_no_epsilon_gives_margins_below_zero():
    with pytest.raises(ParameterError, match="no epsilon"):
        epsilon_for([count()], -1, Fraction(99, 100))


def test_a_plan_in_words():
    assert plan_words(plan_of(*[count()] * 25)) == [
        "epsilon 1 is reserved: 0.25 stays charged if all pass, a failure costs from 0.00012 (plain) to 0.25 (close)",
        "with 99% for all 25 checks together, no check within its limit fails",
        "with 99% for all passes together, one that passes is at most 48 rows over its limit",
        "3 failures by 48 rows are surely found; 2 leave all others tested to the end",
        "4 failures by 100 rows are surely found; 2 leave all others tested to the end",
        "all checks that fail by 1,000 rows are surely found, however many",
        "a number for each check instead: within 196 rows at this epsilon, 18 on a zCDP ledger at rho 0.5, 75 with "
        "Gaussian noise at delta 1e-6; --sizes draws them together, and with --dry-run it says how exact",
        "numbers on a zCDP ledger say more than these verdicts, however many fail",
    ]


def test_a_certain_pass_in_words():
    words = plan_words(plan_of(*[count(limit=Fraction(100))] * 25, certain="pass"))
    assert words[1:4] == [
        "with 99% for all passes together, no check over its limit passes",
        "with 99% for all 25 checks together, none that is 48 rows or more within its limit fails",
        "3 failures by 1 row are surely found; 2 leave all others tested to the end",
    ]
