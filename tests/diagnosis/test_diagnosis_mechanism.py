"""Exact loss of a diagnosis through the real code, on neighbouring tables; mutants; the figures of the design.

The sampling tests' false-alarm rates stand with them; together they are below 1e-6.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from stub_noise import StubNoise

import dpdb
from dpdb.diagnosis import prepare, prepare as mechanism
from dpdb.diagnosis.plan import chance_of_largest, chance_of_noisy_max
from dpdb.diagnosis.prepare import Lattice, joint_tail, name_rule, name_worst, noisy_slices
from dpdb.privacy import NANO, as_fraction, laplace_scale
from dpdb.privacy.noise import _extreme_scale, replaced_noise

HALF = NANO // 2
LATTICES = [Lattice(1), Lattice(2), Lattice(1, Fraction(1, 100)), Lattice(2, Fraction(2, 3))]


# -- scores -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lattice", LATTICES)
def test_one_row_changes_a_score_from_low_to_high(lattice):
    changes = {
        lattice.score(parts + more, rows + 1) - lattice.score(parts, rows)
        for parts in range(4) for rows in range(4) for more in range(lattice.parts + 1)
    }  # fmt: skip
    assert (min(changes), max(changes)) == (lattice.low, lattice.high)
    assert lattice.high - lattice.low == lattice.row
    assert lattice.greatest == max(map(abs, changes))


def test_bounds_are_rounded_outwards():
    lattice = Lattice(2, Fraction(1, 3))
    assert [lattice.at_least(steps) for steps in (-1, 0, 1, 3, 6, 7)] == [-0.5, 0, 0, 0.5, 1, 1]
    assert [lattice.at_most(steps) for steps in (-1, 0, 1, 3, 6, 7)] == [0, 0, 0.5, 0.5, 1, 1.5]


# -- the loss of a whole diagnosis -------------------------------------------------------------------------------


class Asked:
    """What the mechanisms were asked; the first of two steps always names the same slice, so that both tables go on."""

    def __init__(self, monkeypatch, named):
        self.named = named
        self.calls: list[tuple] = []
        for name in ("name_worst", "noisy_slices", "name_rule"):
            monkeypatch.setattr(prepare, name, self._kept(name, getattr(mechanism, name)))

    def _kept(self, name, real):
        def call(scores, scale_of, epsilon):
            self.calls.append((name, tuple(scores), scale_of, epsilon))
            return self.named if name == "name_worst" else real(scores, scale_of, epsilon)

        return call


def permute_and_flip(scores: Sequence[int], scale: float) -> list[float]:
    take = [math.exp((score - max(scores)) / scale) for score in scores]
    law = [0.0] * len(scores)
    for order in itertools.permutations(range(len(scores))):
        left = 1 / math.factorial(len(scores))
        for i in order:
            law[i] += left * take[i]
            left *= 1 - take[i]
    return law


def loss(call: tuple, other: tuple) -> float:
    """Greatest loss of one mechanism between two tables."""
    name, scores, scale_of, epsilon = call
    assert (name, len(scores), scale_of, epsilon) == (other[0], len(other[1]), *other[2:]), "public things differ"
    if name == "noisy_slices":
        scale = laplace_scale(scale_of.greatest, epsilon)
        return sum(abs(a - b) for a, b in zip(scores, other[1], strict=True)) / scale
    if name == "name_worst":
        scale = _extreme_scale(scale_of.row, epsilon, False)
        laws = permute_and_flip(scores, scale), permute_and_flip(other[1], scale)
        return max(abs(math.log(p / q)) for p, q in zip(*laws, strict=True))
    # `test_one_noise_decides...` proves that the winner's noise moves at most as far as the changes are apart.
    changes = [b - a for a, b in zip(scores, other[1], strict=True)]
    return max(0, *changes, max(changes) - min(changes), -min(changes)) / laplace_scale(scale_of, epsilon)


ROWS = list(itertools.product((0, 1), (0, 1), ("a", "b", "other"), ("x", "y")))
RULES = {
    "closed": ["z -> c", "not(t1.c = 1 and t1.z = 1)"],
    "cover": ["z -> c", "k -> c"],
}


def calls_of(monkeypatch, rows, constraints, *, named=0, **options):
    with monkeypatch.context() as patch:
        asked = Asked(patch, named)
        columns = list(zip(*rows, strict=True)) if rows else [[], [], [], []]
        types = [pa.int64(), pa.int64(), pa.string(), pa.string()]
        table = pa.table({n: pa.array(c, t) for n, c, t in zip("zcks", columns, types, strict=True)})
        with dpdb.open(table, constraints=constraints) as session, replaced_noise(StubNoise()):
            session.diagnose(epsilon=1, **options)
        return asked.calls


def neighbours(count: int, seed: int):
    dice = random.Random(seed)
    for _ in range(count):
        rows = [dice.choice(ROWS) for _ in range(dice.randrange(0, 6))]
        yield rows, [*rows, dice.choice(ROWS)]


@pytest.mark.heavy(family="loss")
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("cases", [12, pytest.param(400, marks=pytest.mark.slow)])
def test_the_whole_loss_is_at_most_epsilon(monkeypatch, rules, cases):
    """Every question together, on one row more: one column and two, counts and excess, with rules and without."""
    slices = {"by": ["k", "s"], "keys": [["a", "b", "none"], ["x", "y"]]}
    asks = [
        {"by": "k", "keys": ["a", "b", "none"]},
        slices | {"expected": "25%", "rules": True},
        {"rules": True},
        slices | {"where": "z = 0"},
    ]
    worst = 0.0
    for place, (before, after) in enumerate(neighbours(cases, len(rules))):
        ask = asks[place % len(asks)]
        named = place // len(asks) % 2 * 4  # a slice of k, then one of s
        calls = [calls_of(monkeypatch, rows, RULES[rules], named=named, **ask) for rows in (before, after)]
        total = sum(loss(*pair) for pair in zip(*calls, strict=True))
        assert total <= 1 + 1e-9
        worst = max(worst, total)
    assert worst > 0.5  # else nothing was tested


@pytest.mark.heavy(family="loss")
@pytest.mark.parametrize("cases", [16, pytest.param(400, marks=pytest.mark.slow)])
def test_the_whole_loss_in_bits_is_at_most_epsilon(monkeypatch, cases):
    """Decisions to clean: of slices of one column and two, beside a rule on one row, and of rules beside rules."""
    slices = {"by": ["k", "s"], "keys": [["a", "b", "none"], ["x", "y"]]}
    alone = RULES["closed"]
    asks = [
        (["z -> c"], {"by": "k", "keys": ["a", "b", "none"]}),
        (alone, slices),
        (["z -> c", "k -> c", "UNIQUE(k)"], {"rules": True}),
        (alone, slices | {"where": "z = 0"}),
    ]
    worst = 0.0
    for place, (before, after) in enumerate(neighbours(cases, 5)):
        rules, ask = asks[place % len(asks)]
        named = place // len(asks) % 2 * 4
        ask = ask | {"measure": "maximal_consistency"}
        calls = [calls_of(monkeypatch, rows, rules, named=named, **ask) for rows in (before, after)]
        total = sum(loss(*pair) for pair in zip(*calls, strict=True))
        assert total <= 1 + 1e-9
        worst = max(worst, total)
    assert worst > 0.4  # else nothing was tested: two columns have halves of epsilon


@pytest.mark.heavy(family="long")
def test_slices_attain_epsilon_whatever_their_number(monkeypatch):
    """One dirty row more: exactly epsilon. A mutant with epsilon / m per key would spend less, one per key times m."""
    base = [(0, 0, "a", "x"), (0, 0, "a", "x")]
    for keys in (["a", "b"], ["a", "b", *map(str, range(48))]):
        calls = [
            calls_of(monkeypatch, rows, ["z -> c"], by="k", keys=keys) for rows in (base, [*base, (0, 1, "a", "x")])
        ]
        [[(_, scores, lattice, epsilon)], _] = calls
        assert len(scores) == len(keys)
        assert epsilon == NANO
        assert loss(calls[0][0], calls[1][0]) == pytest.approx(1)
        assert laplace_scale(lattice.greatest, epsilon) == 1.0


@pytest.mark.heavy(family="long")
def test_the_candidates_are_the_public_keys(monkeypatch):
    """A key that no row has is scored and gets noise; a mutant that takes only the keys of rows is caught by this."""
    few = calls_of(monkeypatch, [(0, 0, "a", "x")], ["z -> c"], by="k", keys=["a", "b", "none"])
    none = calls_of(monkeypatch, [], ["z -> c"], by="k", keys=["a", "b", "none"])
    [(_, scores, *_)], [(_, empty, *_)] = few, none
    assert scores == empty == (0, 0, 0)
    noise = StubNoise()
    with replaced_noise(noise):
        noisy_slices(empty, Lattice(1), HALF)
    assert noise.draws == 3


# -- which rule, and its lead ------------------------------------------------------------------------------------


class Scripted:
    def __init__(self, numbers):
        self.numbers = list(numbers)

    def laplace(self, value, scale):
        del scale
        return value + self.numbers.pop(0)


WINDOW = range(-3, 4)


def deciding_noise(name, counts):
    """Of each outcome and noises of the others: the winner's noises within the window that lead to it."""
    found: dict[tuple, list[int]] = {}
    for noises in itertools.product(WINDOW, repeat=len(counts)):
        with replaced_noise(Scripted(noises)):
            index, lead = name(counts, 1, HALF)
        others = (*noises[:index], None, *noises[index + 1 :])
        found.setdefault((index, lead, others), []).append(noises[index])
    return found


