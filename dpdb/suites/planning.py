"""What a suite can be expected to say, in numbers and words; what would test what a run did not. Public."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpdb.constraints import ROW_COUNT
from dpdb.errors import ParameterError
from dpdb.names import listed_names
from dpdb.privacy import NANO, format_epsilon, format_rho, gaussian_tail, gdp_delta, laplace_tail, parse_epsilon
from dpdb.release import Epsilon
from dpdb.suites.counted import limits_without_table
from dpdb.suites.mechanism.plan import Certain, SuitePlan, Tested
from dpdb.suites.mechanism.planned import plan_suite
from dpdb.suites.results import CheckResults
from dpdb.suites.suite import Suite

if TYPE_CHECKING:
    from dpdb.suites.check import CheckRun

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
        surely within its limit plus `2 zcdp`, against the limit plus `unsure_rows`, however many fail.
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
    checks costs at most level l's amount, and is run there while that is left, beside what is kept for numbers. Those
    that the levels leave open get a number, which finds more of them, but none surely by so few rows.

    Parameters
    ----------
    test : int
        The place of one of the checks.
    rows : int or Fraction
        By how much each of them is over its limit (or under it, where it fails below).
    others_decided : bool
        Whether a test at the last level shall be left for all others, which pass within wider bounds without it.
    """
    limit = int(plan.tests[test].limit * plan.lattice) * plan.tests[test].sign
    excess = limit + math.floor(rows * plan.lattice) - plan.thresholds[test] - plan.known
    offsets = plan.offsets[plan.bank_of[test]]
    level = next((level for level, offset in enumerate(offsets) if offset <= excess), None)
    if level is None:
        return None
    left, last = plan.epsilon - plan.first_share - plan.kept, plan.levels[-1]
    cost = plan.levels[level]
    if others_decided:
        return max(0, left - last) // cost
    return left // cost


