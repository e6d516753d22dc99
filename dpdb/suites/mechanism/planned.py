"""`plan_suite`: banks, shares of epsilon, offsets and thresholds of a suite, all public, before anything is spent."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from dpdb.errors import ParameterError
from dpdb.privacy import NANO, format_epsilon
from dpdb.suites.mechanism.bounds import quiet_reach, threshold_reach
from dpdb.suites.mechanism.plan import NO_SHARES, Bank, Certain, ShareRows, SuitePlan, Tested, banks_of, steps_per_row

LEVELS = 23
_LAST_SHARE = Fraction(4, 5)  # of beta, for the last level; the others share the rest equally
_QUARTER = Fraction(1, 4)
_LARGEST_SCALE = 2**56  # OpenDP draws i64: a noise beyond 2^63 then has a probability of exp(-128)


def plan_suite(
    tests: Sequence[Tested],
    epsilon: int,
    confidence: Decimal | Fraction,
    *,
    certain: Certain = "fail",
    runs: int = 1,
    keys: int = 1,
    levels: int = LEVELS,
    first: Fraction = _QUARTER,
    last: Fraction = _QUARTER,
    halves_limits: bool = True,
    shows_below: bool = True,
    row_local: Sequence[Sequence[int]] = (),
    unit_reach: int = 1,
    owned: bool = False,
    apart: bool = False,
    shares: ShareRows = NO_SHARES,
) -> SuitePlan:
    """Return how a suite is tested.

    Parameters
    ----------
    tests : sequence of Tested
        One for each limit, in the order of the file.
    epsilon : int
        Nano-epsilon to reserve.
    confidence : Decimal or Fraction
        For all verdicts together, between 0 and 1.
    certain : str
        What shall be certain: a `fail` or a `pass`.
    runs : int
        How often a kept suite will run.
    keys : int
        How many slices are tested, with a threshold noise each.
    levels : int
        How many; their amounts fall by the square root of 2.
    first, last : Fraction
        Shares of epsilon for the threshold noises and for a ring at the last level.
    halves_limits : bool
        Whether fractional covers are tested against half of their limits where a pass shall be certain. False for a
        suite that was kept before they were: what is quiet of it is within its limit by the cover, and not shown to be.
    shows_below : bool
        Whether passes of checks that fail below their limits are certain. False for a suite that was kept before.
    row_local : sequence of sequence of int
        By statistic that may get a capped number after the levels, its tests; the levels then have half of the doubt.
    unit_reach : int
        By how much one unit changes such a statistic.
    owned : bool
        Whether units own rows, in any slice.
    apart : bool
        Whether numbers follow only where they are bought; the levels then have all of the doubt.

    Raises
    ------
    ParameterError
        If a limit is not on the lattice, a pass cannot be certain at this epsilon, or epsilon is too small.
    """
    _check_numbers(tests, confidence, runs, keys, certain)
    if certain == "pass" and halves_limits:
        tests = [test.for_certain_pass() for test in tests]
    beta = (1 - Fraction(confidence)) / (2 if row_local and not apart else 1)
    lattice = steps_per_row(tests)
    banks = banks_of(tests, lattice)
    first_reach = max(sum(bank.high for bank in banks), sum(-bank.low for bank in banks))
    first_share, amounts = _shares(epsilon, levels, first, last, max(first_reach, *(bank.reach for bank in banks)))
    rate = first_share / NANO / first_reach
    known = threshold_reach(rate, _log_of(len(banks) * keys / beta))
    reaches = [_reaches(bank, rate, amounts, len(tests) * runs * keys, beta) for bank in banks]
    margins = tuple(reach[-1] for reach in reaches)
    thresholds = [0] * len(tests)
    for bank, margin in zip(banks, margins, strict=True):
        for place in bank.tests:
            limit = int(tests[place].limit * lattice) * tests[place].sign
            is_shown = certain == "pass" or (shows_below and tests[place].is_shown)
            thresholds[place] = limit - known if is_shown else limit + margin
    plan = SuitePlan(
        tests=tuple(tests),
        epsilon=epsilon,
        confidence=Fraction(confidence),
        certain=certain,
        runs=runs,
        keys=keys,
        lattice=lattice,
        banks=banks,
        first_share=first_share,
        first_reach=first_reach,
        levels=amounts,
        offsets=tuple(tuple(max(0, x - reach[-1]) for x in reach) for reach in reaches),
        margins=margins,
        known=known,
        thresholds=tuple(thresholds),
        row_local=tuple(tuple(tests) for tests in row_local),
        unit_reach=unit_reach,
        owned=owned,
        apart=apart,
        shares=shares,
        shows_below=shows_below,
    )
    if certain == "pass":
        _check_passes(plan, first)
    return plan


def _shares(epsilon: int, levels: int, first: Fraction, last: Fraction, widest: int) -> tuple[int, tuple[int, ...]]:
    """Return the first share and the levels' amounts: epsilon times `last` / 2^(j / 2), all rounded down."""
    first_share, most = int(epsilon * first), int(epsilon * last)
    amounts = tuple(math.isqrt((most * most) >> below) for below in range(levels - 1, -1, -1))
    least = min(first_share, amounts[0])
    if least == 0 or widest * NANO > least * _LARGEST_SCALE:
        raise ParameterError(f"epsilon {format_epsilon(epsilon)} is too small for a suite of checks")
    return first_share, amounts


