"""The state of a suite after its recorded levels: tests that rang, quiet tests, epsilon left. All of it is public.

A suite's state is a fold over its records: `state.after(plan, verdicts)` for each level, `rearmed` for a check that its
owner re-armed. Nothing secret enters it.

The least epsilon of a re-arm is told from the public spec of a kept suite.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

from dpdb.errors import ParameterError
from dpdb.privacy import format_epsilon
from dpdb.suites.mechanism.plan import SuitePlan


@dataclass(frozen=True)
class LevelVerdicts:
    """The answers of one level, to be recorded before anything of them is shown.

    Attributes
    ----------
    level : int
        From 1.
    rings : dict of int to int
        The tests that rang, each with its gap in steps: f + nu - T - o - rho, at least 0.
    untested : tuple of int
        The tests that were not run: they had rung before, or too little was left. All others were quiet.
    """

    level: int
    rings: dict[int, int]
    untested: tuple[int, ...]

    def to_json(self) -> str:
        """Return the record."""
        rings = {str(test): gap for test, gap in self.rings.items()}
        return json.dumps({"level": self.level, "rings": rings, "untested": self.untested}, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> LevelVerdicts:
        """Return what was recorded.

        Raises
        ------
        ParameterError
            If the text is no record of a level.
        """
        try:
            record = json.loads(text)
            rings = {int(test): int(gap) for test, gap in record["rings"].items()}
            return cls(int(record["level"]), rings, tuple(int(test) for test in record["untested"]))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise ParameterError("a recorded level of the suite cannot be read") from None


@dataclass(frozen=True)
class Ring:
    """A failure that stands.

    Attributes
    ----------
    level, gap : int
        Where it rang, and by how many steps.
    quiet : int
        The last level of the same run at which the test was quiet, 0 if none.
    number : int
        Which test of the suite this was, quiet ones included, from 1.
    run : int
        The run it rang in, from 1.
    cost : int
        Nano-epsilon.
    """

    level: int
    gap: int
    quiet: int
    number: int
    run: int
    cost: int


@dataclass(frozen=True)
class SuiteState:
    """Where a suite stands after the levels recorded so far (of one key, if it has several).

    Attributes
    ----------
    run, level : int
        The run, from 1, and the last level recorded of it.
    left : int
        Nano-epsilon that any further ring may cost.
    paid : int
        Nano-epsilon of all rings so far, those included that a re-arm's own money paid.
    quiet : tuple of int
        By test, the last level of this run at which it was quiet, 0 if none.
    rings : tuple of Ring or None
        By test, the failure that stands.
    own : tuple of int
        By test, nano-epsilon that its owner re-armed it with, which pays its next ring; what that leaves is anyone's.
        0: the suite pays.
    number : int
        How many tests were run, at any level, by any check.
    """

    run: int
    level: int
    left: int
    paid: int
    quiet: tuple[int, ...]
    rings: tuple[Ring | None, ...]
    own: tuple[int, ...]
    number: int

    @classmethod
    def start(cls, plan: SuitePlan) -> SuiteState:
        """Return the state of a suite before its first level."""
        count = len(plan.tests)
        left = plan.epsilon - plan.first_share
        return cls(1, 0, left, 0, (0,) * count, (None,) * count, (0,) * count, 0)

    def after(self, plan: SuitePlan, verdicts: LevelVerdicts) -> SuiteState:
        """Return the state after one more level of this run."""
        if verdicts.level != self.level + 1:
            raise ParameterError(f"level {verdicts.level} of the suite is recorded after level {self.level}")
        if not {*verdicts.rings, *verdicts.untested} <= set(range(len(self.rings))):
            raise ParameterError(f"level {verdicts.level} of the suite has verdicts of checks that it does not have")
        quiet, rings, own = list(self.quiet), list(self.rings), list(self.own)
        left, paid, number, untested = self.left, self.paid, self.number, set(verdicts.untested)
        for test in order_of(plan):
            if test in untested:
                continue
            number += 1
            if test not in verdicts.rings:
                quiet[test] = verdicts.level
                continue
            cost = plan.ring_cost(test, verdicts.level)
            gap = verdicts.rings[test]
            rings[test] = Ring(verdicts.level, gap, quiet[test], number, self.run, cost)
            left, own[test] = left + own[test] - cost, 0
            paid += cost
        return replace(
            self,
            level=verdicts.level,
            left=left,
            paid=paid,
            quiet=tuple(quiet),
            rings=tuple(rings),
            own=tuple(own),
            number=number,
        )

    def rearmed(self, plan: SuitePlan, test: int, own: int = 0) -> SuiteState:
        """Return the state in which a failed test is tested again: rho kept, noises fresh.

        Parameters
        ----------
        plan : SuitePlan
            Of the suite.
        test : int
            Its place in the suite.
        own : int
            Nano-epsilon of its own for the next ring; 0: what the suite has left. Where it could not pay a ring at the
            last level it is added to what the suite has left.

        Raises
        ------
        ParameterError
            If the test did not fail.
        """
        if self.rings[test] is None:
            raise ParameterError("only a check that failed can be re-armed")
        rings = (*self.rings[:test], None, *self.rings[test + 1 :])
        if own < plan.levels[-1]:
            return replace(self, rings=rings, left=self.left + own)
        return replace(self, rings=rings, own=(*self.own[:test], own, *self.own[test + 1 :]))

    def is_due(self, plan: SuitePlan, test: int, level: int, left: int) -> bool:
        """Return whether a test is run at a level, with `left` nano-epsilon left of the suite.

        It is while a ring of its own can be paid, there and then. Nothing is kept for later levels: what is quiet at
        some level passes within the bound of that level, whether or not it can be tested further.

        Proof. A ring is only possible where it can be paid, so rings never cost more than was reserved. The rule reads
        the plan and earlier verdicts alone, and Theorem 5 lets order and later tests depend on those. QED
        """
        if self.rings[test] is not None:
            return False
        return (self.own[test] or left) >= plan.ring_cost(test, level)


def state_of(plan: SuitePlan, levels: Iterable[LevelVerdicts]) -> SuiteState:
    """Return the state of a suite that is run once, from the levels recorded."""
    state = SuiteState.start(plan)
    for verdicts in levels:
        state = state.after(plan, verdicts)
    return state


def spent(plan: SuitePlan, state: SuiteState) -> int:
    """Return the nano-epsilon finally charged: the first share and every ring, whoever's money paid it.

    It is a function of the transcript, whose probability no unit changes by more than exp of it (Theorem 5): a realised
    loss (ex-post privacy: Ligett, Neel, Roth, Waggoner and Wu 2017). What was reserved beyond it was never lost.
    """
    return plan.first_share + state.paid


def order_of(plan: SuitePlan) -> list[int]:
    """Return the order of the tests within a level: errors before warnings, then as in the file."""
    return sorted(range(len(plan.tests)), key=lambda test: (plan.tests[test].severity != "fail", test))


def refuse_small_epsilon(spec: str, epsilon: int) -> None:
    """Refuse nano-epsilon that would not surely pay the next ring of a re-armed check.

    Parameters
    ----------
    spec : str
        With which the suite was opened (`RecordedSuite.spec`).
    epsilon : int
        For the re-arm.

    Raises
    ------
    ParameterError
        If a ring at the last level costs more.
    """
    mechanism = json.loads(spec).get("mechanism")
    most = 0 if mechanism is None else mechanism["levels"][-1]  # others may keep suites of their own in a ledger
    if epsilon < most:
        raise ParameterError(
            f"epsilon {format_epsilon(epsilon)} is too little: a failure may cost {format_epsilon(most)}; give at "
            "least that, or none, so that the suite pays; nothing was spent"
        )