def epsilon_for(tests: Sequence[Tested], rows: int | Fraction, confidence: Decimal | Fraction, **options: Any) -> int:
    """Return the smallest nano-epsilon at which `unsure_rows` of a suite is at most so many rows.

    Parameters
    ----------
    **options
        Further ones of `plan_suite`, but for `certain`: the margins are the same for both.
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
    return bisect_left(range(_LARGEST), True, key=suffices)


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


def refuse_too_few(run: CheckRun) -> None:
    """Refuse a check of how new rows are whose fresh rows a run cannot surely tell from none.

    Raises
    ------
    ParameterError
        With the fewest rows that it can; nothing is spent.
    """
    for test, each in enumerate(run.counted.limits):
        needed = run.needed(test)
        if each.rows is None or each.rows >= needed:
            continue
        cost = f"rho {format_rho(run.charge.rho)}" if run.charge.rho else f"epsilon {format_epsilon(run.plan.epsilon)}"
        raise ParameterError(
            f"check {each.name!r}: {each.rows:,} rows are not surely seen at {cost}: {needed:,} are the fewest that "
            f"pass surely ({each.limit.written(ROW_COUNT)}); give more, a longer age, or WITH {needed} ROWS if so many "
            "are there"
        )


def plan_words(plan: SuitePlan, margin: int | None = None) -> list[str]:
    """Return the lines; all of it is public, and nothing is read or spent.

    Parameters
    ----------
    margin : int, optional
        Rows that a verdict may be off: also say the smallest epsilon for that.
    """
    margins = [*_capped(plan), *_margins(plan), *_covers(plan), *_wished(plan, margin)]
    return [_cost(plan), *margins, *_found(plan), *_numbers(plan)]


def planned_words(
    suite: Suite, epsilon: Epsilon, rows: int, *, runs: int = 1, certain: Certain = "fail", margin: int | None = None
) -> list[str]:
    """Plan a suite before there is a table: a row is the unit, and every rule has a closed form.

    Parameters
    ----------
    runs : int
        How often a kept suite will run.
    """
    if rows < 1:
        raise ParameterError(f"rows: a suite is planned for at least one row, got {rows}")
    limits, local = limits_without_table(suite)
    plan = plan_suite(
        [each.tested for each in limits],
        parse_epsilon(epsilon),
        Fraction(99, 100),
        certain=certain,
        runs=runs,
        row_local=local.tests if runs == 1 else (),  # a kept suite has numbers where they are bought
    )
    share = 100 * float(unsure_rows(plan)) / rows
    return [
        *plan_words(plan, margin),
        "every rule is taken to have a closed form; `dpdb check --dry-run` says of which checks the table has none",
        f"of {rows:,} rows, {_rows(unsure_rows(plan))} are {share:.2g}%",
        "nothing was spent",
    ]


def _cost(plan: SuitePlan) -> str:
    return (
        f"epsilon {format_epsilon(plan.epsilon)} is reserved: {_short(plan.first_share)} stays charged if all pass, "
        f"a failure costs from {_short(plan.levels[0])} (plain) to {_short(plan.levels[-1])} (close)"
    )


def _capped(plan: SuitePlan) -> Iterator[str]:
    """Say which mechanism follows the levels: by public facts."""
    count = len(plan.row_local)
    if count and not plan.apart:
        checks = (
            f"{count:,} checks on single rows get numbers" if count > 1 else "the check on single rows gets a number"
        )
        unit = "row" if plan.unit_reach == 1 else "unit"
        yield (
            f"where the levels leave them open, {checks}, for all that is left, at least {_short(plan.kept)}: a {unit} "
            "counts in at most k of them, k is chosen privately, and none stays undecided"
        )
        if rows := len(plan.rows_of(range(count))):
            sets = f"each of the {rows:,} sets of rows that their shares are of gets" if rows > 1 else "the rows get"
            yield f"{sets} a number, too, for a tenth of that"


def _margins(plan: SuitePlan) -> Iterator[str]:
    percent = f"{float(plan.confidence * 100):.12g}%"
    checks = f"all {len(plan.tests)} checks" if len(plan.tests) > 1 else "the check"
    times = f" and {plan.runs} runs" if plan.runs > 1 else ""
    rows = _rows(unsure_rows(plan))
    below = [place for place, test in enumerate(plan.tests) if test.is_shown and plan.shows_below]
    if below:
        needed = max(_aimed(plan, place) for place in below)
        yield (
            f"a count passes only where it is shown, surely with {_rows(needed)} above its limit; with {percent} "
            "for all of them together, none below its limit passes"
        )
    if len(below) == len(plan.tests):
        return
    if plan.certain == "fail":
        yield f"with {percent} for {checks}{times} together, no {'rule' if below else 'check'} within its limit fails"
        yield f"with {percent} for all passes together, one that passes is at most {rows} over its limit"
    else:
        yield f"with {percent} for all passes together, no check over its limit passes"
        half = " (half of it, for a fractional cover)" if any(test.halved for test in plan.tests) else ""
        yield f"with {percent} for {checks}{times} together, none that is {rows} or more within its limit{half} fails"


def _covers(plan: SuitePlan) -> Iterator[str]:
    """Say which checks are tested by a fractional cover, and what their passes are worth."""
    covers = [(place, test) for place, test in enumerate(plan.tests) if test.halves]
    if not covers:
        return
    names = list(dict.fromkeys(test.name for _, test in covers))
    yield (
        f"{listed_names(names)}: tested by a fractional cover, and at most twice as many rows have to go; a failure is "
        "certain"
    )
    if plan.certain == "pass":
        yield "so a pass is: a cover is tested against half of the limit"
        return
    needed = [test.limit + 2 * _aimed(plan, place) for place, test in covers if not test.rate]
    if needed:
        yield f"a cover that is not seen to be above its limit passes with --within {math.ceil(max(needed))}"
    if len(needed) < len(covers):
        yield "a cover with a share as its limit does not pass: how many rows the share is of is private"
    yield "with --certain pass covers are tested against half of their limits, and pass"


def _aimed(plan: SuitePlan, test: int) -> Fraction:
    return Fraction(plan.margins[plan.bank_of[test]] + plan.known, plan.lattice)


def _wished(plan: SuitePlan, margin: int | None) -> Iterator[str]:
    if margin is not None:
        options: dict[str, Any] = {
            "runs": plan.runs,
            "keys": plan.keys,
            "row_local": plan.row_local,
            "apart": plan.apart,
        }
        epsilon = epsilon_for(plan.tests, margin, plan.confidence, **options)
        rounded_up = Decimal(epsilon).scaleb(-9).quantize(Decimal("0.001"), ROUND_CEILING).normalize()
        yield f"for at most {margin:,} row{'s' * (margin > 1)} there: epsilon {rounded_up:f}"


def _found(plan: SuitePlan) -> Iterator[str]:
    least = 1 if plan.certain == "pass" else math.ceil(unsure_rows(plan))
    covers = any(test.halves for test in plan.tests)
    of = " (a fractional cover: by so much of it)" if covers and plan.certain == "fail" else ""
    for rows in (least, *(size for size in (100, 1000, 10_000, 100_000) if size > least)):
        found, decided = surely_found(plan, 0, rows), surely_found(plan, 0, rows, others_decided=True)
        if found is not None and decided is not None and decided >= len(plan.tests):
            yield f"all checks that fail by {rows:,} row{'s' * (rows > 1)}{of} are surely found, however many"
            return
        if found is not None:
            size = f"{rows:,} row{'s' * (rows > 1)}{of}"
            yield f"{found:,} failures by {size} are surely found; {decided:,} leave all others tested to the end"


def _numbers(plan: SuitePlan) -> Iterator[str]:
    numbers = numbers_instead(plan)
    rho = (plan.epsilon / NANO) ** 2 / 2
    yield (
        f"a number for each check instead: within {numbers.pure:,} rows at this epsilon, {numbers.zcdp:,} on a zCDP "
        f"ledger at rho {rho:g}, {numbers.approximate:,} with Gaussian noise at delta 1e-6; --sizes draws them "
        "together, and with --dry-run it says how exact"
    )
    if numbers.better_on_zcdp:
        yield "numbers on a zCDP ledger say more than these verdicts, however many fail"


def _rows(rows: Fraction) -> str:
    return f"{float(rows):,.0f} rows" if rows.denominator == 1 else f"{float(rows):,.1f} rows"


def _short(epsilon: int) -> str:
    return f"{epsilon / NANO:.2g}"


def deciding_words(plan: SuitePlan, results: CheckResults) -> str | None:
    """Return what would test to the end what was not and is no pass; None if there is none, or nothing failed.

    True whatever the rows are: without the rules that failed, and with as much epsilon, every other check is tested at
    the last level until one of them fails, because only failures cost anything. Of a kept suite also what numbers would
    be bought for.
    """
    failed, last = len({check.name for check in results if check.verdict == "fail"}), len(plan.levels)
    if not failed or all(check.level == last or check.verdict in ("pass", "fail") for check in results):
        return None
    fewer = f"a suite without the {'rule' if failed == 1 else f'{failed} rules'} that failed"
    fewer = f"Run {fewer}" if results.name is None else f"Close {results.name!r}, and keep {fewer}"
    words = f"{fewer}: it tests the others to the end, as long as none of them fails."
    open_ = sum(
        any(results[test].verdict != "fail" and results[test].level < last for test in tests)
        for tests in plan.row_local
    )
    if plan.apart and open_:
        checks = f"the {open_} checks on single rows that are" if open_ > 1 else "the check on single rows that is"
        words += (
            f" Or buy numbers for {checks} open: --numbers E for an entry of its own, --numbers left for all that "
            f"{results.name!r} has left, which closes it."
        )
    return words