def worst_move(name) -> int | None:
    """How far the winner's noise moves at most between neighbours; None if an outcome is lost."""
    laws = {counts: deciding_noise(name, counts) for counts in itertools.product(range(4), repeat=3)}
    worst = 0
    for counts in itertools.product(range(3), repeat=3):
        for change in itertools.product((0, 1), repeat=3):
            after = laws[tuple(a + b for a, b in zip(counts, change, strict=True))]
            for here, there in ((laws[counts], after), (after, laws[counts])):
                for outcome, [noise, *more] in here.items():
                    if more:
                        return None
                    if abs(noise) == WINDOW[-1] or not outcome[1] >= 0:
                        continue
                    if outcome not in there:
                        return None
                    worst = max(worst, *(abs(noise - other) for other in there[outcome]))
    return worst


@pytest.mark.heavy(family="long")
def test_one_noise_decides_an_outcome_and_moves_by_the_range():
    """The proof of `name_rule` step by step, through the real code: 3 rules, changes {0, 1}, both directions."""
    assert worst_move(name_rule) == 1


@pytest.mark.heavy(family="long")
def test_the_plain_gap_is_caught():
    """The difference of the noisy counts, 0 for ties that go by index: some outcomes are lost on a neighbour."""

    def plain(counts, parts, epsilon):
        noisy = [c + n for c, n in zip(counts, mechanism.discrete_laplaces(3, parts, epsilon), strict=True)]
        best = max(range(3), key=noisy.__getitem__)
        return best, noisy[best] - max(v for place, v in enumerate(noisy) if place != best)

    assert worst_move(plain) is None


