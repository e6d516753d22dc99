"""The state of a suite after its recorded levels: tests that rang, quiet tests, epsilon left. All of it is public.

A suite's state is a fold over its records: `state.after(plan, verdicts)` for each level, `rearmed` for a check that its
owner re-armed. Nothing secret enters it.

The least epsilon of a re-arm is told from the public spec of a kept suite.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpdb.errors import ParameterError
from dpdb.privacy import format_epsilon
from dpdb.suites.mechanism.capped import Beside, CappedPlan, Cell, NumberBounds, Numbers, bounds_of_number, less_share
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
        """Return what was recorded."""
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
class Numbered:
    """The numbers that some statistics of a key have.

    Attributes
    ----------
    places : dict of int to int
        By statistic, the place of its number.
    rows : dict of int to int
        By the rows that shares are of, the place of their number.
    """

    plan: CappedPlan
    numbers: Numbers
    places: dict[int, int]
    rows: dict[int, int]

    def bounds(self, statistic: int, rate: Fraction | None = None, rows: int | None = None) -> NumberBounds:
        """Return the bounds of a statistic that has a number; of a share of some rows, those of f - p n."""
        found = bounds_of_number(self.plan, self.numbers, self.places[statistic])
        if rate is None or rows is None:
            return found
        return less_share(self.plan, self.numbers, found, rate, self.rows[rows], sign=1)


def share_cells(plan: SuitePlan, cells: Sequence[Cell]) -> list[Cell]:
    """Return the rows that get numbers beside some statistics, by key and place, in the order of their draw."""
    by_key: dict[int, list[int]] = {}
    for key, place in cells:
        by_key.setdefault(key, []).append(place)
    return [(key, rows) for key, places in by_key.items() for rows in plan.rows_of(places)]


def capped_plan(plan: SuitePlan, cells: Sequence[Cell], amount: int, beta: float, rows: Sequence[Cell]) -> CappedPlan:
    """Return how numbers of some statistics are drawn together, with the rows that their shares are of.

    A unit has its rows in any slices: it changes the numbers of one set of rows in all of them by `moved` together.
    """
    moved = tuple(plan.shares.moved[place] for place in dict.fromkeys(place for _, place in rows))
    return CappedPlan(len(cells), plan.unit_reach, amount, beta, rows=Beside(moved, len(rows), len(rows)))


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
    numbers: Numbered | None = None

    @classmethod
    def start(cls, plan: SuitePlan) -> SuiteState:
        """Return the state of a suite before its first level."""
        count = len(plan.tests)
        left = plan.epsilon - plan.first_share
        return cls(1, 0, left, 0, (0,) * count, (None,) * count, (0,) * count, 0)

    def after(self, plan: SuitePlan, verdicts: LevelVerdicts) -> SuiteState:
        """Return the state after one more level of this run."""
        if verdicts.level not in self._following(plan):
            raise ParameterError(f"level {verdicts.level} of the suite is recorded after level {self.level}")
        if not {*verdicts.rings, *verdicts.untested} <= set(range(len(self.rings))):
            raise ParameterError(f"level {verdicts.level} of the suite has verdicts of checks that it does not have")
        quiet, rings, own = list(self.quiet), list(self.rings), list(self.own)
        left, paid, number, untested = self.left, self.paid, self.number, set(verdicts.untested)
        for test in order_of(plan):
            if test in untested:
                continue
            number += 1
            level = plan.level_of(verdicts.level)
            if test not in verdicts.rings:
                quiet[test] = level
                continue
            cost = plan.ring_cost(test, level)
            rings[test] = Ring(level, verdicts.rings[test], quiet[test], number, self.run, cost)
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

    def _following(self, plan: SuitePlan) -> tuple[int, ...]:
        """Return the records that may follow: numbers come after the last level, or a second sweep without any."""
        last = len(plan.levels)
        return (self.level + 1, self.level + 2) if plan.row_local and self.level == last else (self.level + 1,)

    def may_follow(self, plan: SuitePlan, record: int) -> bool:
        """Return whether a record may come next."""
        return record in self._following(plan)

    def with_numbers(
        self, plan: SuitePlan, drawn: Sequence[Numbers], key: int, *, is_other: bool = False
    ) -> SuiteState:
        """Return the state after the numbers that were drawn, of which some may be of this key.

        Where units may have rows in several slices, numbers cost the slices that have none, too: a unit may lose all of
        it by one row in a slice, and has others elsewhere.

        Parameters
        ----------
        is_other
            Whether they are of another reading of the rows than the levels: then a quiet level bounds no number.
        """
        level = len(plan.levels) + 1
        paid = [each for each in drawn if plan.owned or any(cell[0] == key for cell in each.cells)]
        if not paid:
            return replace(self.not_yet_quiet() if is_other else self, level=level)
        [numbers] = paid
        after = replace(self, level=level, left=self.left - numbers.amount, paid=self.paid + numbers.amount)
        places = {line: place for place, (of_key, line) in enumerate(numbers.cells) if of_key == key}
        if not places:
            return after.not_yet_quiet() if is_other else after
        if is_other:
            numbered = {test for place in places for test in plan.row_local[place]}
            after = replace(after, quiet=tuple(0 if t in numbered else q for t, q in enumerate(self.quiet)))
        shares = share_cells(plan, numbers.cells) if numbers.rows else []  # older versions drew none
        capped = capped_plan(plan, numbers.cells, numbers.amount, float(plan.doubt / len(drawn)), shares)
        rows = {line: place for place, (of_key, line) in enumerate(shares) if of_key == key}
        return replace(after, numbers=Numbered(capped, numbers, places, rows))

    def not_yet_quiet(self) -> SuiteState:
        """Return the state before the first level of another reading of the rows: what was quiet may not be now.

        A slice that has numbers is tested no more; what is said of it stays true of the rows that were read for it.
        """
        return self if self.numbers is not None else replace(self, quiet=(0,) * len(self.quiet))

    def open_statistics(self, plan: SuitePlan) -> list[int]:
        """Return the row-local statistics with a test that neither rang nor was quiet at the last level."""
        last = len(plan.levels)
        return [
            place
            for place, tests in enumerate(plan.row_local)
            if any(self.rings[test] is None and self.quiet[test] < last for test in tests)
        ]

    def starved(self, plan: SuitePlan) -> list[int]:
        """Return the tests that would be run if nothing were kept for numbers, of which there are none to come."""
        if self.numbers is not None or self.open_statistics(plan):
            return []
        return [
            test
            for test, quiet in enumerate(self.quiet)
            if self.rings[test] is None and quiet < len(plan.levels) and self.left >= plan.ring_cost(test, quiet + 1)
        ]

    def kept(self, plan: SuitePlan) -> int:
        """Return the nano-epsilon that is kept for numbers, while they may come and a row-local test has not rung."""
        if self.level >= len(plan.levels) or not plan.row_local:  # what is tested then comes after numbers, or has none
            return 0
        rung = all(self.rings[test] is not None for tests in plan.row_local for test in tests)
        return 0 if rung else plan.kept

    def rearmed(self, plan: SuitePlan, test: int, own: int = 0) -> SuiteState:
        """Return the state in which a failed test is tested again: rho kept, noises fresh.

        Parameters
        ----------
        test : int
            Its place in the suite.
        own : int
            Nano-epsilon of its own for the next ring; 0: what the suite has left. Where it could not pay a ring at the
            last level it is added to what the suite has left.
        """
        if self.rings[test] is None:
            raise ParameterError("only a check that failed can be re-armed")
        rings = (*self.rings[:test], None, *self.rings[test + 1 :])
        if own < plan.levels[-1]:
            return replace(self, rings=rings, left=self.left + own)
        return replace(self, rings=rings, own=(*self.own[:test], own, *self.own[test + 1 :]))

    def is_due(self, plan: SuitePlan, test: int, level: int, left: int) -> bool:
        """Return whether a test is run at a level, with `left` nano-epsilon left of the suite.

        It is while a ring of its own can be paid, there and then, beside what is kept for numbers that may follow.
        Nothing is kept for later levels: what is quiet at some level passes within the bound of that level, whether or
        not it can be tested further.

        Proof. A ring is only possible where it can be paid, so rings never cost more than was reserved. The rule reads
        the plan and earlier verdicts alone, and Theorem 5 lets order and later tests depend on those. QED
        """
        if self.rings[test] is not None or self.quiet[test] >= level or self.numbers is not None:
            return False
        return (self.own[test] or left) >= plan.ring_cost(test, level) + self.kept(plan)


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
    """
    mechanism = json.loads(spec).get("mechanism")
    most = 0 if mechanism is None else mechanism["levels"][-1]  # others may keep suites of their own in a ledger
    if epsilon < most:
        raise ParameterError(
            f"epsilon {format_epsilon(epsilon)} is too little: a failure may cost {format_epsilon(most)}; give at "
            "least that, or none, so that the suite pays; nothing was spent"
        )
