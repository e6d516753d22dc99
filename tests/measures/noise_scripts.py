"""Noise sources for tests: scripted ones, and one that records the real noise; exact losses of their draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from inside import OPENDP

from dpdb.privacy.noise import Noise, replaced_noise


@dataclass(frozen=True)
class Draw:
    """One request for noise and what came out."""

    kind: str  # "laplace" or "select"
    value: int | tuple[int, ...]  # the exact number, or the exact scores
    scale: float
    result: int
    negate: bool = False


@dataclass
class Recorder:
    """Passes every request on and remembers it."""

    source: Noise
    draws: list[Draw] = field(default_factory=list)

    def laplace(self, value: int, scale: float) -> int:
        result = self.source.laplace(value, scale)
        self.draws.append(Draw("laplace", value, scale, result))
        return result

    def noisy_extreme(self, scores: Sequence[int], scale: float, *, negate: bool) -> int:
        result = self.source.noisy_extreme(scores, scale, negate=negate)
        self.draws.append(Draw("select", tuple(scores), scale, result, negate))
        return result


class Zero:
    """No noise: values as they are, the best index."""

    def laplace(self, value: int, scale: float) -> int:
        return value

    def noisy_extreme(self, scores: Sequence[int], scale: float, *, negate: bool) -> int:
        best = min(scores) if negate else max(scores)
        return list(scores).index(best)


@dataclass
class Script:
    """Prescribed outputs, in order; after the last one, 0."""

    outputs: Sequence[int]
    position: int = 0
    choices: list[int] = field(default_factory=list)  # number of alternatives at each draw, 0 for numbers

    def _next(self) -> int:
        self.position += 1
        return self.outputs[self.position - 1] if self.position <= len(self.outputs) else 0

    def laplace(self, value: int, scale: float) -> int:
        self.choices.append(0)
        return self._next()

    def noisy_extreme(self, scores: Sequence[int], scale: float, *, negate: bool) -> int:
        self.choices.append(len(scores))
        return self._next()


def recorded(run: Callable[[], Any], source: Noise | None = None) -> tuple[Any, list[Draw]]:
    """Run with the given noise (the real one if None); return its result and all draws."""
    recorder = Recorder(OPENDP() if source is None else source)
    with replaced_noise(recorder):
        result = run()
    return result, recorder.draws


def paths(run: Callable[[], Any], numbers: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    """Every sequence of outputs: all indices of a selection, and the given numbers for the first Laplace draws."""

    def extend(prefix: tuple[int, ...], laplaces: int) -> Iterator[tuple[int, ...]]:
        script = Script(prefix)
        with replaced_noise(script):
            run()
        if len(script.choices) <= len(prefix):
            yield prefix
            return
        alternatives = script.choices[len(prefix)]
        if alternatives:
            following: Sequence[int] = range(alternatives)
        else:
            following, laplaces = (numbers[laplaces] if laplaces < len(numbers) else (0,)), laplaces + 1
        for output in following:
            yield from extend((*prefix, output), laplaces)

    yield from extend((), 0)


@cache
def chances(scores: tuple[int, ...], scale: float, negate: bool) -> tuple[float, ...]:
    """Permute and flip: exact probability of each index (McKenna and Sheldon 2020)."""
    quality = [-score for score in scores] if negate else list(scores)
    take = [math.exp((q - max(quality)) / scale) for q in quality]
    everyone = range(len(scores))

    @cache
    def reach(left: frozenset[int]) -> float:
        if len(left) == len(scores):
            return 1.0
        return sum(reach(left | {i}) / (len(left) + 1) * (1 - take[i]) for i in everyone if i not in left)

    subsets = [frozenset(i for i in everyone if bits >> i & 1) for bits in range(1, 1 << len(scores))]
    return tuple(sum(reach(left) / len(left) * take[i] for left in subsets if i in left) for i in everyone)


def loss(draw: Draw, other: Draw) -> float:
    """Exact privacy loss of one draw between two tables: supremum for a number, signed maximum for an index."""
    assert (draw.kind, draw.scale, draw.negate) == (other.kind, other.scale, other.negate), (
        "what is public must not depend on the table"
    )
    if draw.kind == "laplace":
        return abs(draw.value - other.value) / draw.scale  # type: ignore[operator]
    here, there = (chances(d.value, d.scale, d.negate)[d.result] for d in (draw, other))  # type: ignore[arg-type]
    return math.log(here / there)


def joint_loss(draws: Sequence[Draw], others: Sequence[Draw]) -> float:
    """Greatest loss of a whole path in either direction: numbers take their worst outcome, indices are as drawn."""
    assert len(draws) == len(others)
    numbers = sum(loss(a, b) for a, b in zip(draws, others, strict=True) if a.kind == "laplace")
    indices = sum(loss(a, b) for a, b in zip(draws, others, strict=True) if a.kind == "select")
    return numbers + abs(indices)
