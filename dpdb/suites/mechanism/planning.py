"""The precision that a suite can be expected to have, before anything is spent: from its public plan alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dpdb.errors import ParameterError
from dpdb.privacy import NANO, gaussian_tail, gdp_delta, laplace_tail
from dpdb.suites.mechanism.banks import Tested
from dpdb.suites.mechanism.plan import SuitePlan
from dpdb.suites.mechanism.planned import plan_suite

__all__ = ["Numbers", "epsilon_for", "numbers_instead", "surely_found", "unsure_rows"]

_LARGEST = 10**6 * NANO


@dataclass(frozen=True)
class Numbers:
    """How far the numbers of all checks may be off, together, if they were released instead of verdicts.

    Attributes
    ----------
    pure : int
        Half a width in rows, on a pure ledger at the suite's epsilon.
    zcdp : int
        On a zCDP ledger at rho = epsilon^2 / 2, which a pure release of this epsilon costs there.
    approximate : int
        With Gaussian noise, at the promise (epsilon, 10^-6).
    better_on_zcdp : bool
        Whether the numbers of the zCDP ledger say more of a check that passes than the suite does: one that is
        surely within its limit plus `2 zcdp`, against the limit plus `unsure_rows`. They also leave nothing undecided.
    """

    pure: int
    zcdp: int
    approximate: int
    better_on_zcdp: bool


def unsure_rows(plan: SuitePlan) -> Fraction:
    """Return how far from a limit a verdict may be wrong, in rows: s + ln(n / beta) / e1, at the largest s.

    With `certain="fail"` a check within its limit passes, and one that passes is at most so many rows over it.
    """
    return Fraction(max(plan.margins) + plan.known, plan.lattice)


def surely_found(plan: SuitePlan, test: int, rows: int | Fraction, *, others_decided: bool = False) -> int | None:
    """Return how many checks like this one may be over their limits by so many rows and all be found.

    With the confidence of the bounds (1 - 2 beta), while every other check is within its limit. None if the excess is
    too small to be surely found at all.

    Notes
    -----
    As rho <= `known`, a statistic of at least T + o_l + `known` rings at level l whatever the noise, so each of these
    checks costs at most level l's amount c. They are run at that level while c and the last level's amount are left;
    what is left then pays rings at the last level.

    Parameters
    ----------
    plan : SuitePlan
        The suite.
    test : int
        The place of one of the checks.
    rows : int or Fraction
        By how much each of them is over its limit (or under it, where it fails below).
    others_decided : bool
        Whether a test at the last level shall be left for all others, which are undecided without it.
    """
    limit = int(plan.tests[test].limit * plan.lattice) * plan.tests[test].sign
    excess = limit + math.floor(rows * plan.lattice) - plan.thresholds[test] - plan.known
    offsets = plan.offsets[plan.bank_of[test]]
    level = next((level for level, offset in enumerate(offsets) if offset <= excess), None)
    if level is None:
        return None
    left, last = plan.epsilon - plan.first_share, plan.levels[-1]
    cost = plan.levels[level]
    if others_decided:
        return max(0, left - last) // cost
    found = 0 if level == len(offsets) - 1 else max(0, left - last) // cost
    return found + (left - found * cost) // last


def epsilon_for(tests: Sequence[Tested], rows: int | Fraction, confidence: Decimal | Fraction, **options: Any) -> int:
    """Return the smallest nano-epsilon at which `unsure_rows` of a suite is at most so many rows.

    Parameters
    ----------
    tests : sequence of Tested
        The suite.
    rows : int or Fraction
        The margin wished for.
    confidence : Decimal or Fraction
        For all verdicts together.
    **options
        Further ones of `plan_suite`, but for `certain`: the margins are the same for both.

    Raises
    ------
    ParameterError
        If no epsilon would do.
    """

    def suffices(epsilon: int) -> bool:
        try:
            return unsure_rows(plan_suite(tests, epsilon, confidence, **options)) <= rows
        except ParameterError:
            if epsilon == _LARGEST:
                raise
            return False  # too small for a suite

    if not suffices(_LARGEST):
        raise ParameterError(f"no epsilon gives margins of {float(rows):g} rows")
    least, most = 0, _LARGEST
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if suffices(middle) else (middle, most)
    return most


def numbers_instead(plan: SuitePlan) -> Numbers:
    """Return how exact one number for each test would be, for as many runs and slices as the plan has tests for.

    Epsilon is shared equally; the noise is that of the statistic that a unit moves most.
    """
    beta = float(1 - plan.confidence)
    numbers = len(plan.tests) * plan.runs
    tail = beta / (2 * numbers * plan.keys)
    epsilon = plan.epsilon / NANO
    moved = math.ceil(max(max(test.high, -test.low) for test in plan.tests))
    deviation = moved * math.sqrt(numbers)
    zcdp = gaussian_tail(deviation / epsilon, tail)
    return Numbers(
        pure=laplace_tail(moved * numbers / epsilon, tail),
        zcdp=zcdp,
        approximate=gaussian_tail(deviation / _gaussian_mu(epsilon), tail),
        better_on_zcdp=2 * zcdp < unsure_rows(plan),
    )


def _gaussian_mu(epsilon: float) -> float:
    """Return the largest mu that promises (epsilon, 10^-6)."""
    least, most = 0.0, 2 * epsilon + 10
    for _ in range(60):
        middle = (least + most) / 2
        least, most = (middle, most) if gdp_delta(middle, epsilon) <= 1e-6 else (least, middle)
    return least