def test_the_lead_is_the_difference_or_one_less():
    for counts in itertools.product(range(5), repeat=3):
        with replaced_noise(StubNoise()):
            index, lead = name_rule(counts, 1, HALF)
        difference = counts[index] - max(c for place, c in enumerate(counts) if place != index)
        assert counts[index] == max(counts)
        assert difference - 1 <= lead <= difference


# -- bounds and figures -------------------------------------------------------------------------------------------


def test_all_bounds_hold_together():
    """500 draws of 50 slices at 90%: misses within 6 standard deviations of what is allowed, and not none."""
    lattice, misses = Lattice(1), 0
    width = joint_tail(50, lattice.greatest, HALF, 0.1)
    for _ in range(500):
        misses += max(map(abs, noisy_slices([0] * 50, lattice, HALF))) > width
    assert 0 < misses <= 50 + 6 * math.sqrt(500 * 0.1 * 0.9)
    assert joint_tail(3, 1, HALF, 0.1) < width


@pytest.mark.heavy(family="long")
def test_one_percent_in_one_of_fifty_slices_is_named_first():
    """100,000 rows, epsilon .5: 20 rows to delete in one. Failures are below .0048: 21 of 1,000 have chance < 1e-7."""
    lattice, scores = Lattice(1), [0] * 50
    scores[31] = 20
    found = sum(int(np.argmax(noisy_slices(scores, lattice, HALF))) == 31 for _ in range(1_000))
    assert found >= 980
    scale = laplace_scale(1, HALF)
    assert chance_of_largest({20: 49}, scale) > 0.994
    assert chance_of_largest({2: 49}, scale) < 0.05


