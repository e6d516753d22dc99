"""`ladder` computes a statistic only where bounds of it do not decide: its answers are those of the statistic."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from measures.small_graphs import SmallGraph, star

from dpdb.measures.answer import DegreeCap
from dpdb.measures.mechanism import Run
from dpdb.measures.mechanisms.ladder import Bracket
from dpdb.measures.minimal_inconsistency import LADDER as EDGES
from dpdb.measures.problematic import LADDER as ROWS
from dpdb.privacy import NANO
from dpdb.privacy.noise import replaced_noise


class Drawn:
    """Noise of a seed, of the scale that is asked for."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def laplace(self, value: int, scale: float) -> int:
        return value + round(self._random.choice((-1, 1)) * self._random.expovariate(1 / scale))

    def noisy_extreme(self, scores: Sequence[int], scale: float, *, negate: bool) -> int:
        noisy = [(-score if negate else score) + self._random.expovariate(1 / scale) for score in scores]
        return max(range(len(scores)), key=noisy.__getitem__)


class Bounded(SmallGraph):
    """Bounds as loose as `slack` says."""

    slack = 0

    def projected_edges_between(self, theta: int) -> tuple[int, int]:
        [exact] = super().projected_edges([theta])
        return max(0, exact - self.slack), exact + 2 * self.slack

    def witnesses_between(self, theta: int) -> tuple[int, int]:
        [exact] = super().witnesses([theta])
        return max(0, exact - self.slack), exact + 2 * self.slack


HUBS = Bounded(960, tuple((hub, 60 + leaf) for hub in range(60) for leaf in range(900)))
STAR = Bounded(2_000, star(1_999).pairs)


@pytest.mark.heavy
@pytest.mark.parametrize("slack", [1, 300, 20_000])
@pytest.mark.parametrize("mechanism", [EDGES, ROWS], ids=["edges", "rows"])
def test_bounds_change_no_answer(mechanism, slack, monkeypatch):
    branches = set()
    for graph, cap in ((HUBS, 959), (STAR, 1_999), (HUBS, 400)):
        for seed in range(60):
            run = Run(graph, (seed % 4 + 1) * NANO // 2, 0.05, DegreeCap(cap + seed % 3, 3.0))
            answers = []
            for loose in (0, slack):
                monkeypatch.setattr(Bounded, "slack", loose)
                with replaced_noise(Drawn(seed)):
                    answers.append(mechanism.release(run))
            assert answers[0] == answers[1]
            branches.add((answers[0].theta, answers[0].handicaps))
    assert len(branches) > 4


def test_a_bracket_computes_only_where_it_must():
    asked = []

    def compute() -> int:
        asked.append(True)
        return 5

    bracket = Bracket(3, 9, compute)
    assert not bracket.passes(lambda value: value < 3)
    assert bracket.passes(lambda value: value < 10)
    assert not asked
    assert bracket.passes(lambda value: value < 6)
    assert not bracket.passes(lambda value: value < 5)
    assert len(asked) == 2
