"""`SizesRun`: one run that gives every check a number from the start, paid in epsilon or in rho.

All of it is debited first; the numbers of all slices are one record, and nothing is given back
(`dpdb.suites.mechanism.sizes` has what is drawn and its sensitivity).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from dpdb.engine import Progress
from dpdb.ledger import SuiteReservation
from dpdb.names import listed_names
from dpdb.privacy import check_samplers, format_epsilon, format_rho
from dpdb.release import PrivateSlices, SuiteLevel
from dpdb.suites.check import OpenRun
from dpdb.suites.mechanism.capped import STEPS, CappedPlan, CappedSums, Numbers, draw_numbers
from dpdb.suites.mechanism.sizes import SizesPlan, sizes_verdicts
from dpdb.suites.numbers import CappedCount, capped_count, numbers_text, recorded_numbers
from dpdb.suites.results import result_of


@dataclass(frozen=True)
class SizesRun(OpenRun):
    """A run of numbers (implements `dpdb.release.account.SuiteRun`); `plan` has its tests as levels would."""

    sizes: SizesPlan = field(kw_only=True)

    def mechanism(self) -> dict[str, object]:
        """Return all that decides what a number means: no floats."""
        drawn = self.sizes.drawn
        fields = {name: getattr(self.sizes, name) for name in ("lines", "of_rows", "local", "others", "reach", "owned")}
        return {**fields, "steps": STEPS, "moved": drawn.others.moved, "rows": drawn.rows.moved, "shares": drawn.shares}

    def load(self) -> None:
        """Load the samplers and the kernels of the statistics. Reads no row."""
        super().load()
        check_samplers(gaussian=self.sizes.paid == "rho")

    def read(
        self, slices: PrivateSlices, held: SuiteReservation, progress: Progress, compare: Callable[[], None]
    ) -> Callable[[], SuiteLevel | None]:
        """Read the rows of every slice, unless all is recorded; the result draws the numbers of all. Private."""
        del compare
        if held.levels:
            return lambda: None
        given = [self._exact(slices, group) for group in self.sizes.groups]

        def draw() -> SuiteLevel | None:
            if not given:
                return None
            progress("drawing noise")
            drawn = []
            for group, (sums, others, rows) in zip(self.sizes.groups, given, strict=True):
                drawn.append(draw_numbers(self.sizes.drawn, sums, self.sizes.cells(group), 1, others=others, rows=rows))
            given.clear()
            found = [sizes_verdicts(self.sizes, drawn, key) for key in range(self.sizes.keys)]
            failed = {
                self.names[key][test]
                for key, of_key in enumerate(found)
                for test, verdict in enumerate(of_key)
                if verdict.verdict == "fail"
            }
            return SuiteLevel(1, numbers_text(drawn, 1), self.sizes.amount, tuple(sorted(failed)))

        return draw

    def needed(self, test: int) -> int:
        """Return with how many rows a check that fails below its limit surely passes."""
        return math.ceil(self.sizes.tests[test].limit + self.sizes.aim(test))

    def _exact(self, slices: PrivateSlices, group: Sequence[int]) -> tuple[CappedSums, list[int], list[int]]:
        """Read, of a group of slices, what each unit breaks, and the other statistics in steps and rows. Private."""
        plan, predicates = self.sizes, self.slices.predicates
        sums = CappedSums({}, [])
        if plan.local:
            sums = self.counted.broken(slices, predicates, [(key, line) for key in group for line in plan.local])
        others: list[int] = []
        rows: list[int] = []
        if plan.others or plan.rows:
            for key in group:
                counts = self.counted.counts(slices, predicates[key])
                statistic = dict(zip(plan.lines, (count for count, _ in counts), strict=True))
                others += [math.floor(statistic[line] * STEPS) for line in plan.others]
                of = dict(zip(plan.of_rows, (counted for _, counted in counts), strict=True))
                rows += [of[place] for place in range(len(plan.rows))]
        return sums, others, rows

    def answer(self, held: SuiteReservation) -> str:
        """Return the verdicts as JSON."""
        drawn = recorded_numbers(held.levels[1]) or []
        keys = self.slices.keys or (None,)
        lines = self.counted.suite.lines
        checks = [
            result_of(each, lines[each.line].text, lines[each.line].statistic, verdict, since=None, key=key)
            for place, key in enumerate(keys)
            for each, verdict in zip(self.counted.limits, sizes_verdicts(self.sizes, drawn, place), strict=True)
        ]
        in_rho, capped = self.sizes.paid == "rho", self._capped(drawn, keys)
        return self._results(checks, held, self.sizes, in_rho=in_rho, certain=self.sizes.certain, capped=capped)

    def _capped(self, drawn: Sequence[Numbers], keys: Sequence[str | None]) -> tuple[CappedCount, ...]:
        if not self.sizes.local:
            return ()
        of = [None] if self.sizes.owned else keys
        plan, owned = self.sizes.drawn, self.sizes.owned
        return tuple(capped_count(plan, each, key, owned=owned) for each, key in zip(drawn, of, strict=True))


def sizes_words(run: SizesRun) -> list[str]:
    """Return what a run will say, what it costs, and how far its numbers are expected to be off. Public.

    Nothing is read or spent.
    """
    plan, drawn = run.sizes, run.sizes.drawn
    cost = f"rho {format_rho(plan.amount)}" if plan.paid == "rho" else f"epsilon {format_epsilon(plan.amount)}"
    percent = [f"{float(100 * (1 - doubt * (1 - plan.confidence))):.12g}%" for doubt in (1, 2)]
    least = "none within its limit fails" if plan.certain == "fail" else "none beyond its limit passes"
    if any(test.is_shown for test in plan.tests):
        least += " (a count passes only where it is shown)"
    aim = max(map(plan.aim, range(len(plan.tests))))
    capped = "if no unit breaks two of them, " if len(plan.local) * plan.reach > 1 else ""
    return [
        f"{cost} is spent, whatever is found: every check gets a number, and none stays undecided",
        *_what(run),
        *_expected(drawn),
        f"with {percent[0]} for all checks together {least}; with {percent[1]} all bounds hold, and {capped}one that "
        f"passes is at most {_rows(aim)} over its limit",
    ]


def _what(run: SizesRun) -> list[str]:
    plan, lines = run.sizes, run.counted.suite.lines
    unit = "unit" if plan.owned else "row"
    said = []
    if plan.local:
        largest = len(plan.local) * plan.reach * (plan.keys if plan.owned else 1)
        chosen = "k is 1" if largest == 1 else f"k is chosen privately, from 1 to {largest:,}"
        said.append(f"{_checks(len(plan.local))} on single rows: a {unit} counts in at most k of them; {chosen}")
    if plan.others:
        names = listed_names([lines[line].name for line in plan.others][:_MOST_NAMES])
        more = f" and {len(plan.others) - _MOST_NAMES:,} others" if len(plan.others) > _MOST_NAMES else ""
        moved = f"{float(sum(plan.moved)):g}"
        noise = f"k + {moved}" if plan.local and plan.paid == "epsilon" else "all that it changes"
        said.append(
            f"{_checks(len(plan.others))} of other kinds ({names}{more}): a {unit} changes all of them together by at "
            f"most {moved}, and every number has noise for {noise}"
        )
    if plan.rows:
        sets = f"{len(plan.rows):,} sets" if len(plan.rows) > 1 else "the set"
        said.append(f"{sets} of rows that shares are of: a number each, for a tenth of the cost")
    return said


_MOST_NAMES = 5


def _checks(count: int) -> str:
    return f"{count:,} check{'s' * (count > 1)}"


def _expected(plan: CappedPlan) -> list[str]:
    """Say the mean of |noise|: the scale of Laplace noise, sqrt(2 / pi) of it of a Gaussian."""
    mean = 1.0 if plan.paid == "epsilon" else math.sqrt(2 / math.pi)
    ks = (
        plan.candidates
        if len(plan.candidates) < 3
        else (plan.candidates[0], *plan.candidates[3:4], plan.candidates[-1])
    )
    off = [f"{_figure(mean * plan.scale(k) / STEPS)} rows{f' at k = {k:,}' if k else ''}" for k in dict.fromkeys(ks)]
    said = [f"expected error of a number: {', '.join(off)}"]
    if plan.rows.numbers:
        said.append(f"expected error of the rows that a share is of: {_figure(mean * plan.rows_scale)} rows")
    return said


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def _rows(rows: Fraction) -> str:
    return f"{math.ceil(rows):,} rows"
