"""Simulated suites with known statistics: the cases of the table of right verdicts, run through the real mechanisms.

A table of 100,000 rows; half of the limits are 0, the others 1,000. The noises are numpy's, of the same laws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from dpdb.privacy import NANO
from dpdb.privacy.noise import replaced_noise
from dpdb.suites import SuitePlan, SuiteState, Tested, draw_secret, plan_suite, run_level, spent, verdicts
from dpdb.suites.check import next_record
from dpdb.suites.mechanism.capped import CappedPlan, CappedSums, draw_numbers
from dpdb.suites.mechanism.worst_first import WorstPlan, WorstState, draw_step, plan_worst_first, worst_verdicts

ROWS = 100_000
KINDS = ("pass", "far1", "far5", "far20", "dozen", "close")


class NumpyNoise:
    """Draws many at once from numpy."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self._drawn: dict[float, list[int]] = {}

    def laplace(self, value: int, scale: float) -> int:
        drawn = self._drawn.get(scale)
        if not drawn:
            p = -math.expm1(-1 / scale)
            drawn = (self.rng.geometric(p, 4096) - self.rng.geometric(p, 4096)).tolist()
            self._drawn[scale] = drawn
        return value + drawn.pop()

    def gaussian(self, value: int, scale: float) -> int:
        return value + round(self.rng.normal(0, scale))

    def noisy_extreme(self, scores: Sequence[int], scale: float, *, negate: bool) -> int:
        assert not negate
        return int(np.argmax(np.array(scores) + self.rng.exponential(scale, len(scores))))

    def gumbel_max(self, scores: Sequence[int], scale: float) -> int:
        return int(np.argmax(np.array(scores) + self.rng.gumbel(0, scale, len(scores))))


@dataclass(frozen=True)
class Suite:
    """Limits, exact statistics, and the rows that break each check (None: no row)."""

    limits: list[int]
    exact: list[int]
    rows: list[np.ndarray | None]


def suite_of(kind: str, checks: int, rng: np.random.Generator) -> Suite:
    """Return a suite: `far5` has 5% of checks 2,000 rows over, `dozen` 12 of them 300; `close` all within 100 rows."""
    limits = np.zeros(checks, int)
    limits[1::2] = 1000
    exact = np.zeros(checks, int)
    if kind.startswith("far"):
        bad = rng.choice(checks, max(1, round(checks * float(kind[3:]) / 100)), replace=False)
        exact[bad] = limits[bad] + 2000
    elif kind == "dozen":
        bad = rng.choice(checks, min(12, checks // 2), replace=False)
        exact[bad] = limits[bad] + 300
    elif kind == "close":
        limits[:] = 1000
        exact = 1000 + rng.integers(-100, 101, checks)
    rows = [None if not count else np.unique(rng.integers(0, ROWS, count)) for count in exact]
    found = [0 if each is None else len(each) for each in rows]
    return Suite(limits.tolist(), found, rows)


def sums_of(suite: Suite, open_ones: Sequence[int]) -> CappedSums:
    """Return what a scan for some checks gives."""
    return sums_of_rows([suite.rows[each] for each in open_ones])


def sums_of_rows(rows: Sequence[np.ndarray | None]) -> CappedSums:
    """Return what a scan gives for checks that these rows break."""
    broken = np.zeros(ROWS, int)
    for each in rows:
        if each is not None:
            broken[each] += 1
    tops = np.bincount(broken)
    counts = []
    for each in rows:
        found = np.zeros(1, int) if each is None else np.bincount(broken[each])
        counts.append({a: int(count) for a, count in enumerate(found) if count})
    return CappedSums({a: int(top) for a, top in enumerate(tops) if a and top}, counts)


@cache
def planned(limits: tuple[int, ...], epsilon: int) -> SuitePlan:
    tests = [Tested(Fraction(0), Fraction(1), "above", Fraction(limit)) for limit in limits]
    return plan_suite(tests, epsilon, Fraction(99, 100), row_local=[(place,) for place in range(len(tests))])


@dataclass(frozen=True)
class Outcome:
    """What a run said, against the truth."""

    right: float
    undecided: int
    false_fails: int
    broken_bounds: int
    worst: float
    cost: float


def run_pure(suite: Suite, epsilon: float, noise: NumpyNoise) -> Outcome:
    """Run levels, then numbers, as `CheckRun.read` does."""
    plan = planned(tuple(suite.limits), round(epsilon * NANO))
    with replaced_noise(noise):
        secret, state = draw_secret(plan), SuiteState.start(plan)
        while (record := next_record(plan, [state])) is not None:
            if record == len(plan.levels) + 1:
                open_ones = state.open_statistics(plan)
                capped = CappedPlan(len(open_ones), 1, plan.epsilon - spent(plan, state), float(plan.doubt))
                cells = [(0, each) for each in open_ones]
                drawn = draw_numbers(capped, sums_of(suite, open_ones), cells, record)
                state = state.with_numbers(plan, [drawn], 0)
            else:
                state = state.after(plan, run_level(plan, secret, record, suite.exact, state))
    return outcome(suite, verdicts(plan, state), spent(plan, state) / NANO)


def outcome(suite: Suite, found, cost: float) -> Outcome:
    """Compare verdicts with the truth."""
    true = [f > limit for f, limit in zip(suite.exact, suite.limits, strict=True)]
    said = [each.verdict for each in found]
    right = [(s == "fail") == t and s != "undecided" for s, t in zip(said, true, strict=True)]
    broken = [
        (each.lower is not None and each.lower > f) or (each.upper is not None and each.upper < f)
        for each, f in zip(found, suite.exact, strict=True)
    ]
    bounds = [
        float(each.upper) - limit
        for each, limit in zip(found, suite.limits, strict=True)
        if each.verdict != "fail" and each.upper is not None
    ]
    return Outcome(
        right=sum(right) / len(right),
        undecided=said.count("undecided"),
        false_fails=sum(s == "fail" and not t for s, t in zip(said, true, strict=True)),
        broken_bounds=sum(broken),
        worst=max(bounds, default=0.0),
        cost=cost,
    )


@cache
def planned_in_rho(limits: tuple[int, ...], rho: int) -> WorstPlan:
    tests = [Tested(Fraction(0), Fraction(1), "above", Fraction(limit)) for limit in limits]
    return plan_worst_first(tests, rho, Fraction(99, 100))


def run_in_rho(suite: Suite, rho: float, noise: NumpyNoise) -> Outcome:
    """Choose, measure, stop."""
    plan, state = planned_in_rho(tuple(suite.limits), round(rho * 10**12)), WorstState()
    with replaced_noise(noise):
        while not state.is_over(plan):
            state = state.after(plan, draw_step(plan, suite.exact, state, 0))
    return outcome(suite, worst_verdicts(plan, state), state.spent / 10**12)
