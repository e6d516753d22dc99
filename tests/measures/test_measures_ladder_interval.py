"""`ladder`'s interval of its own estimand and its lower bound: exact coverage, over all of the hidden noise.

The real code runs with scripted public choices and every outcome of its hidden draws, whose probabilities are those of
tests/privacy/climbing_law.py. No randomness, so no false alarms.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

import pytest
from ladder_audit import Case, Top, accepted, coarse, refused
from noise_scripts import Script
from small_graphs import SmallGraph

from dpdb.measures.answer import Answer, DegreeCap, ProjectedStatistic
from dpdb.measures.mechanism import Run
from dpdb.measures.mechanisms import ladder
from dpdb.measures.mechanisms.ladder import Ladder, Rungs, Settings, Top as TopSettings
from dpdb.privacy import climbing
from dpdb.privacy.climbing import HandicappedNoise, HiddenNoise
from dpdb.privacy.epsilon import NANO
from dpdb.privacy.noise import laplace_scale, replaced_noise

UNIT, EPSILON, CAP, BETA = 2, NANO, DegreeCap(4, 1.0), 0.1
EVERYWHERE = 10**6  # a number that no test exceeds
EMPTY = SmallGraph(1, ())
START = 200  # the exact value at theta 1, far from 0, where bounds are clamped


def mechanism(values: dict[int, int], *, top: bool = True, rungs: int = 2) -> Ladder:
    """A ladder over the exact values of thetas 1, 2 and 4, whose choice is scripted anyhow."""
    settings = Settings(
        select=40,
        price=Fraction(1),
        stretch=Fraction(1),
        stretch_from=1,
        above=0,
        rungs=Rungs(count=rungs, reach=Fraction(1), step=Fraction(2), least=1, gap=1, margin=0.5, growth=0.0),
        top=TopSettings(least=1, guard=2, margin=1.0, floor=-100.0, growth=0.0) if top else None,
    )
    read = lambda _, thetas: [values.get(theta, 0) for theta in thetas]  # noqa: E731
    return Ladder(ProjectedStatistic("projected_edges", read, 0, True, "e"), 10, ((0, settings),))


def released(values: dict[int, int], guard: int | None, outcome: int | tuple[int, int]) -> tuple[Answer, Case]:
    """Run the real code where the hidden draws end in `outcome`: a number of the top, or a position and its number.

    What is public is scripted: theta 1 is the start, the reference is START; without a guard there is no top.
    """
    made, is_top = mechanism(values, top=guard is not None), not isinstance(outcome, tuple)
    plan, seen, tops = made.plan(CAP, EPSILON), [((0,), ())], []

    def height_above(noisy: int, hidden: HiddenNoise, threshold: int, share: int) -> int:
        tops.append(Top(UNIT * values[4] // 4, threshold, laplace_scale(UNIT, plan.undivided)))
        return 0 if is_top else -1

    def climb(start: int, rungs: list[int], thresholds: list[int], noise: object) -> tuple[int, int]:
        seen.append(((start, *rungs), tuple(thresholds)))
        assert isinstance(outcome, tuple)
        return outcome

    drawn = [0] * (len(plan.rungs) + 1)
    script = Script([*drawn, *([] if guard is None else [guard, outcome if is_top else 0]), 0, START])
    with pytest.MonkeyPatch.context() as patch, replaced_noise(script):
        patch.setattr(ladder, "height_above", height_above)
        patch.setattr(ladder, "climb", climb)
        answer = made.release(Run(EMPTY, EPSILON, BETA, CAP))
    scale, top = laplace_scale(UNIT, plan.answer), tops[0] if tops else None
    return answer, Case(*seen[-1], scale, top, reach=int(14 * max(scale, top.scale if top else 0)))


@dataclass
class Answers:
    """The answer of each outcome, which is all that it depends on."""

    known: dict[tuple[bool, int | tuple[int, int]], Answer] = field(default_factory=dict)

    def of(self, guard: int | None, outcome: int | tuple[int, int]) -> Answer:
        key = guard is None, outcome
        if key not in self.known:
            self.known[key] = released({1: 0, 2: 0, 4: 0}, guard, outcome)[0]
        return self.known[key]


def missed(values: dict[int, int], guard: int | None, answers: Answers) -> tuple[float, float, set[object]]:
    """Probability that the interval, and that the lower bound, does not hold; and which branches there were."""
    case = released(values, guard, (0, 0))[1]
    interval = lower = whole = 0.0
    branches: set[object] = set()
    for outcome, chance in (*refused(case).items(), *accepted(case).items()):
        answer = answers.of(guard, outcome)
        assert answer.theta is not None
        low, high, exact = answer.estimate_lower, answer.estimate_upper, values[answer.theta]
        assert low <= answer.value <= max(0, answer.raw) <= high
        whole, branches = whole + chance, branches | {(answer.theta, answer.handicaps, answer.draw_share)}
        interval += chance * (not low <= exact <= high)
        lower += chance * (answer.lower > exact)
    assert whole == pytest.approx(1, abs=1e-4)
    return interval, lower, branches


def worst(cases: Iterable[tuple[int | None, tuple[int, int]]]) -> tuple[float, float, set[object]]:
    """The greatest chances of a miss, in parts of beta."""
    interval = lower = 0.0
    branches: set[object] = set()
    with coarse(UNIT):
        answers = Answers()
        for guard, (second, third) in cases:
            found = missed({1: START, 2: START + second, 4: START + third}, guard, answers)
            interval, lower, branches = max(interval, found[0]), max(lower, found[1]), branches | found[2]
    return interval / BETA, lower / BETA, branches


# What thetas 2 and 4 have more than START: rungs that stand out hardly, sometimes and nearly always.
MORE = [-32, -20, -12, -4, 4, 20, 60]
GUARDS = [None, START + 60, START + 30, -EVERYWHERE]  # no top; one that is seldom, sometimes and always published
FEW = [(None, (-12, -20)), (None, (-20, -30)), (None, (10, -30)), (None, (60, 120)), (START + 30, (-12, 0))]


def test_the_interval_and_the_lower_bound_hold_on_every_branch() -> None:
    interval, lower, branches = worst(FEW)
    assert 0.6 < interval <= 1
    assert 0.7 < lower <= 1
    assert {
        (1, 0, 0.5),
        (2, 1, 0.25),
        (4, 2, 0.25),
        (1, 0, 0.25),
        (2, 1, 0.125),
        (4, 2, 0.125),
        (4, 0, 0.5),
    } == branches


@pytest.mark.slow
@pytest.mark.parametrize("guard", GUARDS)
def test_they_hold_wherever_the_rungs_are(guard: int | None) -> None:
    interval, lower, _ = worst([(guard, (a, 2 * b)) for a, b in product(MORE, MORE)])
    assert max(interval, lower) <= 1


def test_a_forgotten_handicap_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = HandicappedNoise.below
    monkeypatch.setattr(HandicappedNoise, "below", lambda noise, beta: right(HandicappedNoise(noise.scale, 0), beta))
    assert worst([(None, (10, -30)), (None, (60, 120))])[0] > 1.5


def test_doubts_that_are_not_shared_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = ladder._Published
    monkeypatch.setattr(ladder, "_Published", lambda *known: right(*known[:3], Fraction(1), Fraction(1)))
    interval, lower, _ = worst(FEW[:2])
    assert min(interval, lower) > 1.1


def test_the_upper_end_allows_for_what_units_round_off() -> None:
    """Whatever the number, it is the last whole number that the noise allows."""
    with coarse(UNIT):
        for number in range(600, 640):
            answer = released({1: START, 2: START, 4: START}, None, (0, number))[0]
            below = HandicappedNoise(laplace_scale(UNIT, mechanism({}, top=False).plan(CAP, EPSILON).answer), 0)
            most = number + below.below(BETA / 2)
            assert climbing.in_units(answer.estimate_upper, 1) <= most < climbing.in_units(answer.estimate_upper + 1, 1)
