"""Levels of one run and of kept suites: order, what is left, records, verdicts and their bounds."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest
from suite_cases import BELOW, count, share
from suite_runs import FAR, LEVELS, next_run, plan_of, run

from dpdb.errors import ParameterError
from dpdb.privacy import NANO
from dpdb.suites import (
    LevelVerdicts,
    SuiteState,
    draw_secret,
    run_level,
    spent,
    state_of,
    verdicts,
)


@pytest.mark.parametrize("statistics", [[0] * 5, [FAR] * 5, [0, FAR, 40, 0, 1000]])
def test_as_many_noises_are_drawn_whatever_rings(statistics):
    plan = plan_of(*[count()] * 5)
    assert run(plan, statistics)[2] == 5 * LEVELS
    assert run(plan, [None] * 5, rung_state(plan))[2] == 5 * LEVELS


def rung_state(plan):
    state = next_run(run(plan, [FAR] * 5)[0])
    assert all(state.rings)
    return state


def test_a_suite_that_passes_pays_the_first_share():
    plan = plan_of(*[count()] * 4)
    state, _, _ = run(plan, [0] * 4)
    assert spent(plan, state) == NANO // 4
    found = verdicts(plan, state)
    assert {(verdict.verdict, verdict.level, verdict.lower, verdict.upper) for verdict in found} == {
        ("pass", LEVELS, None, plan.margins[0] + 18)
    }


def test_a_plain_failure_pays_the_first_level():
    plan = plan_of(count(), count())
    state, _, _ = run(plan, [0, FAR])
    assert spent(plan, state) == plan.first_share + plan.levels[0]
    passed, failed = verdicts(plan, state)
    assert (passed.verdict, failed.verdict, failed.level, failed.run) == ("pass", "fail", 1, 1)
    assert failed.lower <= FAR <= failed.upper


def test_three_close_failures_fit_and_a_fourth_passes_within_the_bound_of_its_last_level():
    plan = plan_of(*[count()] * 6)
    state, _, _ = run(plan, [plan.thresholds[0]] * 6)
    assert [verdict.verdict for verdict in verdicts(plan, state)] == ["fail"] * 3 + ["pass"] * 3
    assert spent(plan, state) == NANO
    passed = verdicts(plan, state)[3]
    assert passed.level == LEVELS - 1
    assert passed.upper == passed.within == plan.thresholds[3] + plan.offsets[0][-2] + plan.known
    assert passed.aim == plan.thresholds[3] + plan.known < passed.within


def test_where_a_pass_is_certain_what_was_not_quiet_at_the_last_level_is_undecided():
    plan = plan_of(*[count(limit=Fraction(500))] * 6, certain="pass")
    state, _, _ = run(plan, [plan.thresholds[0]] * 6)
    found = verdicts(plan, state)
    assert [verdict.verdict for verdict in found] == ["fail"] * 3 + ["undecided"] * 3
    assert [verdict.within for verdict in found] == [None] * 6
    assert {verdict.aim for verdict in found} == {0}


def test_what_was_never_tested_is_undecided():
    plan = plan_of(*[count()] * 2, epsilon=NANO)
    state = replace(SuiteState.start(plan), left=0)
    state, _, _ = run(plan, [FAR, 0], state)
    assert [(verdict.verdict, verdict.upper, verdict.within) for verdict in verdicts(plan, state)] == [
        ("undecided", None, None)
    ] * 2


def test_errors_are_tested_before_warnings():
    plan = plan_of(*[count(severity="warn")] * 3, *[count()] * 3)
    state, _, _ = run(plan, [plan.thresholds[0]] * 6)
    assert [verdict.verdict for verdict in verdicts(plan, state)] == ["pass"] * 3 + ["fail"] * 3


def test_plain_failures_are_found_before_close_ones_crowd_them_out():
    plan = plan_of(*[count()] * 25)
    state, _, _ = run(plan, [plan.thresholds[0]] * 5 + [10**5] * 20)
    found = [verdict.verdict for verdict in verdicts(plan, state)]
    assert found[5:] == ["fail"] * 20
    assert found[:5] == ["fail"] * 2 + ["pass"] * 3


@pytest.mark.parametrize("purse", [0, 1])
def test_a_test_is_run_while_its_own_ring_can_be_paid(purse):
    plan = plan_of(count(), count(2))
    state = SuiteState.start(plan)
    for test in (0, 1):
        for level in range(1, LEVELS + 1):
            assert state.is_due(plan, test, level, plan.ring_cost(test, level) - purse) == (purse == 0)


def test_what_is_charged_never_exceeds_epsilon():
    for epsilon in (NANO, 10**6 + 3, 777_777_777):
        plan = plan_of(*[share(Fraction(1, 8))] * 6, *[count()] * 6, epsilon=epsilon)
        state, _, _ = run(plan, list(plan.thresholds))
        assert plan.first_share < spent(plan, state) <= epsilon


def test_bounds_move_inwards_to_values_that_a_statistic_may_have():
    plan = plan_of(count(), share(Fraction(1, 1000)), count(halves=True))
    state, _, _ = run(plan, [0, 0, 0])
    whole, part, half = (verdict.upper for verdict in verdicts(plan, state))
    exact = Fraction(plan.thresholds[0] + plan.known, plan.lattice)
    assert part == exact
    assert whole == exact.__floor__()
    assert half == (2 * exact).__floor__()  # the fewest rows to delete: twice a cover


def test_a_check_from_below_fails_below():
    plan = plan_of(count(direction="below", limit=Fraction(1000)))
    [enough] = verdicts(plan, run(plan, [1000 + plan.known + 1])[0])
    assert (enough.verdict, enough.lower, enough.within) == ("pass", 1000, 0)
    assert verdicts(plan, run(plan, [1000 + plan.known])[0])[0].verdict == "fail", "not shown, without noise"
    failed = verdicts(plan, run(plan, [3])[0])[0]
    assert failed.verdict == "fail"
    assert failed.lower <= 3 <= failed.upper < 1000
    assert failed.lower >= 0


def test_a_failure_of_a_certain_fail_is_over_its_limit():
    plan = plan_of(*[count(limit=Fraction(5))] * 25)
    state, _, _ = run(plan, [plan.thresholds[0], *[0] * 24])
    assert verdicts(plan, state)[0].lower == 6


def test_a_level_is_never_tested_twice_nor_left_out():
    plan = plan_of(count())
    secret = json.dumps({"rho": [[0]]})
    state = SuiteState.start(plan)
    with pytest.raises(ValueError, match="does not follow"):
        run_level(plan, secret, 2, [0], state)
    answer = run_level(plan, secret, 1, [-FAR], state)
    state = state.after(plan, answer)
    with pytest.raises(ValueError, match="does not follow"):
        run_level(plan, secret, 1, [0], state)
    with pytest.raises(ParameterError, match="after level 1"):
        state.after(plan, answer)


def test_a_killed_run_goes_on_from_its_records():
    plan = plan_of(*[count()] * 3)
    state, records, _ = run(plan, [FAR, 0, 0])
    assert state_of(plan, map(LevelVerdicts.from_json, records)) == state


@pytest.mark.parametrize("text", ["", "[]", '{"level": 1}', '{"level": 1, "rings": [], "untested": []}', "3"])
def test_a_damaged_level_is_refused(text):
    with pytest.raises(ParameterError, match="cannot be read"):
        LevelVerdicts.from_json(text)


def test_nothing_secret_is_recorded():
    """Two threshold noises that lead to the same verdicts leave the same records; a quiet level records no number."""
    plan = plan_of(count(), BELOW)
    statistics = [0, 100]
    low = run(plan, statistics, secret=json.dumps({"rho": [[0, 0]]}))
    high = run(plan, statistics, secret=json.dumps({"rho": [[7, 3]]}))
    assert low[:2] == high[:2]
    assert low[1][0] == '{"level":1,"rings":{},"untested":[]}'


@pytest.mark.parametrize("secret", ["", "4711", '{"rho": 4711}', '{"rho": [[4711]]}', '{"rho": [[4711, -3]]}', "[]"])
def test_a_damaged_secret_is_refused_and_not_quoted(secret):
    plan = plan_of(count(), BELOW)
    with pytest.raises(ParameterError) as refused:
        run_level(plan, secret, 1, [0, 0], SuiteState.start(plan))
    assert str(refused.value) == "the suite's secret is damaged"
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


def test_verdicts_of_checks_that_a_suite_does_not_have_are_refused():
    plan = plan_of(count())
    for damaged in (LevelVerdicts(1, {1: 0}, ()), LevelVerdicts(1, {}, (-1,))):
        with pytest.raises(ParameterError, match="does not have"):
            SuiteState.start(plan).after(plan, damaged)


def test_each_slice_has_its_threshold_noise():
    plan = plan_of(count(), BELOW, keys=3)
    noises = json.loads(draw_secret(plan))["rho"]
    assert [len(noise) for noise in noises] == [2, 2, 2]
    secret = json.dumps({"rho": [[0, 0], [FAR, 0], [0, 0]]})
    state = SuiteState.start(plan)
    assert 0 in run_level(plan, secret, 1, [FAR, FAR], state, key=0).rings
    assert 0 not in run_level(plan, secret, 1, [FAR, FAR], state, key=1).rings


# -- kept suites ----------------------------------------------------------------------------------------------


def test_a_failure_stands_untested_and_free_until_it_is_re_armed():
    plan = plan_of(count(), count(), runs=365)
    state, _, _ = run(plan, [FAR, 0])
    paid = spent(plan, state)
    state, records, _ = run(plan, [None, 0], next_run(state))
    assert [verdict.verdict for verdict in verdicts(plan, state)] == ["fail", "pass"]
    assert verdicts(plan, state)[0].run == 1
    assert spent(plan, state) == paid
    assert all(LevelVerdicts.from_json(record).untested == (0,) for record in records)
    state = next_run(state).rearmed(plan, 0)
    assert spent(plan, state) == paid
    state, _, _ = run(plan, [0, 0], state)
    assert [verdict.verdict for verdict in verdicts(plan, state)] == ["pass", "pass"]
    assert spent(plan, state) == paid


def test_money_of_its_own_pays_the_next_ring_alone():
    plan = plan_of(*[count()] * 4, runs=365)
    close = plan.thresholds[0]
    state, _, _ = run(plan, [close] * 3 + [0])
    assert state.left == 0
    assert verdicts(plan, state)[3].verdict == "pass"
    state = next_run(state).rearmed(plan, 0, plan.levels[-1])
    state, _, _ = run(plan, [close, None, None, 0], state)
    assert verdicts(plan, state)[0].verdict == "fail"
    assert verdicts(plan, state)[0].run == 2
    assert spent(plan, state) == NANO + plan.levels[-1]
    assert state.own[0] == 0


def test_what_money_of_its_own_leaves_is_the_suites():
    plan = plan_of(*[count()] * 4, runs=365)
    close, own = plan.thresholds[0], 3 * plan.levels[-1]
    state, _, _ = run(plan, [close] * 3 + [0])
    state, _, _ = run(plan, [FAR, None, None, close], next_run(state).rearmed(plan, 0, own))
    assert [verdict.verdict for verdict in verdicts(plan, state)] == ["fail"] * 4
    assert spent(plan, state) == NANO + plan.levels[0] + plan.levels[-1]
    assert state.left == NANO + own - spent(plan, state)


def test_only_what_failed_is_re_armed_and_too_little_of_its_own_is_the_suites():
    plan = plan_of(count())
    with pytest.raises(ParameterError, match="failed"):
        SuiteState.start(plan).rearmed(plan, 0)
    state, _, _ = run(plan, [FAR])
    less = state.rearmed(plan, 0, plan.levels[-1] - 1)
    assert (less.own, less.left) == ((0,), state.left + plan.levels[-1] - 1)
    assert state.rearmed(plan, 0, plan.levels[-1]).left == state.left


def test_after_its_runs_a_failure_is_bounded_by_the_number_of_its_test():
    plan = plan_of(*[count()] * 2, runs=1)
    state = next_run(run(plan, [0, 0])[0])
    state, _, _ = run(plan, [0, FAR], state)
    late = verdicts(plan, state)[1]
    assert state.rings[1].number == 2 * LEVELS + 2
    assert late.lower <= FAR <= late.upper
    early = verdicts(plan, run(plan, [0, FAR])[0])[1]
    assert late.lower != early.lower


def test_a_missing_statistic_is_a_mistake():
    plan = plan_of(count())
    with pytest.raises(ValueError, match="needs its statistic"):
        run(plan, [None])
