"""Report-noisy-max and -min: exact probabilities, and epsilon respected on neighbouring scores.

The sampling tests share a false-alarm rate below 1e-6: each of the fewer than 100 exact binomial tests has 5e-9.
"""

import itertools
import math
from fractions import Fraction

import pytest
from exact_probabilities import is_plausible, permute_and_flip
from recorded_noise import RecordedNoise

from dpdb.privacy import noise as randomness
from dpdb.privacy.epsilon import NANO, as_fraction
from dpdb.privacy.noise import noisy_max, noisy_min, replaced_noise

ALPHA = 5e-9


def recorded_scale(draw) -> float:
    noise = RecordedNoise()
    with replaced_noise(noise):
        draw()
    [(_, scale, _)] = noise.selections
    return scale


def test_the_oracle_on_two_scores():
    """Permute and flip of (0, -d): the worse index wins iff it is visited first and taken."""
    worse = math.exp(-0.75) / 2
    assert permute_and_flip([0, -3], 4.0) == pytest.approx([1 - worse, worse])
    assert permute_and_flip([5, 5, 5], 1.0) == pytest.approx([1 / 3] * 3)
    assert sum(permute_and_flip([0, -1, -4, -2, 0], 1.7)) == pytest.approx(1)


@pytest.mark.parametrize("epsilon", [60, 250, 1000, 7777, NANO // 3, NANO, 10**15])
@pytest.mark.parametrize("sensitivity", [1, 3, 65_537, 2**36])
def test_scales_are_certified_and_minimal(sensitivity, epsilon):
    for draw, width, negate in (
        (lambda: noisy_min([1, 2], sensitivity, epsilon), 2 * sensitivity, True),
        (lambda: noisy_max([1, 2], -sensitivity, sensitivity, epsilon), 2 * sensitivity, False),
        (lambda: noisy_max([1, 2], 0, sensitivity, epsilon), sensitivity, False),
        (lambda: noisy_max([1, 2], -sensitivity, 2 * sensitivity, epsilon), 3 * sensitivity, False),
    ):
        scale = recorded_scale(draw)
        share = as_fraction(epsilon)
        assert Fraction(randomness._noisy_max(scale, negate).map(width)) <= share
        assert Fraction(width) / Fraction(scale) <= share
        assert Fraction(scale) <= Fraction(width) / share * (1 + Fraction(4, 2**52))


def test_flags_that_reach_the_sampler():
    noise = RecordedNoise()
    with replaced_noise(noise):
        noisy_min([3, 1], 1, NANO)
        noisy_max([3, 1], 0, 1, NANO)
    assert [negate for _, _, negate in noise.selections] == [True, False]


def test_the_old_sensitivity_certifies_the_same_scale():
    """OpenDP's own rule for scores that go up and down (twice the change, not monotone) is the range lemma's."""
    dp = randomness._opendp()
    for scale in (0.3, 2.0, 1e7):
        both_ways = dp.measurements.make_noisy_max(
            dp.domains.vector_domain(dp.domains.atom_domain(T="i64")),
            dp.metrics.linf_distance(T="i64", monotonic=False),
            dp.measures.max_divergence(),
            scale=scale,
        )
        for change in (1, 3, 65_537):
            assert both_ways.map(change) == randomness._noisy_max(scale, False).map(2 * change)


@pytest.mark.parametrize(("low", "high"), [(0, 0), (1, 2), (-2, -1), (2, 1)])
def test_no_range_without_the_unchanged_score(low, high):
    with pytest.raises(AssertionError):
        noisy_max([1, 2], low, high, NANO)


def failures(picks: list[int], probabilities: list[float]) -> int:
    return sum(not is_plausible(picks.count(i), len(picks), p, ALPHA) for i, p in enumerate(probabilities))


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("scores", "trials"),
    [
        ((0, 1, 3), 2_000),
        ((4, 2), 2_000),
        pytest.param((0, 1, 3), 100_000, marks=pytest.mark.slow),
        pytest.param((9, 4, 4, 7, 8), 100_000, marks=pytest.mark.slow),
    ],
)
def test_probabilities(scores, trials):
    """epsilon 1, sensitivity 1: scale 2, or 1 if monotone."""
    smallest = [noisy_min(scores, 1, NANO) for _ in range(trials)]
    largest = [noisy_max(scores, -1, 1, NANO) for _ in range(trials)]
    monotone = [noisy_max(scores, 0, 1, NANO) for _ in range(trials)]
    negated = [-score for score in scores]
    assert failures(smallest, permute_and_flip(negated, 2.0)) == 0
    assert failures(largest, permute_and_flip(scores, 2.0)) == 0
    assert failures(monotone, permute_and_flip(scores, 1.0)) == 0
    # The same checker notices half the noise, the exponential mechanism, and the wrong direction.
    assert failures(smallest, permute_and_flip(negated, 1.0)) > 0
    assert failures(largest, permute_and_flip(scores, 1.0)) > 0
    weights = [math.exp(score / 2) for score in scores]
    assert failures(largest, [weight / sum(weights) for weight in weights]) > 0
    assert failures(smallest, permute_and_flip(scores, 2.0)) > 0


SHIFTS = (-1, 0, 1)


def worst_loss(scale: float, shifts: tuple[int, ...]) -> float:
    """Greatest exact log ratio over score vectors and their neighbours by the given changes."""
    worst = 0.0
    for scores in itertools.product(range(4), repeat=3):
        before = permute_and_flip(scores, scale)
        for change in itertools.product(shifts, repeat=3):
            after = permute_and_flip([a + b for a, b in zip(scores, change, strict=True)], scale)
            worst = max(worst, *(abs(math.log(p / q)) for p, q in zip(before, after, strict=True)))
    return worst


def test_epsilon_holds_on_neighbouring_scores():
    """Exact, through the scales that the module chooses; 27 changes of each of 64 score vectors."""
    general = recorded_scale(lambda: noisy_max([0], -1, 1, NANO))
    smallest = recorded_scale(lambda: noisy_min([0], 1, NANO))
    monotone = recorded_scale(lambda: noisy_max([0], 0, 1, NANO))
    assert 0.9 < worst_loss(general, SHIFTS) <= 1 + 1e-9
    assert 0.9 < worst_loss(smallest, SHIFTS) <= 1 + 1e-9
    assert 0.9 < worst_loss(monotone, (0, 1)) <= 1 + 1e-9
    # The wrong range: scores that are not monotone with the noise of monotone ones.
    assert worst_loss(monotone, SHIFTS) > 1.5
