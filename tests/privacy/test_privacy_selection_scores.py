"""Sensitivity of the scores that select theta, through the real functions, exhaustively over small statistics."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st
from recorded_noise import RecordedNoise
from stub_noise import StubNoise

from dpdb.privacy import selection
from dpdb.privacy.epsilon import NANO, PICO, as_fraction
from dpdb.privacy.noise import replaced_noise
from dpdb.privacy.selection import (
    generalized_exponential_mechanism,
    paper_exponential_mechanism,
    paper_grid,
    power_grid,
    rho_of_choice,
)

K = 65_536
exactly = settings(derandomize=True, deadline=None, max_examples=200)
I64 = range(-(2**63), 2**63)


def gem_scores(statistics, sensitivities, weight, epsilon=NANO):
    noise = RecordedNoise()
    with replaced_noise(noise):
        generalized_exponential_mechanism(statistics, sensitivities, weight, epsilon)
    [(scores, scale, negate)] = noise.selections
    assert negate
    assert Fraction(2 * K) / Fraction(scale) <= as_fraction(epsilon)
    return scores


def neighbours(statistics, sensitivities):
    """Every statistic grows by [0, S]: one more row, monotone."""
    for change in itertools.product(*(range(s + 1) for s in sensitivities)):
        yield [g + c for g, c in zip(statistics, change, strict=True)]


def greatest_change(sensitivities, weight, highest):
    worst = 0
    for statistics in itertools.product(range(highest + 1), repeat=len(sensitivities)):
        before = gem_scores(statistics, sensitivities, weight)
        for grown in neighbours(statistics, sensitivities):
            after = gem_scores(grown, sensitivities, weight)
            worst = max(worst, *(abs(a - b) for a, b in zip(before, after, strict=True)))
    return worst


GRIDS = [[1, 2], [2, 3, 5], [1, 2, 3]]
WEIGHTS = [Fraction(10, 7) + 48, Fraction(1, 3), Fraction(0)]


@pytest.mark.heavy
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("sensitivities", GRIDS)
def test_gem_scores_change_by_one_unit(sensitivities, weight):
    """|s - s'| <= 1: integer scores change by at most K (their sensitivity is declared as K + 1); attained."""
    worst = greatest_change(sensitivities, weight, 2)
    assert worst <= K + 1
    if len(sensitivities) > 1 and weight != WEIGHTS[0]:
        assert worst == K


def test_gem_with_too_small_sensitivities_is_caught():
    """Statistics that change by more than declared (scale theta for positive-degree nodes) break the bound."""
    declared, true = [1, 2, 3], [2, 3, 4]
    before = gem_scores([0, 0, 0], declared, Fraction(0))
    worst = max(
        abs(a - b)
        for grown in neighbours([0, 0, 0], true)
        for a, b in zip(before, gem_scores(grown, declared, Fraction(0)), strict=True)
    )
    assert worst > K + 1


def test_gem_without_monotonicity_is_caught():
    """Statistics that may also fall: a difference then changes by S + S', more than the larger of both."""
    before, after = gem_scores([3, 3], [1, 2], Fraction(0)), gem_scores([2, 5], [1, 2], Fraction(0))
    assert max(abs(a - b) for a, b in zip(before, after, strict=True)) > K + 1


def test_gem_scores_by_definition():
    statistics, sensitivities, weight = [3, 5, 6], [2, 3, 5], Fraction(3, 2)
    up = [weight * s - g for g, s in zip(statistics, sensitivities, strict=True)]
    pairs = list(zip(up, sensitivities, strict=True))
    expected = [max((a - b) / max(s, t) for b, t in pairs) for a, s in pairs]
    assert gem_scores(statistics, sensitivities, weight) == [math.floor(K * score) for score in expected]


