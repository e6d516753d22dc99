"""`climb` under `height_above`: the real code has the law of `climbing_law`, and that law loses at most epsilon.

No randomness: the law is summed over all noise, but for a part below 1e-12.
"""

import itertools
import math

import pytest
from climbing_law import Case, Top, accepted, greatest_loss, noise, refused

from dpdb.privacy import climbing
from dpdb.privacy.climbing import climb, draw_hidden_noise, height_above, in_units
from dpdb.privacy.epsilon import NANO
from dpdb.privacy.noise import laplace_scale, replaced_noise

SLACK = 1e-6  # what is left out, beside outcomes of at least 1e-9


class Scripted:
    """Adds the given numbers; all noise must have the given scale."""

    def __init__(self, numbers, scale) -> None:
        self.numbers, self.scale = list(numbers), scale

    def laplace(self, value, scale):
        assert scale == self.scale
        return value + self.numbers.pop(0)


# -- units ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1, 2, 3, 16])
def test_a_row_moves_units_by_at_most_a_unit(unit, monkeypatch):
    monkeypatch.setattr(climbing, "UNIT", unit)
    moves = {
        in_units(value + move, s) - in_units(value, s)
        for s in range(1, 12)
        for value in range(-5, 40)
        for move in range(s + 1)
    }
    assert (min(moves), max(moves)) == (0, unit)


# -- the real code has the law --------------------------------------------------------------------------------


def enumerated(case: Case, unit: int, epsilon: int) -> tuple[dict, dict]:
    """The law of the real code, by all noise up to `case.reach`."""
    radius, shares = case.reach, (noise(case.scale, case.reach), noise(case.top.scale, case.reach))
    steps = range(-radius, radius + 1)
    below, above = {}, {}
    for drawn in itertools.product(steps, repeat=len(case.numbers) + 2):
        *hidden_draws, own, test = drawn
        chance = shares[1][own + radius] * math.prod(shares[0][n + radius] for n in (*hidden_draws, test))
        with replaced_noise(Scripted([*hidden_draws, test], case.scale)):
            hidden = draw_hidden_noise(len(case.numbers) - 1, epsilon)
            top = case.top.units + own
            if height_above(top, hidden, case.top.threshold, epsilon) >= 0:
                above[top] = above.get(top, 0.0) + chance
            else:
                outcome = climb(case.numbers[0], case.numbers[1:], case.thresholds, hidden.draws)
                below[outcome] = below.get(outcome, 0.0) + chance
    return below, above


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("numbers", "thresholds", "top"),
    [
        ((1,), (), (2, 3)),
        ((0, 1), (2,), (1, 2)),
        ((2, 0), (0,), (0, 3)),
        ((1, 0, 2), (1, 3), (2, 2)),
    ],
)
def test_the_real_code_has_the_law(numbers, thresholds, top, monkeypatch):
    monkeypatch.setattr(climbing, "UNIT", 2)
    epsilon = 2 * NANO
    scale = laplace_scale(2, epsilon)
    case = Case(numbers, thresholds, scale, Top(*top, 0.8), reach=6 if len(numbers) < 3 else 3)
    below, above = enumerated(case, 2, epsilon)
    for found, expected in ((below, refused(case)), (above, accepted(case))):
        assert {o for o, p in found.items() if p > 1e-15} == {o for o, p in expected.items() if p > 1e-15}
        assert all(math.isclose(p, expected[o], rel_tol=1e-9, abs_tol=1e-15) for o, p in found.items())


def test_the_law_is_whole():
    case = Case((3, 1, 4), (2, 6), 1.5, Top(5, 7, 1.1))
    assert sum(refused(case).values()) + sum(accepted(case).values()) == pytest.approx(1, abs=1e-9)


# -- and the law loses at most epsilon ------------------------------------------------------------------------


def losses(unit, rungs, scale, top_scale, *, thresholds, tops, values):
    """For all numbers and all moves of one row: worst loss of the refused outcomes and of the accepted ones."""
    below = above = 0.0
    steps = range(unit + 1)
    laws = {}

    def law(case):
        if case not in laws:
            laws[case] = refused(case), accepted(case)
        return laws[case]

    cases = 0
    for numbers in itertools.product(values, repeat=rungs + 1):
        for limit, units, top_limit in itertools.product(thresholds, *tops):
            for moves in itertools.product(steps, repeat=rungs + 2):
                *each, last = moves
                if not any(moves):
                    continue
                here = Case(numbers, (limit,) * rungs, scale, Top(units, top_limit, top_scale))
                moved = tuple(a + b for a, b in zip(numbers, each, strict=True))
                there = Case(moved, (limit,) * rungs, scale, Top(units + last, top_limit, top_scale))
                for found, other in (law(here)[0], law(there)[0]), (law(there)[0], law(here)[0]):
                    below = max(below, *map(abs, greatest_loss(found, other)))
                above = max(above, *map(abs, greatest_loss(law(here)[1], law(there)[1])))
                cases += 1
    return below, above, cases


