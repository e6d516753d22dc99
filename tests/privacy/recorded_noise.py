"""Noise sources for tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class RecordedNoise:
    """Adds nothing, takes the first index, remembers what it was asked."""

    laplaces: list[tuple[int, float]] = field(default_factory=list)
    gaussians: list[tuple[int, float]] = field(default_factory=list)
    selections: list[tuple[list[int], float, bool]] = field(default_factory=list)

    def laplace(self, value: int, scale: float) -> int:
        self.laplaces.append((value, scale))
        return value

    def gaussian(self, value: int, scale: float) -> int:
        self.gaussians.append((value, scale))
        return value

    def noisy_extreme(self, scores: Sequence[int], scale: float, *, negate: bool) -> int:
        self.selections.append((list(scores), scale, negate))
        return 0
