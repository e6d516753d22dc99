"""The bounds of a verdict's statistic, in rows, and how far from its threshold a test can be wrong, in steps.

Passes and undecided checks have bounds, failures have intervals. A step is one of the lattice.

Everywhere rho and nu are independent, Pr[rho >= x] = q1^x and Pr[nu >= x] = q^x for x = 0, 1, 2, ..., with q1 =
exp(-first) and q = exp(-level), both rates per step. A test of statistic f at offset o rings if f + nu >= T + o + rho.

**No false fail.** If f <= T - s, a ring needs nu - rho >= o + s, of probability

    sum over r of (1 - q1) q1^r q^(o + s + r) = q^(o + s) (1 - q1) / (1 - q1 q),

which is beta / m if o + s = [ln(m / beta) + ln((1 - q1) / (1 - q1 q))] / level: `quiet_reach`. The union over m checks
and over levels whose betas add up to beta holds for all of them together, however they depend on one another.

**No false pass.** A quiet test has f <= f + nu < T + o + rho. So f - T - o < ln(n / beta) / first for all quiet tests
of n banks (or n keys) together, but for a probability of beta, because Pr[rho >= ln(n / beta) / first] <= beta / n:
`threshold_reach`. It does not depend on how many tests there are, nor on how often they are repeated.

**A failure's size.** A ring with the gap u = f + nu - T - o - rho has f = T + o + u - (nu - rho), so with nu - rho < o
+ s (the event of the first margin) f > T + u - s, and with rho < ln(n / beta) / first (that of the second) f < T + o +
u + ln(n / beta) / first. Hence the sizes hold together with both margins at 2 beta.

Rates are floats, and every margin is rounded up by one part in a billion before it is rounded up to a step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dpdb.privacy import NANO
from dpdb.suites.mechanism.capped import NumberBounds
from dpdb.suites.mechanism.plan import SuitePlan, Tested
from dpdb.suites.mechanism.state import Ring, SuiteState


@dataclass(frozen=True)
class Verdict:
    """The published verdict of one test.

    Attributes
    ----------
    verdict : str
        `pass`, `fail`, or `undecided` if it was not tested; where a pass shall be certain, also if it was not quiet at
        the last level.
    level : int
        Where it failed; otherwise the last level at which it was quiet, 0 if none.
    lower, upper : Fraction or None
        Bounds of the statistic in rows (of a share: of f - p n); None where nothing is known. Of a fractional cover
        they are bounds of the fewest rows to delete: the upper one is twice that of the cover.
    run : int or None
        The run in which it failed, from 1; a failure of an earlier run stands, and is not tested.
    within : Fraction or None
        Of a pass, how many rows it may be beyond its limit; None if that is not known.
    aim : Fraction
        The same of a statistic that was quiet at the last level: what a suite aims to show of each check.
    number : Fraction or None
        The statistic with noise, where numbers were drawn; of a share that of f - p n.
    """

    verdict: Literal["pass", "fail", "undecided"]
    level: int
    lower: Fraction | None
    upper: Fraction | None
    run: int | None = None
    within: Fraction | None = None
    aim: Fraction = Fraction(0)
    number: Fraction | None = None


def verdicts(plan: SuitePlan, state: SuiteState) -> tuple[Verdict, ...]:
    """Return the verdict of each test, in the order of the file, after the levels recorded.

    With the plan's confidence 1 - beta, no check within its limit fails (`certain="fail"`), or none over it passes; of
    checks that fail below their limits it is the second: their thresholds are those of certain passes, and quiet at an
    earlier level only, they are not shown to be within their limits. With 1 - 2 beta all of that and all bounds hold.
    """
    return tuple(_verdict(plan, state, test) for test in range(len(plan.tests)))


def _verdict(plan: SuitePlan, state: SuiteState, test: int) -> Verdict:
    ring, quiet = state.rings[test], state.quiet[test]
    aim = _beyond(plan, test, *_quiet_bound(plan, test, len(plan.levels)))
    if ring is not None:
        return Verdict("fail", ring.level, *size_of_failure(plan, test, ring), ring.run, aim=aim)
    bounds = bound_of_quiet(plan, test, quiet)
    numbered = number_bounds(plan, state, test) if quiet != len(plan.levels) else None
    if numbered is not None:
        return _by_number(plan, state, test, numbered, aim)
    if quiet == 0 or (plan.certain == "pass" and quiet != len(plan.levels)):
        return Verdict("undecided", quiet, *bounds, aim=aim)
    return Verdict("pass", quiet, *bounds, within=_within(plan, test, bounds), aim=aim)


def _within(plan: SuitePlan, test: int, bounds: tuple[Fraction | None, Fraction | None]) -> Fraction | None:
    """Return how many rows a check with these bounds may be beyond its limit; None if nothing is known."""
    return None if bounds == (None, None) else _beyond(plan, test, *bounds)


def _beyond(plan: SuitePlan, test: int, lower: Fraction | None, upper: Fraction | None) -> Fraction:
    return rows_beyond(plan.tests[test], lower, upper)


def rows_beyond(tested: Tested, lower: Fraction | None, upper: Fraction | None) -> Fraction:
    """Return how far a bound is beyond the check's own limit, in rows, at least 0.

    Parameters
    ----------
    lower, upper
        The bounds of its statistic, in rows.
    """
    limit = tested.limit * (2 if tested.halved else 1)
    if tested.sign < 0:
        return Fraction(0) if lower is None else max(Fraction(0), limit - lower)
    return Fraction(0) if upper is None else max(Fraction(0), upper - limit)


def number_bounds(plan: SuitePlan, state: SuiteState, test: int) -> NumberBounds | None:
    """Return what the number of a test's statistic says of it; None if there is none, or none of a share's rows."""
    statistic = plan.statistic_of.get(test)
    if state.numbers is None or statistic not in state.numbers.places:
        return None
    rows = plan.shares.of[test] if plan.shares.of else None
    if rows is not None and rows not in state.numbers.rows:
        return None
    return state.numbers.bounds(statistic, plan.tests[test].rate, rows)


def _by_number(plan: SuitePlan, state: SuiteState, test: int, found: NumberBounds, aim: Fraction) -> Verdict:
    """Return the verdict by a number: a failure is certain; so is a pass where that was asked.

    An earlier quiet test bounds the statistic, too, with the doubt of the levels. A number beyond the bounds is moved
    to the nearer one: where they hold it is no further off then.
    """
    limit, level = plan.tests[test].limit, len(plan.levels) + 1
    _, quiet = bound_of_quiet(plan, test, state.quiet[test])
    upper = found.upper if quiet is None else max(found.lower, min(found.upper, quiet))
    bounds, number = (found.lower, upper), min(max(found.number, found.lower), upper)
    if upper <= limit if plan.certain == "pass" else found.lower <= limit:
        return Verdict("pass", level, *bounds, within=_within(plan, test, bounds), aim=aim, number=number)
    return Verdict("fail", level, *bounds, state.run, aim=aim, number=number)


def bound_of_quiet(plan: SuitePlan, test: int, quiet: int) -> tuple[Fraction | None, Fraction | None]:
    """Return the bounds of a check whose last quiet level was `quiet`: f < T + o + ln(n / beta) / e1, all together.

    It has at most (or, where it fails below, at least) so many rows; nothing is known of the other bound.

    Proof. A quiet test gives f - T - o < rho, and rho < ln(n / beta) / e1 in all n banks (or keys) with probability
    1 - beta: one event for all quiet tests of all levels and days. QED

    Parameters
    ----------
    test
        The check's test, by its number in the plan.
    quiet
        The last level at which it was quiet, from 1; 0 for none.
    """
    return (None, None) if quiet == 0 else _of_rows(plan, test, *_quiet_bound(plan, test, quiet))


def _quiet_bound(plan: SuitePlan, test: int, quiet: int) -> tuple[Fraction | None, Fraction | None]:
    offset = plan.offsets[plan.bank_of[test]][quiet - 1]
    return _in_rows(plan, test, None, plan.thresholds[test] + offset + plan.known)


def _of_rows(
    plan: SuitePlan, test: int, lower: Fraction | None, upper: Fraction | None
) -> tuple[Fraction | None, Fraction | None]:
    return fewest_rows(plan.tests[test], lower, upper)


def fewest_rows(
    tested: Tested, lower: Fraction | None, upper: Fraction | None
) -> tuple[Fraction | None, Fraction | None]:
    """Return bounds of the fewest rows to delete from those of the statistic, which may be a fractional cover.

    U + tau* <= fewest <= U + 2 tau* <= 2 (U + tau*), where U rows violate by themselves. A cover moves by half rows, so
    twice its bound is a whole number of rows. Against a share p of n rows it bounds what is above 2 p n; n is private,
    so nothing is known of what is above p n, but where f was tested against half of the share: then no lower end is.

    Parameters
    ----------
    lower, upper
        Bounds of its statistic, in rows.
    """
    if tested.bits and upper is not None:  # the statistic is rounded down, by 10^-6 of itself at most
        return lower, upper * (1 + Fraction(1, 10**6))
    if not tested.halves or upper is None:
        return lower, upper
    if tested.rate:
        return (None, 2 * upper) if tested.halved else (lower, None)
    return lower, 2 * upper


def size_of_failure(plan: SuitePlan, test: int, ring: Ring) -> tuple[Fraction | None, Fraction | None]:
    """Return the bounds of a failure's statistic, jointly with all other bounds at 2 beta.

    T + u - s < f, and f < min(T + o_l + u, T + o_j) + ln(n / beta) / e1, where j is the last quiet level before l.
    After the runs that s is meant for the lower bound is T + o_l + u - ln(K (K + 1) / beta) / e_l for the K-th test of
    the suite, quiet ones included: it holds for any number of tests, with a beta of its own.

    Parameters
    ----------
    test
        The check's test, by its number in the plan.
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
    return _of_rows(plan, test, *_in_rows(plan, test, lower, upper + plan.known))