def _reaches(bank: Bank, first: float, amounts: Sequence[int], tested: int, beta: Fraction) -> tuple[int, ...]:
    """Return s + o_l of a bank by level: what nu - rho stays below in all tests together, but for beta."""
    last = _LAST_SHARE if len(amounts) > 1 else Fraction(1)
    lower = (1 - last) / max(1, len(amounts) - 1)
    return tuple(
        quiet_reach(first, amount / NANO / bank.reach, _log_of(tested / (beta * share)))
        for amount, share in zip(amounts, [lower] * (len(amounts) - 1) + [last], strict=True)
    )


def _check_numbers(tests: Sequence[Tested], confidence: Decimal | Fraction, runs: int, keys: int, certain: str) -> None:
    if not tests:
        raise ParameterError("a suite needs at least one check")
    if certain not in ("fail", "pass"):
        raise ParameterError(f"certain is 'fail' or 'pass', got {certain!r}")
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence must be between 0 and 1, got {confidence}")
    if min(runs, keys) < 1:
        raise ParameterError("a suite needs at least one run and one key")


def _check_passes(plan: SuitePlan, first: Fraction) -> None:
    """Refuse limits that a certain pass cannot meet: violations are never below 0.

    A statistic that is compared from below, or with a share, may be as far from its limit as it likes.
    """
    counts = [test for test in plan.tests if test.direction == "above" and not test.rate]
    test = min(counts, key=lambda test: test.limit, default=None)  # what would do for it does for the others
    if test is None or (limit := int(test.limit * plan.lattice)) > plan.known:
        return
    log_chance = _log_of(len(plan.banks) * plan.keys / plan.doubt)
    name = f" of {test.name}" if test.name else ""
    margin = log_chance * plan.first_reach * NANO / plan.first_share / plan.lattice
    half = "half " if test.halved else ""
    raise ParameterError(
        f"{half}the limit{name}, {float(test.limit):g} rows, is below {margin:.1f} rows, the margin of a certain pass "
        f"at epsilon {format_epsilon(plan.epsilon)}: {_needed(limit, plan.first_reach, first, log_chance)}"
    )


def _needed(limit: int, first_reach: int, first: Fraction, log_chance: float) -> str:
    """Return the smallest epsilon at which a limit is above the margin of a certain pass, in words."""

    def suffices(epsilon: int) -> bool:
        share = int(epsilon * first)
        return share > 0 and threshold_reach(share / NANO / first_reach, log_chance) < limit

    most = 10**6 * NANO
    if not suffices(most):
        return "no epsilon would do"
    return f"epsilon {format_epsilon(bisect_left(range(most), True, key=suffices))} would do"


def _log_of(number: Fraction) -> float:
    return math.log(number.numerator) - math.log(number.denominator)
