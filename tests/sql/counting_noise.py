"""Noise that adds nothing and counts its draws."""

from __future__ import annotations

from collections.abc import Sequence


class CountingNoise:
    """Adds nothing, takes the best score."""

    def __init__(self) -> None:
        self.draws = 0

    def laplace(self, value: int, scale: float) -> int:
        self.draws += 1
        return value

    def noisy_extreme(self, scores: Sequence[int], scale: float, *, negate: bool) -> int:
        self.draws += 1
        return scores.index(min(scores) if negate else max(scores))