def _in_rows(
    plan: SuitePlan, test: int, lower: int | None, upper: int | None
) -> tuple[Fraction | None, Fraction | None]:
    return in_rows(plan.tests[test], plan.lattice, lower, upper)


def in_rows(
    tested: Tested, lattice: int, lower: int | None, upper: int | None
) -> tuple[Fraction | None, Fraction | None]:
    """Return bounds of a statistic in rows, not negated, moved inwards to values that it may have.

    Parameters
    ----------
    lattice
        Steps per row.
    lower, upper
        Oriented, in steps.
    """
    if tested.sign < 0:
        lower, upper = None if upper is None else -upper, None if lower is None else -lower
    unit = tested.unit(lattice)
    least = None if lower is None else Fraction(-(-lower // unit) * unit, lattice)
    most = None if upper is None else Fraction(upper // unit * unit, lattice)
    if tested.rate is None and least is not None:
        least = max(least, Fraction(0))
    return least, most


_SLACK = 1e-9


def quiet_reach(first: float, level: float, log_chance: float) -> int:
    """Return the least x >= 0 with Pr[nu - rho >= x] <= exp(-log_chance).

    Parameters
    ----------
    first, level : float
        Rates of rho and nu per step.
    log_chance : float
        ln(m / beta).
    """
    log_ratio = math.log(-math.expm1(-first)) - math.log(-math.expm1(-first - level))
    return max(0, math.ceil(_up((log_chance + log_ratio) / level)))


def threshold_reach(first: float, log_chance: float) -> int:
    """Return the largest x below log_chance / first: Pr[rho > x] <= exp(-log_chance)."""
    return math.ceil(_up(log_chance / first)) - 1


def repeated_reach(level: float, number: int, log_chance: float) -> int:
    """Return the largest x below ln(K (K + 1) / beta) / level, for the K-th test of a suite without horizon.

    Pr[nu >= ln(K (K + 1) / beta) / level] <= beta / (K (K + 1)), and these add up to beta over all K = 1, 2, ...

    Parameters
    ----------
    level : float
        Rate of nu per step.
    log_chance : float
        ln(1 / beta).
    """
    return math.ceil(_up((log_chance + math.log(number) + math.log(number + 1)) / level)) - 1


def _up(value: float) -> float:
    return value + abs(value) * _SLACK + _SLACK
