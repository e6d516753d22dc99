"""`WorstRun`: one run of a suite on a ledger that counts in rho: the worst check first, step after step.

All of rho is debited first. Each step is recorded before anything of it is shown, and the run is settled to the sum of
its steps (`dpdb.suites.mechanism.worst_first`). Slices come one after another; the dearest one is charged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil

from dpdb.engine import Progress
from dpdb.ledger import SuiteReservation
from dpdb.privacy import check_samplers, format_rho
from dpdb.release import PrivateSlices, SuiteLevel
from dpdb.suites.check import OpenRun
from dpdb.suites.mechanism.worst_first import Step, WorstPlan, WorstState, draw_step, worst_verdicts
from dpdb.suites.results import result_of


@dataclass(frozen=True)
class WorstRun(OpenRun):
    """A run in rho (implements `dpdb.release.account.SuiteRun`); `plan` has its tests as a pure ledger would."""

    worst: WorstPlan = field(kw_only=True)

    def mechanism(self) -> dict[str, object]:
        """Return all that decides what a step means: no floats."""
        return {name: getattr(self.worst, name) for name in ("lattice", "rho", "costs", "shares")}

    def load(self) -> None:
        """Load the samplers and the kernels of the statistics. Reads no row."""
        super().load()
        check_samplers(gaussian=True)

    def read(
        self, slices: PrivateSlices, held: SuiteReservation, progress: Progress, compare: Callable[[], None]
    ) -> Callable[[], SuiteLevel | None]:
        """Read the rows of every slice, unless all is recorded; the result draws step after step. Private.

        What is drawn after a kill is of another reading, unless the ledger has compared the rows and they are the same.
        """
        del compare
        states = self._states(held)
        before = max((Step.from_json(text).reading for text in held.levels.values()), default=0)
        reading = max(1, before + (before > 0 and not held.same_rows))
        exact: list[list[int]] = []
        if not all(state.is_over(self.worst) for state in states):
            exact = [self.steps(self.counted.counts(slices, each)) for each in self.slices.predicates]
        steps = self._drawn(states, exact, len(held.levels), reading, progress)
        return lambda: next(steps, None)

    def needed(self, test: int) -> int:
        """Return with how many rows a check that fails below its limit surely passes, if the money lasts."""
        return ceil(self.worst.tests[test].limit + Fraction(self.worst.aim_of(test), self.worst.lattice))

    def _drawn(
        self,
        states: list[WorstState],
        exact: Sequence[Sequence[int]],
        recorded: int,
        reading: int,
        progress: Progress,
    ) -> Iterator[SuiteLevel]:
        names = self.names
        for key in range(len(states)):
            while not states[key].is_over(self.worst):
                progress("drawing noise")
                step = draw_step(self.worst, exact[key], states[key], key, reading)
                before = states[key].failed
                states[key] = states[key].after(self.worst, step)
                recorded += 1
                failed = () if len(before) == len(states[key].failed) else (names[key][step.test],)
                spent = max(state.spent for state in states)
                yield SuiteLevel(recorded, step.to_json(), spent, failed)

    def _states(self, held: SuiteReservation) -> list[WorstState]:
        """Replay what is recorded, by slice."""
        states = [WorstState() for _ in self.slices.predicates]
        for _, text in sorted(held.levels.items()):
            step = Step.from_json(text)
            states[step.key] = states[step.key].after(self.worst, step)
        return states

    def answer(self, held: SuiteReservation) -> str:
        """Return the verdicts as JSON."""
        checks = [
            result_of(each, line.text, line.statistic, verdict, since=None, key=key)
            for key, state in zip(self.slices.keys or (None,), self._states(held), strict=True)
            for each, verdict in zip(self.counted.limits, worst_verdicts(self.worst, state), strict=True)
            for line in [self.counted.suite.lines[each.line]]
        ]
        return self._results(checks, held, self.worst, in_rho=True)


def worst_words(run: WorstRun) -> list[str]:
    """Return what a run in rho can tell apart; public, nothing is read or spent."""
    plan = run.worst
    percent = f"{float(plan.confidence * 100):.12g}%"
    within = max(plan.aim_of(test) for test in range(len(plan.tests))) / plan.lattice
    passes = sum(plan.costs) * len(plan.lists)
    steps = (plan.rho - passes) // plan.costs[-1]
    return [
        f"rho {format_rho(plan.rho)} is reserved: {passes / 10**12:.2g} stays charged if all pass, a failure costs "
        f"from {plan.costs[0] / 10**12:.2g} (plain) to {plan.costs[-1] / 10**12:.2g} (close)",
        "the worst check is found and measured first, then the next one, until the worst is not seen to fail",
        *(["a count passes only where it is shown"] * any(test.is_shown for test in plan.tests)),
        f"with {percent} for all checks together no rule within its limit fails, every number holds, and one that "
        f"passes is at most {within:,.0f} rows over its limit if the money lasts",
        f"{steps:,} failures are surely paid, however close; plain ones cost less",
    ]
