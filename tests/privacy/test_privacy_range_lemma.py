"""Exact loss of `noisy_max` by the range of changes: rational arithmetic on an enumerable noise, and on OpenDP's law.

A loss is counted in steps: q = exp(-1 / scale) is written as 1/2, so that a ratio of 2^k is k / scale; the noise may
lose epsilon * scale steps, with the scale that the real code hands to the source.
"""

import itertools
import math
from fractions import Fraction
from functools import cache

import pytest
from recorded_noise import RecordedNoise

from dpdb.privacy import noise as randomness
from dpdb.privacy.epsilon import NANO, as_fraction
from dpdb.privacy.noise import noisy_max, replaced_noise

EPSILON = NANO // 2
RANGES = [((0, 1), 0, 1), ((-1, 0, 3), -1, 3), ((-1, 0, 1), -1, 1)]
Q = Fraction(1, 2)


class Lattice:
    """Noise on 0, 1, 2, ... with Pr[X >= x] = q^x, all of whose values are enumerated; ties go to the first index."""

    def __init__(self):
        self.asked = []

    def noisy_extreme(self, scores, scale, *, negate):
        assert not negate
        self.asked.append((tuple(scores), scale))
        return 0


@cache
def lattice_law(scores):
    """Pr[i wins] of score + X, ties by index: sums over the winner's noise, the tail in closed form.

    From the noise `end` on, every other score's chance to stay below differs from 1 by a sum of powers of q; the
    product's mean is expanded, so the sum over all noises is exact.
    """
    law = []
    for i, own in enumerate(scores):
        others = [(own - s, 0 if i < j else 1) for j, s in enumerate(scores) if j != i]
        end = max(0, *(strict - lead for lead, strict in others))
        total = Fraction(0)
        # Beyond `end`: product over j of (1 - q^(x + lead + 1 - strict)), expanded; sum of (1 - q) q^x q^(r x).
        for chosen in itertools.product((0, 1), repeat=len(others)):
            r, shift = (
                sum(chosen),
                sum((lead + 1 - strict) for taken, (lead, strict) in zip(chosen, others, strict=True) if taken),
            )
            total += (-1) ** r * (1 - Q) * Q**shift * Q ** ((r + 1) * end) / (1 - Q ** (r + 1))
        for x in range(end):
            term = (1 - Q) * Q**x
            for lead, strict in others:
                d = x + lead - strict
                term *= 1 - Q ** (d + 1) if d >= 0 else 0
            total += term
        law.append(total)
    assert sum(law) == 1
    return law


@cache
def continuous_law(scores):
    """Pr[i wins] of OpenDP's noise, which is permute-and-flip (test_privacy_noisy_extremes samples it)."""
    take = [Q ** (max(scores) - s) for s in scores]
    law = [Fraction(0)] * len(scores)
    for order in itertools.permutations(range(len(scores))):
        left = Fraction(1, math.factorial(len(scores)))
        for i in order:
            law[i] += left * take[i]
            left *= 1 - take[i]
    assert sum(law) == 1
    return law


def asked_scale(low, high):
    noise = Lattice()
    with replaced_noise(noise):
        noisy_max([0, 0, 0], low, high, EPSILON)
    [(scores, scale)] = noise.asked
    assert scores == (0, 0, 0)
    return scale


def worst_ratio(law, changes):
    """Greatest ratio of probabilities, either way, of 3 candidates: every score up to 4, every change."""
    worst = Fraction(1)
    for scores in itertools.product(range(5), repeat=3):
        if min(scores):
            continue  # a number added to all changes nothing
        for change in itertools.product(changes, repeat=3):
            moved = [s + c for s, c in zip(scores, change, strict=True)]
            after = law(tuple(s - min(moved) for s in moved))
            for p, q in zip(law(scores), after, strict=True):
                worst = max(worst, p / q, q / p)
    return worst


@pytest.mark.parametrize("law", [lattice_law, continuous_law])
@pytest.mark.parametrize(("changes", "low", "high"), RANGES)
def test_the_loss_is_epsilon_and_attained(law, changes, low, high):
    steps = as_fraction(EPSILON) * Fraction(asked_scale(low, high))
    assert steps == high - low
    assert worst_ratio(law, changes) == 2 ** (high - low)


@pytest.mark.parametrize("law", [lattice_law, continuous_law])
@pytest.mark.parametrize(("changes", "low", "high"), RANGES[1:])
@pytest.mark.parametrize("wrong", [(0, 1), (-1, 0), (0, 3)])
def test_a_range_that_is_too_small_is_caught(law, changes, low, high, wrong):
    """Scale 1/epsilon at range 2 or 4, which is also what the flag `monotonic` gave, and the greatest change alone."""
    if wrong[1] - wrong[0] >= high - low:
        wrong = (0, high)
    steps = as_fraction(EPSILON) * Fraction(asked_scale(*wrong))
    assert worst_ratio(law, changes) > 2**steps


def test_one_score_alone_and_the_law_of_equal_ones():
    assert noisy_max([5], 0, 1, EPSILON) == 0
    assert continuous_law((2, 2, 2)) == [Fraction(1, 3)] * 3
    assert lattice_law((1, 0)) == [Fraction(5, 6), Fraction(1, 6)]  # Pr[X < Y - 1] = q^2 / (1 + q)


def test_the_sampler_is_told_that_a_range_is_one_sided():
    """OpenDP certifies exactly the width, no more and no less, at the scale that the real code asks for."""
    noise = RecordedNoise()
    with replaced_noise(noise):
        noisy_max([1, 2], -1, 3, EPSILON)
    [(_, scale, _)] = noise.selections
    assert randomness._noisy_max(scale, False).map(4) == 0.5
    assert randomness._noisy_max(scale, False).map(5) > 0.5
