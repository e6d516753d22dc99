"""Exact joint loss of a `Ladder` between two graphs, through its real code.

Cap, guard, index and reference are scripted, so that both graphs take the same path; what stays hidden is recorded at
`height_above` and `climb` and summed over all noise by the law of tests/privacy/climbing_law.py. A coarse unit keeps
the sums short; the proof holds for every unit.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from noise_scripts import Draw, Recorder, Script, loss

from dpdb.measures.answer import DegreeCap, GraphStatistics, release_degree_cap
from dpdb.measures.mechanism import Run
from dpdb.measures.mechanisms import ladder
from dpdb.measures.mechanisms.ladder import Ladder
from dpdb.privacy import climbing
from dpdb.privacy.climbing import HiddenNoise
from dpdb.privacy.epsilon import as_fraction, split
from dpdb.privacy.noise import laplace_scale, replaced_noise

sys.path.append(str(Path(__file__).parents[1] / "privacy"))
from climbing_law import Case, Top, accepted, greatest_loss, refused

UNIT = 2


@dataclass
class Trace:
    """What one release asked for on one graph."""

    paid: dict[str, Draw] = field(default_factory=dict)  # cap, guard, index, reference
    top: Top | None = None
    scale: float = 0.0
    numbers: tuple[int, ...] = ()
    thresholds: tuple[int, ...] = ()

    @property
    def case(self) -> Case:
        return Case(self.numbers, self.thresholds, self.scale, self.top)


@contextmanager
def coarse(unit: int = UNIT) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(climbing, "UNIT", unit)
        patch.setattr(ladder, "UNIT", unit)
        yield


def traced(mechanism: Ladder, graph: GraphStatistics, epsilon: int, path: tuple[int, ...], *, accept: bool) -> Trace:
    """Run a release with cap, guard, index and reference as in `path`; the top is accepted or not, as told."""
    cap, guard, index, reference = path
    trace, recorder = Trace(), Recorder(Script((cap,)))

    def draw_hidden_noise(rungs: int, share: int) -> HiddenNoise:
        with replaced_noise(Script(())):
            hidden = climbing.draw_hidden_noise(rungs, share)
        trace.scale = hidden.scale
        return hidden

    def height_above(noisy: int, hidden: HiddenNoise, threshold: int, share: int) -> int:
        assert laplace_scale(climbing.UNIT, share) == hidden.scale, "climb pays for a test with its own epsilon only"
        drawn, own = recorder.draws[-2:]
        assert noisy == own.result, "what is published is what was tested"
        trace.paid["guard"] = drawn
        trace.top = Top(own.value, threshold, own.scale)
        recorder.source = Script((index, reference))
        return 0 if accept else -1

    def climb(start, rungs, thresholds, noise):
        trace.numbers, trace.thresholds = (start, *rungs), tuple(thresholds)
        return 0, start

    with pytest.MonkeyPatch.context() as patch, replaced_noise(recorder):
        for name, fake in (("draw_hidden_noise", draw_hidden_noise), ("height_above", height_above), ("climb", climb)):
            patch.setattr(ladder, name, fake)
        share, rest = split(epsilon, (mechanism.cap, 100 - mechanism.cap))
        released = release_degree_cap(graph, share)
        has_top = mechanism.plan(released, rest).top is not None
        recorder.source = Script((guard, 0) if has_top else (index, reference))
        mechanism.release(Run(graph, rest, 0.05, released))
    trace.paid["cap"] = recorder.draws[0]
    for draw, following in zip(recorder.draws, [*recorder.draws[1:], None], strict=True):
        if draw.kind == "select":
            trace.paid["index"] = draw
            trace.paid |= {} if following is None else {"reference": following}
    return trace


@cache
def laws(case: Case) -> tuple[dict, dict]:
    return refused(case), accepted(case)


@dataclass
class LadderAudit:
    """Worst loss, as a part of epsilon, over pairs of graphs and all given paths."""

    mechanism: Ladder
    epsilon: int
    caps: tuple[int, ...]
    guards: tuple[int, ...] = (0, 3)
    references: tuple[int, ...] = (0, 4)
    worst: float = 0.0
    outcomes: int = 0
    branches: set[str] = field(default_factory=set)
    _traces: dict = field(default_factory=dict)

    def _traced(self, graph, path, accept):
        key = (id(graph), path, accept)
        if key not in self._traces:
            self._traces[key] = traced(self.mechanism, graph, self.epsilon, path, accept=accept), graph
        return self._traces[key][0]

    def _lost(self, loss: float, outcomes: int) -> None:
        self.worst = max(self.worst, loss / float(as_fraction(self.epsilon)))
        self.outcomes += outcomes

    def pair(self, larger: GraphStatistics, smaller: GraphStatistics) -> None:
        for cap, guard in product(self.caps, self.guards):
            top = self._traced(larger, (cap, guard, 0, 0), True).top
            if top:
                self._accepted(*(self._traced(graph, (cap, guard, 0, 0), True) for graph in (larger, smaller)))
            indices = len(self._traced(larger, (cap, guard, 0, 0), False).paid["index"].value)
            for index, reference in product(range(indices), self.references):
                path = (cap, guard, index, reference)
                self._refused(*(self._traced(graph, path, False) for graph in (larger, smaller)))
            if not top:
                break  # the guard is not drawn

    def _accepted(self, one: Trace, other: Trace) -> None:
        assert one.scale == other.scale
        # The start's number is hidden; the law of an accepted top does not read it.
        first, second = (
            laws(Case((0,) * self._draws(trace), (0,) * (self._draws(trace) - 1), trace.scale, trace.top))[1]
            for trace in (one, other)
        )
        paid = sum(loss(one.paid[name], other.paid[name]) for name in ("cap", "guard"))
        self._lost(paid + max(map(abs, greatest_loss(first, second))), len(first))
        self.branches.add("top")

    def _draws(self, trace: Trace) -> int:
        """Of hidden noise: the start's and one for each rung that may be in use."""
        released = release_of(trace.paid["cap"], self.epsilon, self.mechanism)
        return 1 + len(self.mechanism.plan(*released).rungs)

    def _refused(self, one: Trace, other: Trace) -> None:
        assert (one.scale, one.thresholds) == (other.scale, other.thresholds), "what is public must be equal"
        if one.top and other.top:
            assert (one.top.threshold, one.top.scale) == (other.top.threshold, other.top.scale)
        paid = sum(loss(one.paid[name], other.paid[name]) for name in one.paid if name != "index")
        chosen = loss(one.paid["index"], other.paid["index"])
        if one.scale:
            first, second = laws(one.case)[0], laws(other.case)[0]
            low, high = greatest_loss(first, second)
            self._lost(paid + max(abs(chosen + low), abs(chosen + high)), len(first))
            self.branches |= {"start"} | ({"rung"} if any(position for position, _ in first) else set())
        else:  # nothing hidden: the last draw is the answer, recorded after the index
            self._lost(paid + abs(chosen), 1)
            self.branches.add("plain")


def release_of(cap: Draw, epsilon: int, mechanism: Ladder) -> tuple[DegreeCap, int]:
    """The cap as released, and what is left of epsilon."""
    return DegreeCap(max(1, cap.result), cap.scale), split(epsilon, (mechanism.cap, 100 - mechanism.cap))[1]
