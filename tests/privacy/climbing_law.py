"""The exact law of `climb` under `height_above`, by recursion over the handicap, apart from the code under test."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np


@dataclass(frozen=True)
class Top:
    """A noisy number that is tried first: exact units, threshold, scale of its own noise."""

    units: int
    threshold: int
    scale: float


@dataclass(frozen=True)
class Case:
    """What `climb` gets, in units, the scale of all its noise, and the test above it, if any."""

    numbers: tuple[int, ...]  # the start's, then the rungs'
    thresholds: tuple[int, ...]
    scale: float
    top: Top | None = None
    reach: int = 0  # noise beyond it is left out; 0: where less than 1e-13 is left

    @property
    def radius(self) -> int:
        return self.reach or int(30 * max(self.scale, self.top.scale if self.top else 0)) + 1


@cache
def noise(scale: float, radius: int) -> np.ndarray:
    """Probabilities of -radius ... radius."""
    return np.tanh(1 / (2 * scale)) * np.exp(-np.abs(np.arange(-radius, radius + 1)) / scale)


@cache
def handicap(scale: float, radius: int, count: int) -> np.ndarray:
    """Probabilities of 0, 1, ... as the sum of max(0, -n) over so many draws."""
    p = noise(scale, radius)
    one = np.concatenate(([p[radius:].sum()], p[:radius][::-1]))
    total = np.ones(1)
    for _ in range(count):
        total = np.convolve(total, one)
    return total


def refusals(case: Case) -> list[np.ndarray]:
    """F(k, c) for every position k and handicap c: all above it is refused."""
    radius, above = case.radius, len(case.numbers) - 1
    size = radius * (above + 1) + 1
    offsets = np.arange(-radius, radius + 1)
    last = np.ones(size)
    if case.top:
        both = np.convolve(noise(case.top.scale, radius), noise(case.scale, radius))  # of -2 radius ... 2 radius
        below = np.concatenate(([0.0], np.cumsum(both)))  # [i]: noise < i - 2 radius
        bound = case.top.threshold - case.top.units + np.arange(size)
        last = below[np.clip(bound + 2 * radius, 0, len(both))]
    found = [last]
    p = noise(case.scale, radius)
    for k in range(above, 0, -1):
        mine = np.zeros(size - radius * (above - k + 1))
        for c in range(len(mine)):
            refused = case.numbers[k] + offsets - c < case.thresholds[k - 1]
            mine[c] = (p * refused * found[0][c + np.maximum(0, -offsets)]).sum()
        found.insert(0, mine)
    return found


def refused(case: Case) -> dict[tuple[int, int], float]:
    """Probability of each (position, number) together with the refusal of the top."""
    outcomes: dict[tuple[int, int], float] = {}
    radius, p = case.radius, noise(case.scale, case.radius)
    offsets = np.arange(-radius, radius + 1)
    for k, f in enumerate(refusals(case)):
        for c, chance in enumerate(handicap(case.scale, radius, k)):
            together = chance * p * f[c + np.maximum(0, -offsets)]
            for n, probability in zip(offsets.tolist(), together.tolist(), strict=True):
                number = case.numbers[k] + n - c
                if k == 0 or number >= case.thresholds[k - 1]:
                    outcomes[k, number] = outcomes.get((k, number), 0.0) + probability
    return outcomes


def accepted(case: Case) -> dict[int, float]:
    """Probability of each number of an accepted top."""
    if case.top is None:
        return {}
    radius, p = case.radius, noise(case.scale, case.radius)
    total = handicap(case.scale, radius, len(case.numbers))
    margin = np.convolve(p, total[::-1])  # test noise minus handicap, of -radius - (len - 1) ... radius
    at_least = np.concatenate((np.cumsum(margin[::-1])[::-1], [0.0]))
    lowest = -radius - (len(total) - 1)
    own = noise(case.top.scale, radius)
    found = {}
    for n, probability in zip(range(-radius, radius + 1), own.tolist(), strict=True):
        number = case.top.units + n
        needed = case.top.threshold - number
        found[number] = probability * float(at_least[min(max(needed - lowest, 0), len(margin))])
    return found


def greatest_loss(first: dict, second: dict, floor: float = 1e-9) -> tuple[float, float]:
    """Smallest and greatest ln(first / second) of outcomes that are not lost in what was left out."""
    ratios = [np.log(p / second[o]) for o, p in first.items() if p > floor and second.get(o, 0.0) > floor]
    return (min(ratios), max(ratios)) if ratios else (0.0, 0.0)