@pytest.mark.parametrize(("lead", "chance"), [(4, 0.0481), (10, 0.208), (20, 0.752), (30, 0.961), (40, 0.9953)])
def test_chances_are_those_of_the_design(lead, chance):
    """Halves of rows, one of 50, epsilon .5."""
    assert chance_of_largest({lead: 49}, laplace_scale(2, HALF)) == pytest.approx(chance, abs=1e-3)


@pytest.mark.heavy(family="long")
def test_chances_are_those_of_the_sampler():
    """The real code on 6 slices of two columns, 1,500 draws each: within 6 standard deviations."""
    lattice, scores = Lattice(1, Fraction(1, 10)), [30, 0, 5, 5, -20, 12]
    leads = {30 - score: 1 for score in scores if score != 30 and score != 5} | {25: 2}
    for picked, chance in (
        (lambda: name_worst(scores, lattice, HALF), chance_of_noisy_max(leads, float(lattice.row / as_fraction(HALF)))),
        (
            lambda: int(np.argmax(noisy_slices(scores, lattice, HALF))),
            chance_of_largest(leads, laplace_scale(lattice.greatest, HALF)),
        ),
    ):
        hits = sum(picked() == 0 for _ in range(1_500))
        assert abs(hits - 1_500 * chance) < 6 * math.sqrt(1_500 * chance * (1 - chance))


def test_excess_finds_what_counts_do_not():
    """Zipf slices of 100,000 rows, background .3%, the smallest (445 rows) at 5%, p = 1%, epsilon .5.

    Its chance is above .998 a draw: fewer than 55 of 60 have chance < 1e-8, and so have 6 of 60 by counts of rows.
    """
    sizes = [round(100_000 / k / sum(1 / j for j in range(1, 51))) for k in range(1, 51)]
    dirt = [round(size * 0.003) for size in sizes]
    dirt[49] = round(sizes[49] * 0.05)
    lattice = Lattice(1, Fraction(1, 100))
    scores = [lattice.score(*each) for each in zip(dirt, sizes, strict=True)]
    leads = dict(Counter(scores[49] - score for score in scores[:49]))
    assert chance_of_largest(leads, laplace_scale(lattice.greatest, HALF)) > 0.998
    assert chance_of_largest(dict(Counter(dirt[49] - rows for rows in dirt[:49])), laplace_scale(1, HALF)) < 0.002
    assert sum(int(np.argmax(noisy_slices(scores, lattice, HALF))) == 49 for _ in range(60)) >= 55
    assert sum(int(np.argmax(noisy_slices(dirt, Lattice(1), HALF))) == 49 for _ in range(60)) <= 5
