"""Noise that tests can count, or that does something when drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence


class StubNoise:
    """Adds nothing, takes the best score, counts draws and calls `on_draw` before each."""

    def __init__(self, on_draw: Callable[[], None] = lambda: None) -> None:
        self.draws = 0
        self._on_draw = on_draw

    def laplace(self, value: int, scale: float) -> int:
        self._drawn()
        return value

    def gaussian(self, value: int, scale: float) -> int:
        self._drawn()
        return value

    def noisy_extreme(self, scores: Sequence[int], scale: float, *, negate: bool) -> int:
        self._drawn()
        return scores.index(min(scores) if negate else max(scores))

    def gumbel_max(self, scores: Sequence[int], scale: float) -> int:
        self._drawn()
        return scores.index(max(scores))

    def _drawn(self) -> None:
        self.draws += 1
        self._on_draw()
