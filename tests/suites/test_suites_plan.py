"""Plans: lattices, banks, shares, thresholds, refusals, the record."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from suite_cases import BELOW, HALF, ORPHANS, count, share
from suite_runs import plan_of

from dpdb.errors import ParameterError
from dpdb.privacy import NANO, as_fraction
from dpdb.privacy.noise import laplace_scale
from dpdb.suites import bound_of_quiet, plan_suite

PERMILLE = Fraction(1, 1000)


@pytest.mark.parametrize(
    ("tests", "lattice"),
    [
        ([count()], 1),
        ([count(), count(halves=True)], 2),
        ([count(halves=True), share(PERMILLE)], 10**6),
    ],
)
def test_one_lattice_holds_all_values(tests, lattice):
    assert plan_of(*tests).lattice == lattice


def test_tests_are_in_banks_by_direction_and_sign():
    plan = plan_of(count(), ORPHANS, share(PERMILLE), BELOW, count(2))
    assert [bank.tests for bank in plan.banks] == [(0, 2, 4), (1,), (3,)]
    steps = plan.lattice
    assert [(bank.low, bank.high) for bank in plan.banks] == [(-steps // 1000, 2 * steps), (-steps, 0), (-steps, 0)]
    assert plan.first_reach == 2 * steps + steps // 1000  # -a: .001 + 1 + 1, more than b: 2


def test_banks_of_opposite_sides_pay_one_first_share():
    assert plan_of(count()).first_reach == plan_of(count(), BELOW).first_reach == 1


def test_shares_are_quarters_and_levels_fall_by_the_root_of_two():
    plan = plan_of(count())
    assert plan.first_share == plan.levels[-1] == NANO // 4
    assert len(plan.levels) == 23
    for below, amount in enumerate(reversed(plan.levels)):
        assert amount == math.floor(Fraction(NANO, 4) / Fraction(2) ** Fraction(below, 2) + 1e-6)


@pytest.mark.parametrize("epsilon", [NANO, 300_000_007, 10**5 + 1])
@pytest.mark.parametrize("tests", [(count(),), (share(PERMILLE), count(3)), (ORPHANS, count(2), BELOW)])
def test_noise_is_never_worth_more_than_what_is_charged(tests, epsilon):
    plan = plan_of(*tests, epsilon=epsilon)
    assert Fraction(plan.first_reach) / Fraction(laplace_scale(plan.first_reach, plan.first_share)) <= as_fraction(
        plan.first_share
    )
    for test in range(len(tests)):
        bank = plan.banks[plan.bank_of[test]]
        for level, amount in enumerate(plan.levels, start=1):
            rise = max(bank.high - plan_range(plan, test)[0], plan_range(plan, test)[1] - bank.low)
            loss = Fraction(rise) / Fraction(laplace_scale(bank.reach, amount))
            cost = as_fraction(plan.ring_cost(test, level))
            assert loss <= cost < loss + Fraction(2, NANO)
            assert plan.ring_cost(test, level) <= amount


def plan_range(plan, test):
    low, high = plan.tests[test].low * plan.lattice, plan.tests[test].high * plan.lattice
    return (low, high) if plan.tests[test].direction == "above" else (-high, -low)


def test_a_ring_of_a_count_among_shares_costs_less_than_one_of_all():
    plan = plan_of(share(Fraction(1, 4)), count(), count(2))
    costs = [plan.ring_cost(test, 23) for test in range(3)]
    assert costs == [NANO // 4, -(-NANO // 4 * 200 // 225), NANO // 4]


def test_offsets_fall_to_zero():
    for offsets in plan_of(count(), BELOW, share(PERMILLE)).offsets:
        assert sorted(offsets, reverse=True) == list(offsets)
        assert offsets[-1] == 0


def test_thresholds_below_are_negated():
    below = count(direction="below", limit=Fraction(1000))
    plan = plan_of(below)
    assert plan.thresholds == (-1000 - plan.known,), "a pass is certain, whatever is asked of others"
    assert bound_of_quiet(plan, 0, 23) == (1000, None)


def test_two_banks_and_slices_share_beta():
    log = math.log(100)
    assert plan_of(count()).known == math.ceil(log / 0.25) - 1
    assert plan_of(count(), BELOW).known == math.ceil((log + math.log(2)) / 0.25) - 1
    assert plan_of(count(), keys=7).known == math.ceil((log + math.log(7)) / 0.25) - 1
    assert plan_of(count(), keys=7).margins == plan_of(*[count()] * 7).margins == plan_of(count(), runs=7).margins


def test_a_certain_pass_has_its_threshold_below_the_limit():
    plan = plan_of(count(limit=Fraction(40)), certain="pass")
    assert plan.thresholds == (22,)
    assert bound_of_quiet(plan, 0, 23) == (None, 40)


def test_the_hidden_noise_grows_with_what_one_unit_changes():
    """Its rate is the first share by all that a unit moves: of three rows the noise reaches thrice as far."""
    far = [plan_suite([count(k, limit=Fraction(10**6))], NANO, Fraction(99, 100), levels=1, certain="pass")
           for k in (1, 3)]  # fmt: skip
    one, three = (10**6 - plan.thresholds[0] for plan in far)
    assert one > 10
    assert 3 * (one - 1) <= three <= 3 * (one + 1)


def test_a_limit_that_no_pass_can_meet_is_refused_with_what_would_do():
    with pytest.raises(ParameterError) as refused:
        plan_of(*[count(limit=Fraction(18), name="zip_city")] * 25, certain="pass")
    assert str(refused.value) == (
        "the limit of zip_city, 18 rows, is below 18.4 rows, the margin of a certain pass at epsilon 1: "
        "epsilon 1.023371156 would do"
    )
    limit = count(limit=Fraction(18))
    plan_of(limit, epsilon=1_023_371_156, certain="pass")
    with pytest.raises(ParameterError):
        plan_of(limit, epsilon=1_023_371_155, certain="pass")


def test_what_would_do_does_for_every_limit_of_a_suite():
    limits = [count(limit=Fraction(12)), count(limit=Fraction(9), name="lowest"), count(limit=Fraction(10))]
    with pytest.raises(ParameterError, match=r"of lowest, 9 rows.*epsilon 2\.046742308 would do"):
        plan_of(*limits, certain="pass")
    plan_of(*limits, epsilon=2_046_742_308, certain="pass")
    with pytest.raises(ParameterError):
        plan_of(*limits, epsilon=2_046_742_307, certain="pass")


@pytest.mark.parametrize("test", [count(), share(Fraction(0))])
def test_no_epsilon_lets_a_pass_of_limit_0_be_certain(test):
    with pytest.raises(ParameterError, match="no epsilon would do"):
        plan_of(test, certain="pass")


def test_below_and_shares_may_be_certain_passes_at_any_epsilon():
    plan_of(count(direction="below", limit=Fraction(3)), share(PERMILLE), certain="pass")


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        ([], "at least one check"),
        ([count(limit=Fraction(1, 3))], "more digits"),
        ([share(Fraction(1, 3))], "more digits"),
        ([share(Fraction(1, 10**7))], "more digits"),
        ([count(0)], "one row must be able to change"),
        ([count(-1)], "one row must be able to change"),
    ],
)
def test_what_no_suite_can_test_is_refused(tests, message):
    with pytest.raises(ParameterError, match=message):
        plan_of(*tests)


@pytest.mark.parametrize("fields", [{"epsilon": 8000}, {"epsilon": 10**6, "levels": 60}, {"runs": 0}, {"keys": 0}])
def test_numbers_out_of_range_are_refused(fields):
    with pytest.raises(ParameterError):
        plan_of(count(), **fields)
    with pytest.raises(ParameterError, match="too small"):
        plan_of(share(PERMILLE, 10**6), epsilon=10**4)


@pytest.mark.parametrize("confidence", [0, 1, Fraction(3, 2)])
def test_confidence_is_between_0_and_1(confidence):
    with pytest.raises(ParameterError, match="confidence"):
        plan_suite([count()], NANO, confidence)


def test_statistics_come_in_steps():
    plan = plan_of(share(HALF), count())
    assert plan.steps(0, 30, 50) == 5 * 10**6
    assert plan.steps(1, 30, 50) == 30 * 10**6
    with pytest.raises(ValueError, match="between two steps"):
        plan_of(count()).steps(0, HALF)
