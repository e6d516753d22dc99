"""`ladder` at its limits: every public constant as its definition says, calculated apart, at the value where it turns.

Each was found by a mutant that whole runs of the mechanism did not tell from it in time (`tests/mutation`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

import pytest
from stub_noise import StubNoise

from dpdb.measures.answer import WITNESSES, Answer, DegreeCap
from dpdb.measures.mechanism import Run
from dpdb.measures.mechanisms.ladder import Ladder, Plan, Rungs, Settings, Top, _Published
from dpdb.privacy import UNIT, HiddenNoise, as_fraction
from dpdb.privacy.noise import replaced_noise

EPSILON = 1_000_000_007  # nano; a prime, so that shares are rounded
RUNGS = Rungs(count=3, reach=Fraction(2), step=Fraction(3), least=7, gap=3, margin=2.0, growth=0.5)
TOP = Top(least=11, guard=5, margin=1.0, floor=0.0, growth=0.0)
SETTINGS = Settings(select=40, price=Fraction(1), stretch=Fraction(5, 2), stretch_from=3, above=2, rungs=RUNGS, top=TOP)
LADDER = Ladder(WITNESSES, cap=10, tiers=((0, SETTINGS),))


def size(theta: int) -> int:
    return theta + 1


def with_settings(**changed: object) -> Ladder:
    return replace(LADDER, tiers=((0, replace(SETTINGS, **changed)),))  # type: ignore[arg-type]


def a_plan(**changed: object) -> Plan:
    return replace(Plan(SETTINGS, (1, 3, 9), (27, 81), (40, 4), 0, 0, 0, 0, EPSILON), **changed)  # type: ignore[arg-type]


def test_rungs_fall_by_the_step_as_long_as_they_are_large_enough_and_far() -> None:
    assert RUNGS.thetas(9, size) == (6, 18)  # 18, 6 and 2; the sensitivity of 6 is the least
    assert replace(RUNGS, least=8).thetas(9, size) == (18,)
    assert replace(RUNGS, least=1).thetas(9, size) == (6, 18)  # 2 is not 3 times as sensitive as theta 1
    assert replace(RUNGS, least=1, gap=1).thetas(9, size) == (2, 6, 18)
    assert replace(RUNGS, count=1).thetas(9, size) == (18,)
    assert replace(RUNGS, least=1, reach=Fraction(1, 2), step=Fraction(1)).thetas(10, size) == (5,)
    assert replace(RUNGS, least=1, gap=3).thetas(4, size) == (8,)  # of 8, 3 and 1


def test_a_rung_is_far_from_its_gap_on() -> None:
    assert RUNGS.is_far(5, 1, size)  # 6 is 3 times 2
    assert not RUNGS.is_far(4, 1, size)  # 5 is not, though it is 3 more than 2
    assert RUNGS.is_far(11, 3, size)
    assert not RUNGS.is_far(10, 3, size)


def test_the_margin_is_that_of_sensitivity_50_and_grows_with_the_logarithm() -> None:
    assert RUNGS.margin_at(50) == 2.0
    assert RUNGS.margin_at(100) == 2.0 + 0.5 * math.log(2)


def test_shares_of_beta_add_up() -> None:
    assert (a_plan().top_share, a_plan().rung_share) == (Fraction(1, 2), Fraction(1, 8))
    assert (a_plan(top=None).top_share, a_plan(top=None).rung_share) == (0, Fraction(1, 4))
    assert a_plan(rungs=(27, 81, 243)).rung_share == Fraction(1, 12)
    assert (a_plan(rungs=()).top_share, a_plan(rungs=()).rung_share) == (Fraction(1, 2), 0)
    assert [a_plan(top=top, rungs=rungs).others for top in (None, (40, 4)) for rungs in ((), (27, 81))] == [0, 2, 1, 3]


def test_chosen_thetas_are_stretched_from_a_limit_on() -> None:
    assert [a_plan().stretched(theta) for theta in (1, 2, 3, 4)] == [1, 2, 8, 10]
    assert a_plan().thetas == [1, 3, 4, 8, 9, 23, 27, 40, 81]
    assert a_plan(grid=(1, 3), rungs=(), top=None).thetas == [1, 3, 8]
    assert a_plan(grid=(9,), rungs=(), top=None).thetas == [9]  # nothing is chosen, so nothing is stretched


def test_a_plan_splits_all_of_epsilon() -> None:
    plan = LADDER.plan(DegreeCap(100, 5.2), EPSILON)
    assert plan.grid == (1, 5, 17, 53, 161)  # 2 * 3^k - 1 up to the first that reaches 100 + 11
    assert plan.top == (100, 19)  # 101 // 5 - 1
    assert plan.guard == EPSILON // 5
    assert plan.undivided == EPSILON - plan.guard
    assert plan.choice == plan.undivided * 40 // 100
    assert plan.rungs == (23, 67, 200)  # 200 / 9 and 200 / 3, rounded up
    assert plan.reference == (plan.undivided - plan.choice) // 4
    assert plan.answer == plan.undivided - plan.choice - plan.reference
    bare = with_settings(rungs=None, top=None).plan(DegreeCap(100, 5.2), EPSILON)
    assert (bare.rungs, bare.top, bare.guard, bare.reference) == ((), None, 0, 0)
    assert (bare.undivided, bare.choice, bare.answer) == (EPSILON, EPSILON * 40 // 100, EPSILON - EPSILON * 40 // 100)
    none_far = with_settings(top=None, rungs=replace(RUNGS, least=1_000)).plan(DegreeCap(100, 5.2), EPSILON)
    assert (none_far.rungs, none_far.reference, none_far.choice + none_far.answer) == ((), 0, EPSILON)


def test_one_candidate_gets_all_of_epsilon() -> None:
    plan = LADDER.plan(DegreeCap(1, 0.0), EPSILON)
    assert plan == Plan(SETTINGS, (1,), (), None, 0, 0, 0, 0, EPSILON)
    assert LADDER.plan(DegreeCap(1, 0.4), EPSILON).grid == (1, 5)  # scales are rounded up


@pytest.mark.parametrize(("cap", "top"), [(9, None), (10, (10, 1)), (14, (14, 2))])
def test_the_top_is_tried_from_its_least_sensitivity_on(cap: int, top: tuple[int, int] | None) -> None:
    assert LADDER.plan(DegreeCap(cap, 1.0), EPSILON).top == top


def test_no_theta_is_beyond_what_rows_can_be_numbered_with() -> None:
    for cap in (2**32, 2**32 + 1, 2**40):
        assert LADDER.plan(DegreeCap(cap, 1.0), EPSILON).top == (2**32, (2**32 + 1) // 5 - 1)
    assert LADDER.plan(DegreeCap(2**32 - 1, 1.0), EPSILON).top[0] == 2**32 - 1  # type: ignore[index]


def test_constants_hold_from_their_epsilon_on() -> None:
    other = replace(SETTINGS, select=50)
    tiers = replace(LADDER, tiers=((0, SETTINGS), (EPSILON, other)))
    assert [tiers.plan(DegreeCap(100, 1.0), EPSILON + k).settings for k in (-1, 0, 1)] == [SETTINGS, other, other]


@dataclass
class Tails:
    """Noise whose tails are so many units, and which notes for which probability each was asked."""

    mean: Fraction = Fraction(0)
    scale: float = 4.0
    handicaps: int = 0
    asked: list[tuple[str, float]] = field(default_factory=list)

    def above(self, beta: float) -> int:
        self.asked.append(("above", beta))
        return round(UNIT / beta)

    def below(self, beta: float) -> int:
        self.asked.append(("below", beta))
        return round(UNIT / beta)


def test_an_answer_halves_beta_where_both_sides_are_bounded() -> None:
    """And only there: `lower` bounds one side, which has all of its share."""
    noise, beta, number = Tails(), 0.01, 5_000 * UNIT - 1  # with one more a whole number of rows
    answer = LADDER._answer(_Published(9, number, noise, Fraction(1, 4), Fraction(1, 2)), beta)  # type: ignore[arg-type]
    assert noise.asked == [("below", beta / 4), ("above", beta / 4), ("above", beta / 8)]
    ten = Fraction(10, UNIT)  # the sensitivity at theta 9
    assert (answer.value, answer.raw) == (round(number * ten),) * 2
    assert answer.lower == min(answer.value, math.ceil((number - 400 * UNIT) * ten))
    assert answer.estimate_lower == min(answer.value, math.ceil((number - 800 * UNIT) * ten))
    assert answer.estimate_upper == max(answer.value, math.ceil((number + 400 * UNIT + 1) * ten) - 1)
    assert (answer.noise_scale, answer.draw_share, answer.theta) == (4 * 10 / UNIT, 0.25, 9)
    none = LADDER._answer(_Published(9, number, Tails(), Fraction(1, 4), Fraction(1, 2)), beta, insignificant=True)  # type: ignore[arg-type]
    assert (none.value, none.raw, none.lower, none.estimate_upper) == (
        0, answer.raw, min(0, answer.lower), answer.estimate_upper,
    )  # fmt: skip
    late = LADDER._answer(_Published(9, number, Tails(Fraction(1_000 * UNIT)), Fraction(1, 4), Fraction(1, 2)), beta)  # type: ignore[arg-type]
    assert late.raw == round((number - 1_000 * UNIT) * ten)  # a rung is too low by its handicaps


# -- the top ----------------------------------------------------------------------------------------------------------


@dataclass
class Counted:
    """A statistic of one large and one small theta, of which bounds `apart` are known without a scan."""

    top: int
    low: int
    apart: int = 0
    scans: int = 0

    extra, name, estimand, upper_reason = 1, "counted", "x", None

    def sensitivity(self, theta: int) -> int:
        return theta + 1

    in_one_graph = sensitivity

    def exact(self, statistics: object, theta: int) -> int:
        self.scans += 1
        return {100: self.top, 19: self.low}[theta]

    def between(self, statistics: object, theta: int) -> tuple[int, int]:
        assert theta == 19
        return self.low - self.apart, self.low + self.apart


@dataclass
class NoRows:
    self_conflicts: int = 0


def top_of(counted: Counted, draws: tuple[int, ...] = (0, 0), **of_top: float) -> Answer | None:
    """Try the top without noise; hidden noise has a scale of half a unit, which is the margin."""
    ladder = replace(with_settings(top=replace(TOP, **of_top)), statistic=counted)  # type: ignore[arg-type]
    plan = ladder.plan(DegreeCap(100, 5.2), EPSILON)
    assert plan.top == (100, 19)
    run = Run(NoRows(), EPSILON, 0.05, DegreeCap(100, 5.2))  # type: ignore[arg-type]
    with replaced_noise(StubNoise()):
        return ladder._at_top(run, plan, HiddenNoise(draws, UNIT / 2))


@pytest.mark.parametrize("apart", [0, 3, 10**6])
@pytest.mark.parametrize("low", [0, 40, 1_000])
def test_a_top_is_published_if_it_is_the_margin_above_its_guard(low: int, apart: int) -> None:
    """Half a unit of sensitivity 101 is 50.5 more than the guard has; bounds of the guard decide as its number does."""
    assert top_of(Counted(low + 50, low, apart)) is None
    answer = top_of(Counted(low + 51, low, apart))
    assert answer is not None
    assert (answer.value, answer.raw, answer.theta, answer.draw_share) == (low + 51, low + 51, 100, 0.5)
    assert top_of(Counted(low + 101, low, apart), margin=2.0) is not None
    assert top_of(Counted(low + 100, low, apart), margin=2.0) is None


def test_bounds_of_the_guard_that_decide_need_no_scan_of_it() -> None:
    for top, scans in ((10, 1), (120, 2), (1_000, 1)):  # 1 is that of the top
        counted = Counted(top, 60, 30)
        assert (top_of(counted) is None) == (top < 111)
        assert counted.scans == scans


def test_a_top_pays_the_handicaps_of_the_rungs_below_it() -> None:
    quarter = UNIT // 4
    for draws, handicap in (((0, 0), 0.0), ((5, 7), 0.0), ((-quarter, 9), 25.25), ((-quarter, -quarter), 50.5)):
        needed = math.ceil(50.5 + handicap)
        assert top_of(Counted(needed - 1, 0), draws) is None
        assert top_of(Counted(needed, 0), draws) is not None


def test_a_top_within_its_own_noise_is_zero() -> None:
    """All of epsilon but a fifth is its noise's: scale 1.25 of 101, times floor + growth log(101)."""
    scale = 101 / (as_fraction(EPSILON - EPSILON // 5))
    least = float(scale) * (2 + math.log(101) / 2)
    for value, shown in ((math.floor(least), 0), (math.ceil(least), math.ceil(least))):
        answer = top_of(Counted(value, 0), floor=2.0, growth=0.5)
        assert answer is not None
        assert (answer.value, answer.raw) == (shown, value)
        assert answer.noise_scale == pytest.approx(float(scale), rel=1e-6)
