"""How far one row moves the scores of `marginal_choice`: the real function, exhaustively on small statistics."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st
from recorded_noise import RecordedNoise

from dpdb.privacy.epsilon import NANO, as_fraction
from dpdb.privacy.noise import replaced_noise
from dpdb.privacy.selection import marginal_choice, thirds_grid

K = 65_536
exactly = settings(derandomize=True, deadline=None, max_examples=200)


def asked(statistics, sensitivities, price=Fraction(1), epsilon=NANO):
    """The scores, and how far apart OpenDP lets two of them move at `epsilon`."""
    noise = RecordedNoise()
    with replaced_noise(noise):
        marginal_choice(statistics, sensitivities, price, epsilon)
    [(scores, scale, negate)] = noise.selections
    assert negate
    return scores, Fraction(scale) * as_fraction(epsilon)


VALUES = (0, 1, 2, 40)  # the last one lets each candidate be the best of some other


def spreads(sensitivities, moves, price=Fraction(1)):
    """For every small statistic and every move of one row: greatest minus least change of a score."""
    for statistics in itertools.product(VALUES, repeat=len(sensitivities)):
        before, allowed = asked(statistics, sensitivities, price)
        for move in itertools.product(*moves):
            moved = [g + change for g, change in zip(statistics, move, strict=True)]
            changes = [b - a for a, b in zip(before, asked(moved, sensitivities, price)[0], strict=True)]
            yield max(changes) - min(changes), allowed


GRIDS = [[1, 3], [2, 4], [1, 2, 6], [2, 3, 7]]


def greatest(sensitivities, moves, price=Fraction(1)):
    return max(Fraction(spread) / allowed for spread, allowed in spreads(sensitivities, moves, price))


@pytest.mark.heavy
@pytest.mark.parametrize("price", [Fraction(0), Fraction(17, 10)])
@pytest.mark.parametrize("sensitivities", GRIDS)
def test_scores_move_together_within_what_is_declared(sensitivities, price):
    """One row: each statistic grows by 0 to S. Attained up to the two units for flooring."""
    worst = greatest(sensitivities, [range(s + 1) for s in sensitivities], price=price)
    ratio = max(Fraction(s, t) for s, t in itertools.pairwise(sensitivities))
    assert worst <= 1
    if len(sensitivities) > 2:  # with two candidates, the last one's score is constant
        assert worst > (1 + ratio - Fraction(1, 100)) / (1 + ratio)


def test_a_statistic_that_moves_by_more_is_caught():
    """Scale theta for positive-degree nodes, which move by theta + 1 and may fall."""
    assert greatest([1, 2, 6], [range(3), range(4), range(8)]) > 1
    assert greatest([1, 2, 6], [range(-1, 2), range(-2, 3), range(-6, 7)]) > 1


def test_scores_by_definition():
    scores, _ = asked([3, 9, 12, 12], [1, 3, 9, 27], Fraction(1, 2), NANO // 4)
    toll = 2  # price / epsilon
    gains = [max(Fraction(6, 3), Fraction(9, 9), Fraction(9, 27)), Fraction(3, 9), 0, 0]
    assert scores == [math.floor(K * gain) + math.floor(K * toll * math.log2(3**i)) for i, gain in enumerate(gains)]


def test_a_statistic_that_falls_with_theta_has_no_negative_gain():
    assert asked([5, 3], [1, 3], Fraction(0))[0] == [0, 0]


@exactly
@given(st.integers(1, 2**62), st.integers(60, 10**15))
def test_scores_fit_64_bits(cap, epsilon):
    """Any released cap, any share of epsilon; a statistic is at most theta times 2^32 rows."""
    grid = thirds_grid(cap)
    scores, _ = asked([theta << 32 for theta in grid], grid, Fraction(17, 10), epsilon)
    assert all(abs(score) < 2**63 for score in scores)
    assert 0 <= marginal_choice([0] * len(grid), grid, Fraction(17, 10), epsilon) < len(grid)


@exactly
@given(st.integers(1, 2**70))
def test_grid(cap):
    grid = thirds_grid(cap)
    assert grid[-1] == cap
    assert 1 <= grid[0] <= 2
    assert all(3 * small <= large < 3 * (small + 1) for small, large in itertools.pairwise(grid))
