"""The epsilon that would decide the undecided checks of a run: from published verdicts, so it costs nothing."""

from __future__ import annotations

import math
from fractions import Fraction

from dpdb.errors import ParameterError
from dpdb.privacy import format_epsilon
from dpdb.suites.mechanism.plan import SuitePlan
from dpdb.suites.mechanism.planned import plan_suite
from dpdb.suites.result import CheckResult
from dpdb.suites.results import CheckResults

__all__ = ["deciding_epsilon", "deciding_words"]

_TIMES = (1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100)


def deciding_words(plan: SuitePlan, results: CheckResults) -> str:
    """Return the command that would decide the undecided checks."""
    epsilon = deciding_epsilon(plan, results)
    failed = results.count("fail")
    fewer = f"a suite without the {'rule' if failed == 1 else f'{failed} rules'} that failed"
    if results.name is not None:
        fewer = f"Close {results.name!r}, and keep {fewer}"
        return f"{fewer}." if epsilon is None else f"{fewer}, or this one with --epsilon {format_epsilon(epsilon)}."
    if epsilon is None:
        return f"Run {fewer}."
    return f"--epsilon {format_epsilon(epsilon)} decides them, if no other check fails; or run {fewer}."


def deciding_epsilon(plan: SuitePlan, results: CheckResults) -> int | None:
    """Return nano-epsilon that would have sufficed, if no other check fails; None if a hundred times as much would not.

    With it the failures of every slice, each at the level at which its published bound surely rings it (as in
    `surely_found`), leave a ring at the last level, up to which all other checks are tested then.

    Parameters
    ----------
    plan
        Of the suite.
    results
        Its verdicts: in the order of the tests, slice after slice.
    """
    slices = [results[start : start + len(plan.tests)] for start in range(0, len(results), len(plan.tests))]
    for times in _TIMES:
        epsilon = math.ceil(plan.epsilon * times)
        try:
            larger = plan_suite(
                plan.tests, epsilon, plan.confidence, certain=plan.certain, runs=plan.runs, keys=plan.keys
            )
        except ParameterError:
            return None
        spent = larger.first_share + max(_cost_of_failures(larger, checks) for checks in slices)
        if spent + larger.levels[-1] <= epsilon:
            return epsilon
    return None


def _cost_of_failures(plan: SuitePlan, checks: tuple[CheckResult, ...]) -> int:
    return sum(
        plan.ring_cost(test, _surely_rings(plan, test, check))
        for test, check in enumerate(checks)
        if check.verdict == "fail"
    )


def _surely_rings(plan: SuitePlan, test: int, check: CheckResult) -> int:
    """Return the first level at which a failure rings whatever the noise; the last one if that is not known."""
    sign = plan.tests[test].sign
    bound = check.lower if sign > 0 else check.upper
    if bound is None:
        return len(plan.levels)
    excess = math.floor(sign * Fraction(bound) * plan.lattice) - plan.thresholds[test] - plan.known
    offsets = plan.offsets[plan.bank_of[test]]
    return next((level for level, offset in enumerate(offsets, 1) if offset <= excess), len(offsets))
