"""The exact law of `draw_numbers`: real code on noises that say how likely a given outcome is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product

from dpdb.privacy.noise import replaced_noise
from dpdb.suites.mechanism.capped import CappedPlan, CappedSums, draw_numbers, weight


@cache
def chances_of_choice(scores: tuple[int, ...], scale: float) -> tuple[float, ...]:
    """Return the law of a noisy maximum with exponential noise: permute and flip, in closed form.

    Candidate i wins with q_i times the sum over sets S of others of (-1)^|S| prod q_j / (|S| + 1), q = exp((s - max) /
    scale).
    """
    best = max(scores)
    q = [math.exp((score - best) / scale) for score in scores]
    found = []
    for place in range(len(q)):
        others = [each for other, each in enumerate(q) if other != place]
        terms = (
            math.prod(-each for each, is_in in zip(others, chosen, strict=True) if is_in) / (sum(chosen) + 1)
            for chosen in product((0, 1), repeat=len(others))
        )
        found.append(q[place] * math.fsum(terms))
    return tuple(found)


@cache
def chances_of_gumbel(scores: tuple[int, ...], scale: float) -> tuple[float, ...]:
    """Return the law of a noisy maximum with Gumbel noise: that of the exponential mechanism."""
    best = max(scores)
    q = [math.exp((score - best) / scale) for score in scores]
    return tuple(each / math.fsum(q) for each in q)


def log_laplace(noise: int, scale: float) -> float:
    return math.log(math.tanh(1 / (2 * scale))) - abs(noise) / scale


@cache
def log_gaussian_total(scale: float) -> float:
    return math.log(
        math.fsum(math.exp(-((x / scale) ** 2) / 2) for x in range(-math.ceil(40 * scale), math.ceil(40 * scale) + 1))
    )


def log_gaussian(noise: int, scale: float) -> float:
    return -((noise / scale) ** 2) / 2 - log_gaussian_total(scale)


@dataclass
class Given:
    """Noise that makes given outcomes, and adds up the logarithms of their probabilities."""

    choice: int = 0
    values: list[int] = field(default_factory=list)  # of the published numbers, in the order of the draws
    exact: list[int] = field(default_factory=list)  # what is added to draws of noise alone
    log: float = 0.0

    def noisy_extreme(self, scores: Sequence[int], scale: float, *, negate: bool) -> int:
        assert not negate
        self.log += math.log(chances_of_choice(tuple(scores), scale)[self.choice])
        return self.choice

    def gumbel_max(self, scores: Sequence[int], scale: float) -> int:
        self.log += math.log(chances_of_gumbel(tuple(scores), scale)[self.choice])
        return self.choice

    def laplace(self, value: int, scale: float) -> int:
        return self._noise(value, scale, log_laplace)

    def gaussian(self, value: int, scale: float) -> int:
        return self._noise(value, scale, log_gaussian)

    def _noise(self, value, scale, log):
        wanted = self.values.pop(0)
        exact = self.exact.pop(0) if value == 0 and self.exact else value
        self.log += log(wanted - exact, scale)
        return wanted - (exact - value)


def sums_of(units: Sequence[Sequence[int]]) -> CappedSums:
    """Return what a scan of these units gives."""
    tops: dict[int, int] = {}
    counts: list[dict[int, int]] = [{} for _ in units[0]]
    for told in units:
        a = sum(told)
        if a:
            tops[a] = tops.get(a, 0) + max(told)
            for count, v in zip(counts, told, strict=True):
                count[a] = count.get(a, 0) + v
    return CappedSums(tops, counts)


def capped_of(units: Sequence[Sequence[int]], most: int) -> list[int]:
    """Return g in steps, unit by unit."""
    return [sum(weight(most, sum(told)) * told[i] for told in units if sum(told)) for i in range(len(units[0]))]


def log_chance(
    plan: CappedPlan,
    units: Sequence[Sequence[int]],
    choice: int,
    lost: int,
    values: Sequence[int],
    *,
    others: Sequence[int] = (),
    rows: Sequence[int] = (),
    row_values: Sequence[int] = (),
) -> float:
    """Return the logarithm of the probability that exactly these numbers are published."""
    most = plan.candidates[choice]
    drawn = [*([] if plan.caps_nothing(most) else [lost]), *values, *row_values]
    noise = Given(choice, drawn)
    sums = sums_of(units) if plan.count else CappedSums({}, [])
    exact = [*(capped_of(units, most) if plan.count else ()), *others, *rows]
    if plan.caps_nothing(most):
        noise.exact = exact
    else:
        noise.exact = exact  # the draw of J_k gives its value; those of the numbers are of noise alone
        if sums.lost(most) == 0:
            noise.exact = [0, *exact]
    with replaced_noise(noise):
        cells = [(0, i) for i in range(plan.count + len(others))]
        found = draw_numbers(plan, sums, cells, 1, others=others, rows=rows)
    assert found.most == most
    assert found.values == tuple(values)
    assert found.rows == tuple(row_values)
    assert found.lost == (None if plan.caps_nothing(most) else lost)
    return noise.log


def outcomes(plan: CappedPlan, steps: Sequence[int]) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Yield choices of k with J_k and numbers of a grid."""
    for choice, most in enumerate(plan.candidates):
        for lost in steps if not plan.caps_nothing(most) else (0,):
            for values in product(steps, repeat=plan.count):
                yield choice, lost, values