@exactly
@given(st.integers(2, 10**10), st.integers(1, 2**42), st.integers(100, 10**15), st.integers(100, 10**15))
def test_gem_never_overflows(cap, most, select, answer):
    """Any released cap, any statistic up to 4e12, any share of epsilon from 1e-7 to 1e6: scores fit 64 bits."""
    candidates = power_grid(cap)
    statistics = [min(most, most * theta // cap + 1) for theta in candidates]
    weight = 1 / as_fraction(answer) + 12 / as_fraction(select)
    scores = gem_scores(statistics, [theta + 1 for theta in candidates], weight, select)
    assert all(score in I64 for score in scores)
    assert 0 <= generalized_exponential_mechanism(statistics, candidates, weight, select) < len(candidates)


# -- paper A's quality function -------------------------------------------------------------------------------


def paper_scores(statistics, candidates, low, high, *, answer_epsilon=NANO, epsilon=NANO):
    noise = RecordedNoise()
    with replaced_noise(noise):
        paper_exponential_mechanism(
            statistics,
            candidates,
            low,
            high,
            answer_epsilon=answer_epsilon,
            epsilon=epsilon,
        )
    [(scores, scale, negate)] = noise.selections
    assert not negate
    certified = (2 if low else 1) / Fraction(scale)  # loss per unit of score change
    return scores, certified


@pytest.mark.parametrize("answer_epsilon", [60, 1000, NANO // 3, 10**15])
@pytest.mark.parametrize("epsilon", [60, NANO])
def test_paper_scores_change_by_the_sensitivity(answer_epsilon, epsilon):
    """Edges: each grows by at most its theta <= theta_max; positive-degree nodes move in [-(theta - 1), theta + 1]."""
    candidates = [1, 2, 3]
    for low, high, moves in (
        (0, 3, [range(theta + 1) for theta in candidates]),
        (-4, 4, [range(1 - theta, theta + 2) for theta in candidates]),
    ):
        settings_ = {"answer_epsilon": answer_epsilon, "epsilon": epsilon}
        losses = []
        for statistics in itertools.product((2, 5), repeat=3):
            before, certified = paper_scores(statistics, candidates, low, high, **settings_)
            for move in itertools.product(*moves):
                moved = [a + b for a, b in zip(statistics, move, strict=True)]
                after, _ = paper_scores(moved, candidates, low, high, **settings_)
                worst = max(abs(a - b) for a, b in zip(before, after, strict=True))
                losses.append(certified * worst)
                if not low:
                    assert all(b >= a for a, b in zip(before, after, strict=True))
        assert Fraction(99, 100) * as_fraction(epsilon) < max(losses) <= as_fraction(epsilon)


def test_paper_sensitivity_theta_for_nodes_is_caught():
    """Lemma 2's theta_max for positive-degree nodes: without the common term a hub moves the score by theta_max + 1."""
    before, certified = paper_scores([0, 0, 0], [1, 2, 3], -3, 3)
    after, _ = paper_scores([2, 3, 4], [1, 2, 3], -3, 3)
    assert certified * max(abs(a - b) for a, b in zip(before, after, strict=True)) > 1


@exactly
@given(st.integers(1, 2**40), st.integers(0, 2**46), st.integers(60, 10**15), st.integers(540, 10**15), st.booleans())
def test_paper_scores_never_overflow(cap, most, select, answer, monotone):
    """Shares of epsilon from 1e-6, where `optimized` keeps 0.54 for the answer; a cap beyond any number of rows."""
    candidates = power_grid(cap)
    statistics = [most * theta // cap for theta in candidates]
    low = 0 if monotone else -cap
    scores, _ = paper_scores(statistics, candidates, low, cap, answer_epsilon=answer, epsilon=select)
    assert all(score in I64 for score in scores)
    chosen = paper_exponential_mechanism(statistics, candidates, low, cap, answer_epsilon=answer, epsilon=select)
    assert 0 <= chosen < len(candidates)


def test_sqrt2_is_close():
    assert abs(float(selection._SQRT2) - math.sqrt(2)) < 1e-11


# -- the grid -------------------------------------------------------------------------------------------------


@exactly
@given(st.integers(1, 2**70))
def test_grid(cap):
    grid = power_grid(cap)
    assert grid[-1] == cap
    assert list(grid[:-1]) == [2**k for k in range(80) if 2**k < cap]


def test_smallest_grids():
    assert [power_grid(cap) for cap in (1, 2, 3, 4)] == [(1,), (1, 2), (1, 2, 3), (1, 2, 4)]


def test_the_grid_of_the_paper():
    assert paper_grid(20_000) == (
        *(1, 5, 10, 100, 500, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000, 9_000, 10_000),
        20_000,
    )
    assert paper_grid(500) == (1, 5, 10, 100, 500)
    assert paper_grid(1) == (1,)


# -- what is chosen and paid ----------------------------------------------------------------------------------


def test_the_paper_s_choice_weighs_what_theta_keeps_against_its_noise():
    """sqrt(2) theta / epsilon2 at epsilon2 = 1: theta = 8 must keep 9.9 more pairs than theta = 1 does."""
    with replaced_noise(StubNoise()):
        for kept, chosen in ((9, 0), (10, 1)):
            asked = {"low": 0, "high": 8, "answer_epsilon": NANO, "epsilon": NANO}
            assert paper_exponential_mechanism([20, 20 + kept], [1, 8], **asked) == chosen


@exactly
@given(st.integers(1, 10**12))
def test_rho_of_a_choice_is_an_eighth_of_the_square_rounded_up(epsilon):
    right = as_fraction(epsilon) ** 2 / 8 * PICO
    assert right <= rho_of_choice(epsilon) < right + 1
