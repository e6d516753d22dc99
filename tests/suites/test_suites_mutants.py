"""Each wrong form of the mechanism loses more than it charges, and the exact law of its transcripts shows it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from exact_law import TAU, Code, losses, small_plan
from suite_cases import HALF, Case, count, share

from dpdb.privacy import one_sided_noises
from dpdb.suites import SuitePlan, SuiteState, spent
from dpdb.suites.mechanism import levels


def level_with(noises: Callable[[int, int, int], list]) -> Callable:
    """Return `run_level` with another way of drawing a level's noises."""

    def run(*args, **kwargs):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(levels, "one_sided_noises", noises)
            return levels.run_level(*args, **kwargs)

    return run


def one_for_all(number: int, sensitivity: int, epsilon: int) -> list:
    return one_sided_noises(1, sensitivity, epsilon) * number


def kept_noise() -> Callable:
    """Return a way of drawing that hands out the first run's noises in all later runs."""
    drawn: dict[int, list] = {}

    def noises(number: int, sensitivity: int, epsilon: int) -> list:
        tape = one_sided_noises(1, sensitivity, epsilon)[0].atom.tape
        if id(tape) not in drawn:
            drawn.clear()
            drawn[id(tape)] = one_sided_noises(number, sensitivity, epsilon)
        return drawn[id(tape)]

    return noises


def times_k(number: int, sensitivity: int, epsilon: int) -> list:
    return [noise * sensitivity for noise in one_sided_noises(number, 1, epsilon)]


def textbook(number: int, sensitivity: int, epsilon: int) -> list:
    """The scale of a count's own sensitivity, 2 steps, where a shift by R = 3 must be hidden."""
    return one_sided_noises(number, 2, epsilon)


def shared_rho(plan: SuitePlan) -> str:
    one = json.loads(levels.draw_secret(replace(plan, keys=1)))["rho"]
    return json.dumps({"rho": one * plan.keys})


def below_the_rings(plan: SuitePlan, state: SuiteState) -> int:
    """Charges the first share and one ring."""
    rings = [ring.cost for ring in state.rings if ring is not None]
    return spent(plan, state) - sum(rings) + max(rings, default=0)


def without_own_money(plan: SuitePlan, state: SuiteState) -> int:
    """Charges what the suite's own epsilon has paid, one ring of its last level, and not what a re-arm's has."""
    return min(plan.epsilon, spent(plan, state))


def without_the_first_share(plan: SuitePlan, state: SuiteState) -> int:
    return spent(plan, state) - plan.first_share


def symmetric(plan: SuitePlan, state: SuiteState) -> int:
    """Charges a ring for |f' - f| <= max(b, -a), as if the noisy threshold were not shifted as well."""
    return plan.first_share + sum(
        ring.cost * max(bank.high, -bank.low) // bank.reach
        for test, ring in enumerate(state.rings)
        if ring is not None
        for bank in [plan.banks[plan.bank_of[test]]]
    )


def counts(**fields: int) -> Case:
    return Case(small_plan([count()] * 2, 1, (2,), (0,), **fields), [(0,), (0,)], [(0, 1), (1,)])


def of_two_rows() -> Case:
    return Case(small_plan([count(2)] * 2, 1, (1,), (0,)), [(0,), (0,)], [(0, 1), (2,)])


def a_share() -> Case:
    return Case(small_plan([share(HALF), count()], 1, (2,), (0,), lattice=2), [(0,), (0,)], [(-1, 1), (0, 2)])


def two_levels() -> Case:
    return Case(small_plan([count()], 2, (1, 1), (1, 0)), [(-1, 0)], [(1,)])


def slices() -> Case:
    return Case(small_plan([count()], 2, (2,), (0,), keys=2), [(-1, 0)], [(1,)])


def kept() -> Case:
    return Case(small_plan([count()], 1, (1,), (0,), runs=2), [(-1, 0), (0,)], [(0, 1)] * 2)


def kept_with_own_money() -> Case:
    return Case(small_plan([count()], 1, (1,), (0,), runs=3, rings=1), [(-1, 0), (0,), (0,)], [(0, 1)] * 3, own=TAU)


MUTANTS = {
    "a ring is charged for a symmetric shift": (Code(spent=symmetric), a_share),
    "rho is drawn again for each level": (Code(fresh_secret=True), two_levels),
    "a level's noise is used again for the next check": (Code(run_level=level_with(one_for_all)), counts),
    "rho is drawn again for each run": (Code(fresh_secret=True), kept),
    "a level's noise is used again in the next run": (Code(run_level=level_with(kept_noise())), kept),
    "a textbook scale, of the statistic's sensitivity alone": (Code(run_level=level_with(textbook), faster=2), a_share),
    "noise times k": (Code(run_level=level_with(times_k), faster=2, period=2), of_two_rows),
    "settled below the rings": (Code(spent=below_the_rings), counts),
    "settled below the rings that a re-arm's money paid": (Code(spent=without_own_money), kept_with_own_money),
    "settled to nothing where all passed": (Code(spent=without_the_first_share), counts),
    "one rho for all slices": (Code(draw_secret=shared_rho), slices),
}


@pytest.mark.heavy
@pytest.mark.parametrize("name", MUTANTS)
def test_the_exact_law_shows_what_a_mutant_leaks(name):
    code, make = MUTANTS[name]
    case = make()
    assert losses(case.plan, case.pairs(), Code(own=case.own)).holds
    assert not losses(case.plan, case.pairs(), replace(code, own=case.own)).holds


@pytest.mark.parametrize("name", ["noise times k", "a level's noise is used again for the next check"])
def test_two_mutants_show_a_statistic_itself(name):
    code, make = MUTANTS[name]
    assert losses(make().plan, make().pairs(), code).is_infinite
