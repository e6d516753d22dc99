"""Worst first: Theorem 7 by Renyi divergence through the real code, its order, its bounds, its records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import pytest
from number_law import Given
from suite_cases import count, share

from dpdb.errors import ParameterError
from dpdb.privacy.noise import replaced_noise
from dpdb.suites.mechanism.plan import banks_of
from dpdb.suites.mechanism.worst_first import (
    LEVELS,
    Step,
    WorstPlan,
    WorstState,
    draw_step,
    plan_worst_first,
    worst_verdicts,
)

PICO = 10**12


def small_plan(tests, costs: Sequence[int], steps: int, lattice: int = 1) -> WorstPlan:
    """Return a plan of wide doubts, so that both sides of every decision happen within the noise."""
    lists = banks_of(tests, lattice)
    return WorstPlan(tuple(tests), steps * costs[-1], Fraction(1, 100), 1, lattice, lists, tuple(costs))


def law(plan: WorstPlan, statistics: Sequence[int], width: int) -> dict[tuple, float]:
    """Return the logarithm of the probability of each transcript, with numbers within `width` of each x."""
    found: dict[tuple, float] = {}

    def go_on(state: WorstState, said: tuple, log: float) -> None:
        if state.is_over(plan):
            found[said] = log
            return
        for choice, test in enumerate(state.open_tests(plan)):
            x = statistics[test] * plan.tests[test].sign - plan.limit(test)
            for number in range(x - width, x + width + 1):
                noise = Given(choice, [number], [x])
                with replaced_noise(noise):
                    step = draw_step(plan, statistics, state, 0)
                assert (step.test, step.number) == (test, number)
                if log + noise.log > -34:
                    go_on(state.after(plan, Step.from_json(step.to_json())), (*said, (test, number)), log + noise.log)

    go_on(WorstState(), (), 0.0)
    return found


def renyi(one: dict[tuple, float], other: dict[tuple, float], order: float) -> float:
    """Return the divergence, over what both laws list; what they miss has less than 1e-10."""
    shared = one.keys() & other.keys()
    assert math.fsum(math.exp(each) for each in one.values()) > 1 - 1e-6
    return math.log(math.fsum(math.exp(order * one[key] + (1 - order) * other[key]) for key in shared)) / (order - 1)


def check(plan: WorstPlan, bases, changes, width: int, least: float) -> None:
    """Compare the largest divergence with the charge: never more, and so much of it is reached."""
    worst = 0.0
    for base, change in product(bases, changes):
        one, other = law(plan, base, width), law(plan, [f + c for f, c in zip(base, change, strict=True)], width)
        for order in (1.5, 2, 4):
            for first, second in ((one, other), (other, one)):
                worst = max(worst, renyi(first, second, order) / order / (plan.rho / PICO))
    assert least < worst <= 1 + 1e-6, worst


def test_renyi_of_one_step_of_two_checks():
    check(small_plan([count()] * 2, [PICO // 2], 1), [(0, 0), (3, -1)], [(1, 0), (0, 1), (1, 1)], 14, 0.76)


def test_renyi_of_two_steps_of_one_level():
    """9,446 transcripts. After the first failure one check is left, so the second name says nothing: below a half."""
    bases = [(0, 0), (3, 2), (6, 5)]
    check(small_plan([count()] * 2, [PICO // 2], 2), bases, [(1, 0), (0, 1), (1, 1)], 14, 0.47)


@pytest.mark.heavy
@pytest.mark.parametrize("first", [PICO // 2, PICO // 4])
def test_renyi_of_two_levels_of_two_checks(first):
    """Some 43,000 transcripts each: where the first level finds nothing, the second names one of both again."""
    tests = [count()] * 2
    costs = (first, PICO // 2)
    plan = WorstPlan(tuple(tests), sum(costs), Fraction(1, 100), 1, 1, banks_of(tests, 1), costs)
    check(plan, [(0, 0), (-3, -3), (3, 2), (3, 3), (6, 6)], [(1, 0), (0, 1), (1, 1)], 16, 0.75)


def test_renyi_where_one_row_moves_checks_apart():
    """A share goes down where its rule holds: the range, and not the greatest change, is paid."""
    plan = small_plan([share(Fraction(1, 2)), share(Fraction(1, 2))], [PICO // 2], 1, lattice=2)
    check(plan, [(0, 0), (2, -1)], [(-1, 1), (1, -1), (1, 1), (-1, -1)], 20, 0.95)


def test_all_pass_costs_a_quarter():
    for tests in ([count()] * 5, [count(), count(direction="below")], [count()]):
        plan = plan_worst_first(tests, PICO // 2, Fraction(99, 100))
        assert sum(plan.costs) * len(plan.lists) <= PICO // 8
        assert sum(plan.costs) * len(plan.lists) > PICO // 8 * 0.99
        assert len(plan.costs) == LEVELS


class Exact:
    """No noise: the worst is named."""

    def gumbel_max(self, scores: Sequence[int], scale: float) -> int:
        return list(scores).index(max(scores))

    def gaussian(self, value: int, scale: float) -> int:
        return value


def run(plan: WorstPlan, statistics: Sequence[int]) -> tuple[WorstState, list[Step]]:
    state, steps = WorstState(), []
    with replaced_noise(Exact()):
        while not state.is_over(plan):
            steps.append(draw_step(plan, statistics, state, 0))
            state = state.after(plan, steps[-1])
    return state, steps


def test_the_worst_come_first_and_every_step_is_paid():
    plan = plan_worst_first([count()] * 6, PICO // 2, Fraction(99, 100))
    state, steps = run(plan, [0, 5000, 900, 300, 0, 20000])
    assert list(state.failed) == [5, 1, 2, 3]
    assert state.spent == sum(plan.costs[step.level - 1] for step in steps)
    found = worst_verdicts(plan, state)
    assert [each.verdict for each in found] == ["pass", "fail", "fail", "fail", "pass", "fail"]
    for each, f in zip(found, [0, 5000, 900, 300, 0, 20000], strict=True):
        assert each.lower is None or each.lower <= f
        assert f <= each.upper
    assert found[0].upper <= plan.aim_of(0) + 1


def test_checks_from_below_have_a_list_of_their_own():
    plan = plan_worst_first([count(), count(direction="below", limit=Fraction(1000))], PICO // 2, Fraction(99, 100))
    assert len(plan.lists) == 2
    state, _ = run(plan, [0, 400])
    passed, failed = worst_verdicts(plan, state)
    assert (passed.verdict, failed.verdict) == ("pass", "fail")
    assert failed.lower <= 400 <= failed.upper < 1000
    state, _ = run(plan, [0, 1000])
    assert worst_verdicts(plan, state)[1].lower <= 1000


def test_what_cannot_be_paid_ends_the_run():
    plan = plan_worst_first([count()] * 400, PICO // 2, Fraction(99, 100))
    close = [plan.off(0, LEVELS, 400) + 2] * 400
    state, _ = run(plan, close)
    assert state.spent <= plan.rho
    assert state.spent + plan.costs[-1] > plan.rho
    found = [each.verdict for each in worst_verdicts(plan, state)]
    assert found.count("fail") > 4
    assert found.count("undecided") == 0  # lower levels are complete


def test_all_fail_ends_the_run():
    plan = plan_worst_first([count()] * 3, PICO // 2, Fraction(99, 100))
    state, steps = run(plan, [10**6] * 3)
    assert len(steps) == 3
    assert [each.verdict for each in worst_verdicts(plan, state)] == ["fail"] * 3


def test_records_are_read_back_and_have_an_order():
    step = Step(0, 0, 2, 1, 3, -17)
    assert Step.from_json(step.to_json()) == step
    with pytest.raises(ParameterError, match="cannot be read"):
        Step.from_json("{}")
    plan = plan_worst_first([count()] * 4, PICO // 2, Fraction(99, 100))
    with pytest.raises(ParameterError, match="order"):
        WorstState().after(plan, step)
    with pytest.raises(ParameterError, match="too small"):
        plan_worst_first([count()] * 4, 10**6, Fraction(99, 100))
