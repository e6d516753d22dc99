"""Runs of suites without noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from dpdb.privacy import NANO
from dpdb.privacy.noise import replaced_noise
from dpdb.suites import LevelVerdicts, SuitePlan, SuiteState, Tested, draw_secret, plan_suite, run_level

LEVELS = 23
FAR = 10**9  # rows over any limit


class Nothing:
    """Adds nothing, and counts."""

    def __init__(self) -> None:
        self.draws = 0

    def laplace(self, value: int, scale: float) -> int:
        self.draws += 1
        return value


def plan_of(*tests: Tested, epsilon: int = NANO, **fields: object) -> SuitePlan:
    return plan_suite(tests, epsilon, Fraction(99, 100), **fields)


def run(
    plan: SuitePlan, statistics: Sequence[int | None], state: SuiteState | None = None, secret: str | None = None
) -> tuple[SuiteState, list[str], int]:
    """Run all levels without noise; return the state, the records and how many noises were drawn."""
    noise, state, records = Nothing(), state or SuiteState.start(plan), []
    with replaced_noise(noise):
        secret = secret or draw_secret(plan)
        noise.draws = 0
        for level in range(1, len(plan.levels) + 1):
            answer = run_level(plan, secret, level, statistics, state)
            records.append(answer.to_json())
            state = state.after(plan, LevelVerdicts.from_json(records[-1]))
    return state, records, noise.draws


def next_run(state: SuiteState) -> SuiteState:
    """Return the state at the start of the next run of a kept suite: failures stand, what is left is left."""
    return replace(state, run=state.run + 1, level=0, quiet=(0,) * len(state.quiet))
