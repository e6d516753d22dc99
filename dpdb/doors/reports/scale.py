"""Axes: round numbers for values, dates for times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

__all__ = ["Axis", "compact", "time_labels", "value_axis"]

_FAR_FROM_ZERO = 0.6
_SMALLEST = 1e-6
_SHORTEST = 0.01  # of an axis, as a share of its values: labels of 4 digits stay different


@dataclass(frozen=True)
class Axis:
    """From `low` to `high`, with marks at round numbers."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def place(self, value: float) -> float:
        """Return where a value lies, from 0 (low) to 1 (high)."""
        return (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)


def value_axis(lowest: float, highest: float, marks: int = 4) -> Axis:
    """Return an axis from 0, or from a round number below the values where 0 would press them all together.

    Parameters
    ----------
    lowest, highest
        The range of values that the axis must show.
    marks
        Number of steps to aim for; round numbers may make fewer.
    """
    highest = highest if highest > _SMALLEST else 1.0
    start = lowest if lowest > _FAR_FROM_ZERO * highest else 0.0
    span = max(highest - start, _SHORTEST * highest)
    step = _round_step(span / marks)
    low = max(0.0, math.floor((start - 0.1 * span) / step) * step) if start else 0.0
    count = max(1, math.ceil((highest - low) / step))
    while low + step * count < highest:  # by a rounding error
        count += 1
    ticks = tuple(low + step * number for number in range(count + 1))
    return Axis(low, ticks[-1], ticks)


def _round_step(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * factor for factor in (1, 2, 5, 10) if step <= power * factor * 1.0000001)


def compact(value: float, *, share: bool = False) -> str:
    """Return a number of an axis as text: 15,000, 250k, 1.2M; 5% for a share."""
    if share:
        return f"{value * 100:.4g}%"
    for size, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= max(size, 1e5):
            return f"{value / size:.5g}{suffix}"
    return f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"


def time_labels(times: Sequence[datetime], most: int = 4) -> list[tuple[float, str]]:
    """Return the marks of a time axis: places from 0 to 1 with dates, or with hours if all lie within a day."""
    first, last = min(times), max(times)
    length = (last - first).total_seconds()
    if not length:
        return [(0.5, f"{first:%Y-%m-%d}")]
    days = length / 86400
    pattern = "%Y-%m-%d" if days > 1 else "%H:%M"
    marks = min(most, len(times), max(2, int(days) + 1) if days > 1 else most)
    places = [number / (marks - 1) for number in range(marks)]
    return [(place, f"{first + (last - first) * place:{pattern}}") for place in places]
