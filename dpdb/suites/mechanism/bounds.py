"""The bounds of a verdict's statistic, in rows: of passes and of undecided checks; intervals of failures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dpdb.privacy import NANO
from dpdb.suites.mechanism.margins import repeated_reach
from dpdb.suites.mechanism.plan import SuitePlan
from dpdb.suites.mechanism.state import Ring, SuiteState

__all__ = ["Verdict", "bound_of_undecided", "size_of_failure", "verdicts"]


@dataclass(frozen=True)
class Verdict:
    """The published verdict of one test.

    Attributes
    ----------
    verdict : str
        `pass`, `fail`, or `undecided` if what was left could not pay a test at the last level.
    level : int
        Where it failed; otherwise the last level at which it was quiet, 0 if none.
    lower, upper : Fraction or None
        Bounds of the statistic in rows (of a share: of f - p n); None where nothing is known.
    run : int or None
        The run in which it failed, from 1; a failure of an earlier run stands, and is not tested.
    """

    verdict: Literal["pass", "fail", "undecided"]
    level: int
    lower: Fraction | None
    upper: Fraction | None
    run: int | None = None


def verdicts(plan: SuitePlan, state: SuiteState) -> tuple[Verdict, ...]:
    """Return the verdict of each test, in the order of the file, after the levels recorded.

    With the plan's confidence 1 - beta, no check within its limit fails (`certain="fail"`), or none over it passes;
    with 1 - 2 beta all of that and all bounds hold together.
    """
    return tuple(_verdict(plan, state, test) for test in range(len(plan.tests)))


def _verdict(plan: SuitePlan, state: SuiteState, test: int) -> Verdict:
    ring, quiet = state.rings[test], state.quiet[test]
    if ring is not None:
        return Verdict("fail", ring.level, *size_of_failure(plan, test, ring), ring.run)
    passed = quiet == len(plan.levels)
    return Verdict("pass" if passed else "undecided", quiet, *bound_of_undecided(plan, test, quiet))


def bound_of_undecided(plan: SuitePlan, test: int, quiet: int) -> tuple[Fraction | None, Fraction | None]:
    """Return the bounds of a check whose last quiet level was `quiet`: f < T + o + ln(n / beta) / e1, all together.

    A pass, quiet at every level, has at most (or, where it fails below, at least) so many rows; nothing is known of the
    other bound.
    """
    if quiet == 0:
        return None, None
    offset = plan.offsets[plan.bank_of[test]][quiet - 1]
    return _in_rows(plan, test, None, plan.thresholds[test] + offset + plan.known)


def size_of_failure(plan: SuitePlan, test: int, ring: Ring) -> tuple[Fraction | None, Fraction | None]:
    """Return the bounds of a failure's statistic, jointly with all other bounds at 2 beta.

    T + u - s < f, and f < min(T + o_l + u, T + o_j) + ln(n / beta) / e1, where j is the last quiet level before l.
    After the runs that s is meant for the lower bound is T + o_l + u - ln(K (K + 1) / beta) / e_l for the K-th test of
    the suite, quiet ones included: it holds for any number of tests, with a beta of its own.
    """
    place = plan.bank_of[test]
    bank, offsets, threshold = plan.banks[place], plan.offsets[place], plan.thresholds[test]
    rung = threshold + offsets[ring.level - 1] + ring.gap
    if ring.run <= plan.runs:
        lower = threshold + ring.gap - plan.margins[place] + 1
    else:
        rate = plan.levels[ring.level - 1] / NANO / bank.reach
        lower = rung - repeated_reach(rate, ring.number, -math.log(float(1 - plan.confidence) / plan.keys))
    upper = min(rung, threshold + offsets[ring.quiet - 1]) if ring.quiet else rung
    return _in_rows(plan, test, lower, upper + plan.known)


def _in_rows(
    plan: SuitePlan, test: int, lower: int | None, upper: int | None
) -> tuple[Fraction | None, Fraction | None]:
    """Return bounds of a statistic in rows, not negated, moved inwards to values that it may have."""
    tested = plan.tests[test]
    if tested.sign < 0:
        lower, upper = None if upper is None else -upper, None if lower is None else -lower
    unit = tested.unit(plan.lattice)
    least = None if lower is None else Fraction(-(-lower // unit) * unit, plan.lattice)
    most = None if upper is None else Fraction(upper // unit * unit, plan.lattice)
    if tested.rate is None and least is not None:
        least = max(least, Fraction(0))
    return least, most
