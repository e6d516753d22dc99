"""A suite's plan in words: the meaning of its verdicts, the failures that fit, and whether numbers would say more."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction

from dpdb.errors import ParameterError
from dpdb.privacy import NANO, format_epsilon, parse_epsilon
from dpdb.release import Epsilon
from dpdb.suites.counted import tests_without_table
from dpdb.suites.mechanism.plan import Certain, SuitePlan
from dpdb.suites.mechanism.planned import plan_suite
from dpdb.suites.mechanism.planning import epsilon_for, numbers_instead, surely_found, unsure_rows
from dpdb.suites.suite import Suite

__all__ = ["plan_words", "planned_words"]


def plan_words(plan: SuitePlan, margin: int | None = None) -> list[str]:
    """Return the lines; all of it is public, and nothing is read or spent.

    Parameters
    ----------
    plan : SuitePlan
    margin : int, optional
        Rows that a verdict may be off: also say the smallest epsilon for that.
    """
    return [_cost(plan), *_margins(plan), *_wished(plan, margin), *_found(plan), *_numbers(plan)]


def planned_words(
    suite: Suite,
    epsilon: Epsilon,
    rows: int,
    *,
    runs: int = 1,
    certain: Certain = "fail",
    margin: int | None = None,
) -> list[str]:
    """Plan a suite before there is a table: a row is the unit, and every rule has a closed form.

    Parameters
    ----------
    suite : Suite
    epsilon : number
        To reserve.
    rows : int
        A guess of the number of rows.
    runs : int
        How often a kept suite will run.
    certain : str
        As of `plan_suite`.
    margin : int, optional
        As of `plan_words`.

    Raises
    ------
    ParameterError
        As `plan_suite`, or without rows.
    """
    if rows < 1:
        raise ParameterError(f"rows: a suite is planned for at least one row, got {rows}")
    plan = plan_suite(tests_without_table(suite), parse_epsilon(epsilon), Fraction(99, 100), certain=certain, runs=runs)
    share = 100 * float(unsure_rows(plan)) / rows
    return [
        *plan_words(plan, margin),
        f"of {rows:,} rows, {_rows(unsure_rows(plan))} are {share:.2g}%",
        "nothing was spent",
    ]


def _cost(plan: SuitePlan) -> str:
    return (
        f"epsilon {format_epsilon(plan.epsilon)} is reserved: {_short(plan.first_share)} stays charged if all pass, "
        f"a failure costs from {_short(plan.levels[0])} (plain) to {_short(plan.levels[-1])} (close)"
    )


def _margins(plan: SuitePlan) -> Iterator[str]:
    percent = f"{float(plan.confidence * 100):.12g}%"
    checks = f"all {len(plan.tests)} checks" if len(plan.tests) > 1 else "the check"
    times = f" and {plan.runs} runs" if plan.runs > 1 else ""
    rows = _rows(unsure_rows(plan))
    if plan.certain == "fail":
        yield f"with {percent} for {checks}{times} together, no check within its limit fails"
        yield f"with {percent} for all passes together, one that passes is at most {rows} over its limit"
    else:
        yield f"with {percent} for all passes together, no check over its limit passes"
        yield f"with {percent} for {checks}{times} together, none that is {rows} or more within its limit fails"


def _wished(plan: SuitePlan, margin: int | None) -> Iterator[str]:
    if margin is not None:
        epsilon = epsilon_for(plan.tests, margin, plan.confidence, runs=plan.runs, keys=plan.keys)
        rounded_up = Decimal(epsilon).scaleb(-9).quantize(Decimal("0.001"), ROUND_CEILING).normalize()
        yield f"for at most {margin:,} row{'s' * (margin > 1)} there: epsilon {rounded_up:f}"


def _found(plan: SuitePlan) -> Iterator[str]:
    least = 1 if plan.certain == "pass" else math.ceil(unsure_rows(plan))
    for rows in (least, *(size for size in (100, 1000, 10_000, 100_000) if size > least)):
        found, decided = surely_found(plan, 0, rows), surely_found(plan, 0, rows, others_decided=True)
        if found is not None and decided is not None and decided >= len(plan.tests):
            yield f"all checks that fail by {rows:,} row{'s' * (rows > 1)} are surely found, however many"
            return
        if found is not None:
            size = f"{rows:,} row{'s' * (rows > 1)}"
            yield f"{found:,} failures by {size} are surely found; {decided:,} leave none undecided"


def _numbers(plan: SuitePlan) -> Iterator[str]:
    numbers = numbers_instead(plan)
    rho = (plan.epsilon / NANO) ** 2 / 2
    yield (
        f"a number for each check instead: within {numbers.pure:,} rows at this epsilon, {numbers.zcdp:,} on a zCDP "
        f"ledger at rho {rho:g}, {numbers.approximate:,} with Gaussian noise at delta 1e-6"
    )
    if numbers.better_on_zcdp:
        yield "numbers on a zCDP ledger say more than these verdicts, and leave nothing undecided"


def _rows(rows: Fraction) -> str:
    return f"{float(rows):,.0f} rows" if rows.denominator == 1 else f"{float(rows):,.1f} rows"


def _short(epsilon: int) -> str:
    return f"{epsilon / NANO:.2g}"
