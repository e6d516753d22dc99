"""`SizesPlan`: numbers of all checks from the start: what is drawn, at which sensitivity, and what it says of a check.

Every line has one number, whatever its limits: of a **row-local** line a capped one, of every other line its statistic
as it is; and each distinct set of rows that a share is of has a number. Theorem 6 and its corollary
(`dpdb.suites.mechanism.capped`) give the sensitivity: k + the sum of the reaches r_j of the other lines, in all slices
together, and for the rows the sum of theirs. r_j is what one unit changes the line's statistic by at most
(`dpdb.suites.counted.counted_suite`): K rows of a unit change it one after another, each in its own slice.

Where units own rows in any slice, all slices are one draw. Else they are drawn one by one, each at the whole amount: a
row is in one slice; of a unit of K rows that nothing tells apart no line is capped, and if K' of its rows are in a
slice, all numbers there move by K' / K of their sensitivity: the losses add up to the amount at most (in rho squares).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from dpdb.errors import ParameterError
from dpdb.suites.mechanism.bounds import Verdict, fewest_rows, rows_beyond
from dpdb.suites.mechanism.capped import (
    STEPS,
    Beside,
    CappedPlan,
    Cell,
    NumberBounds,
    Numbers,
    Paid,
    less_share,
    most_lost,
)
from dpdb.suites.mechanism.plan import Certain, Tested


@dataclass(frozen=True)
class SizesPlan:
    """All that is public about a run that gives every check a number.

    Attributes
    ----------
    tests : tuple of Tested
        In the order of the file.
    lines : tuple of int
        By test, the line whose statistic it reads.
    of_rows : tuple of (int or None)
        By test, the place in `rows` of what its share is of; None if its limit is none.
    others : tuple of int
        All other lines.
    moved : tuple of Fraction
        By other line, how many rows one unit changes its statistic by at most.
    rows : tuple of int
        By set of rows that shares are of, how many of them one unit has at most.
    reach : int
        K: by how much one unit changes a row-local statistic.
    owned : bool
        Whether a unit may have rows in several slices.
    keys : int
        How many slices.
    amount : int
        Nano-epsilon or pico-rho of all draws.
    certain : str
        Which verdict is certain: `fail` or `pass`.
    paid : str
        `epsilon` or `rho`.
    """

    tests: tuple[Tested, ...]
    lines: tuple[int, ...]
    of_rows: tuple[int | None, ...]
    local: tuple[int, ...]
    others: tuple[int, ...]
    moved: tuple[Fraction, ...]
    rows: tuple[int, ...]
    reach: int
    owned: bool
    keys: int
    amount: int
    confidence: Fraction
    certain: Certain = "fail"
    paid: Paid = "epsilon"

    @property
    def groups(self) -> list[list[int]]:
        """The slices that are drawn together."""
        return [[*range(self.keys)]] if self.owned else [[key] for key in range(self.keys)]

    @cached_property
    def drawn(self) -> CappedPlan:
        """What is drawn of each group of slices; their doubts add up."""
        together = self.keys if self.owned else 1
        return CappedPlan(
            count=len(self.local) * together,
            reach=self.reach,
            amount=self.amount,
            beta=float(1 - self.confidence) * together / self.keys,
            paid=self.paid,
            others=Beside(
                moved=tuple((each * STEPS).__ceil__() for each in self.moved),
                numbers=len(self.others) * together,
                sides=sum(len(self._directions(line)) for line in self.others) * together,
            ),
            rows=Beside(
                self.rows, len(self.rows) * together, sum(map(self._sides_of, range(len(self.rows)))) * together
            ),
        )

    def _directions(self, line: int) -> set[int]:
        return {test.sign for test, of in zip(self.tests, self.lines, strict=True) if of == line}

    def _sides_of(self, rows: int) -> int:
        return len({test.sign for test, of in zip(self.tests, self.of_rows, strict=True) if of == rows})

    def cells(self, group: Sequence[int]) -> list[Cell]:
        """Return the slice and line of each number of a group, in the order in which they are drawn."""
        return [(key, line) for lines in (self.local, self.others) for key in group for line in lines]

    def aim(self, test: int) -> Fraction:
        """Return by how many rows a check at its limit may seem beyond it, if k = 1 loses nothing: what is aimed at."""
        tested, plan = self.tests[test], self.drawn
        most = plan.candidates[0]
        lost = plan.lost_tail if self.lines[test] in self.local and not plan.caps_nothing(most) else 0
        width = Fraction(plan.below(most) + plan.above(most) + lost, STEPS)
        if self.of_rows[test] is not None:
            width += (tested.rate or 0) * (plan.rows_off(None) + plan.rows_off(most))
        bound = tested.limit + tested.sign * width
        lower, upper = (None, bound) if tested.sign > 0 else (bound, None)
        return rows_beyond(tested, *fewest_rows(tested, lower, upper))


def plan_sizes(plan: SizesPlan) -> SizesPlan:
    """Return the plan, with what is tested where a pass shall be certain."""
    plan.drawn.refuse_too_small()
    if plan.certain == "fail":
        return plan
    found = replace(plan, tests=tuple(test.for_certain_pass() for test in plan.tests))
    most = found.drawn.candidates[0]
    least = Fraction(found.drawn.above(most), STEPS)
    for test in found.tests:
        if test.direction == "above" and not test.rate and test.limit < least:
            half = "half of " if test.halved else ""
            raise ParameterError(
                f"{half}the limit of {test.name}, {float(test.limit):g} rows, is below {float(least):.1f} rows, which "
                "a number of 0 may stand for: it could hardly pass; give more, or leave out certain 'pass'"
            )
    return found


def sizes_verdicts(plan: SizesPlan, drawn: Sequence[Numbers], key: int) -> list[Verdict]:
    """Return the verdict of each test in a slice, by the numbers of all groups.

    With the plan's confidence 1 - beta no check within its limit fails; where passes are certain, and of checks that
    fail below their limits, none beyond it passes. With 1 - 2 beta all bounds hold, too.
    """
    of_key = next(numbers for numbers, group in zip(drawn, plan.groups, strict=True) if key in group)
    return [_Read(plan, of_key, key).verdict(test) for test in range(len(plan.tests))]


@dataclass(frozen=True)
class _Read:
    """The numbers of a slice, as its tests read them."""

    plan: SizesPlan
    numbers: Numbers
    key: int

    def verdict(self, test: int) -> Verdict:
        plan, tested = self.plan, self.plan.tests[test]
        of = self._statistic(test)
        place = plan.of_rows[test]
        if place is not None and tested.rate is not None:
            group = next(group for group in plan.groups if self.key in group)
            rows = group.index(self.key) * len(plan.rows) + place
            of = less_share(plan.drawn, self.numbers, of, tested.rate, rows, sign=tested.sign)
        number, lower, upper = of.number, of.lower, of.upper
        above = tested.sign > 0
        # What is to arrive has not until it is seen, whatever is certain of the others.
        surely = lower if plan.certain == "fail" else upper
        fails = surely > tested.limit if above else lower < tested.limit
        bounds = fewest_rows(tested, lower, upper)
        known = (bounds[1] if above else bounds[0]) is not None
        within = rows_beyond(tested, *bounds) if known and not fails else None
        number = max(Fraction(0), number) if tested.rate is None else number
        run = 1 if fails else None
        return Verdict("fail" if fails else "pass", 1, *bounds, run, within, plan.aim(test), number)

    def _statistic(self, test: int) -> NumberBounds:
        """Return the number of a test's line and the bounds of its statistic, each at a value that it may have."""
        plan, line, tested = self.plan.drawn, self.plan.lines[test], self.plan.tests[test]
        value = self.numbers.values[self.numbers.cells.index((self.key, line))]
        for_fails, for_bounds = plan.below(self.numbers.most), plan.above(self.numbers.most)
        down, up = (for_fails, for_bounds) if tested.sign > 0 else (for_bounds, for_fails)
        if line in self.plan.local:
            up += most_lost(plan, self.numbers)
        step = Fraction(1, 10**6) if tested.bits else Fraction(1, 2) if tested.halves else Fraction(1)
        rounded = 1 if tested.bits else 0  # down to a step; all others are on one
        lower = max(Fraction(0), (Fraction(value - down, STEPS) / step).__ceil__() * step)
        upper = (Fraction(value + up + rounded, STEPS) / step).__floor__() * step
        return NumberBounds(lower, max(lower, upper), Fraction(value, STEPS))