SMALL = {"thresholds": (2,), "tops": ((1,), (3,)), "values": (0, 1, 4)}
LARGE = {"thresholds": (0, 2, 5), "tops": ((0, 2, 6), (1, 4)), "values": (0, 1, 2, 5)}


@pytest.mark.parametrize("rungs", [0, 1])
def test_the_law_loses_at_most_epsilon(rungs, record_property):
    """A unit of 2 and all of its moves; the loss is attained."""
    scale, top_scale = 1.3, 0.9
    below, above, cases = losses(2, rungs, scale, top_scale, **SMALL)
    assert 0.98 < below * scale / 2 <= 1 + SLACK
    assert 0.98 < above * top_scale / 2 <= 1 + SLACK
    record_property("cases", cases)


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "rungs"), [(1, 0), (3, 0), (1, 1), (2, 1), (3, 1), (1, 2), (1, 3)])
@pytest.mark.parametrize(("scale", "top_scale"), [(0.7, 0.5), (1.6, 1.1)])
def test_the_law_loses_at_most_epsilon_everywhere(unit, rungs, scale, top_scale, record_property):
    sizes = LARGE if rungs < 2 else SMALL
    below, above, cases = losses(unit, rungs, scale, top_scale, **sizes)
    assert below * scale / unit <= 1 + SLACK
    assert above * top_scale / unit <= 1 + SLACK
    record_property("cases", cases)


# -- the audit notices what the proof needs -------------------------------------------------------------------


def without_handicap(case, reach=9):
    """The law if nothing were subtracted, by enumeration: start and test only."""
    p = noise(case.scale, reach)
    found = {}
    for n in range(-reach, reach + 1):
        for test in range(-reach, reach + 1):
            if case.top.units + test < case.top.threshold:
                number = case.numbers[0] + n
                found[0, number] = found.get((0, number), 0.0) + p[n + reach] * p[test + reach]
    return found


def test_without_the_handicap_both_noises_would_be_paid_for():
    """The start falls below its number (loss epsilon) and the test accepts more often (nearly epsilon again)."""
    here = without_handicap(Case((0,), (), 1.0, Top(0, 3, 1.0)))
    there = without_handicap(Case((1,), (), 1.0, Top(1, 3, 1.0)))
    assert max(map(abs, greatest_loss(here, there))) > 1.05


def test_a_number_that_moves_by_more_than_a_unit_is_caught():
    here, there = refused(Case((0, 0), (2,), 1.0)), refused(Case((0, 2), (2,), 1.0))
    assert max(map(abs, greatest_loss(here, there))) > 1 + SLACK


def test_a_number_that_falls_while_others_grow_is_caught():
    here, there = refused(Case((0, 1), (2,), 1.0)), refused(Case((1, 0), (2,), 1.0))
    assert max(map(abs, greatest_loss(here, there))) > 1 + SLACK


def test_a_row_that_goes_and_one_that_comes_lose_at_most_twice():
    """What an orphan of a private parent is to the graph; once would not do."""
    worst = 0.0
    moves = list(itertools.product((0, 1), repeat=3))
    laws = {}
    for numbers in itertools.product((0, 1, 4), repeat=2):
        for gone, come in itertools.product(moves, repeat=2):
            *each, last = (b - a for a, b in zip(gone, come, strict=True))
            moved = tuple(a + b for a, b in zip(numbers, each, strict=True))
            both = [Case(numbers, (2,), 1.3, Top(3, 2, 0.9)), Case(moved, (2,), 1.3, Top(3 + last, 2, 0.9))]
            for case in both:
                if case not in laws:
                    laws[case] = refused(case), accepted(case)
            below, above = (
                max(map(abs, greatest_loss(laws[both[0]][k], laws[both[1]][k]))) * scale
                for k, scale in ((0, 1.3), (1, 0.9))
            )
            worst = max(worst, below, above)
    assert 1.2 < worst <= 2 + SLACK
