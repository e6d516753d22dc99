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
    paper_exponential_mechanism,
    paper_grid,
    rho_of_choice,
)

K = 65_536
exactly = settings(derandomize=True, deadline=None, max_examples=200)
I64 = range(-(2**63), 2**63)


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
    candidates = paper_grid(cap)
    statistics = [most * theta // cap for theta in candidates]
    low = 0 if monotone else -cap
    scores, _ = paper_scores(statistics, candidates, low, cap, answer_epsilon=answer, epsilon=select)
    assert all(score in I64 for score in scores)
    chosen = paper_exponential_mechanism(statistics, candidates, low, cap, answer_epsilon=answer, epsilon=select)
    assert 0 <= chosen < len(candidates)


def test_sqrt2_is_close():
    assert abs(float(selection._SQRT2) - math.sqrt(2)) < 1e-11


# -- the grid -------------------------------------------------------------------------------------------------


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
