"""`draw_step`: the worst check is chosen and measured, then the next one; paid in rho. The mechanism, with its proof.

A **list** holds tests of one direction: x_i = f_i - T_i, negated where a check fails below its limit, and one unit
changes each by a to b, a <= 0 <= b, R = b - a. Levels l = 1, ..., L have steps of cost c_l = c_L / 2^(L - l). A step of
level l names j, a noisily largest of the open x_i, with Gumbel noise of scale R / eta_l, eta_l = sqrt(8 (.6 c_l)), and
measures y = x_j + discrete Gaussian noise of sensitivity max(b, -a) and rho .4 c_l. If y - z sigma > 0, check j
**fails**, leaves, and the level goes on. Otherwise the level is over: every open check is at most

    y + z sigma + R ln(2 m n s (s + 1) / beta) / eta_l

beyond its limit, for the s-th step of the level, n pairs of list and level in all slices, m tests of the list. After L,
or when the next step cannot be paid, what is open passes within the smallest bound of its levels.

**Theorem 7.** All steps together are rho-zCDP, and a run that ends early has spent exactly the sum of its steps.

Proof. Noisy max with Gumbel noise is the exponential mechanism, whose range is bounded by eta, so it costs eta^2 / 8 =
.6 c_l (`dpdb.privacy.bounded_range_max`; Dong, Durfee and Rogers 2020; Cesar and Rogers 2021), and the Gaussian .4 c_l;
both whatever was published before. The cost of a step is fixed before it is drawn, and whether there is a next one is
read off published values alone. Steps stop before their sum is more than rho: a filter (Feldman and Zrnic 2021;
Whitehouse, Ramdas, Rogers and Wu 2023). What was published then is the whole output of a mechanism whose realised costs
add up to the sum, so a filter of all releases may count that sum. QED

Slices are disjoint: each has its steps, and the dearest one is charged (of a unit whose K rows lie in several the
squares of the parts of K add up to at most K^2).

**Bounds.** At step s of a list and level the choice misses the largest x by more than R ln(2 m n s (s + 1) / beta) /
eta with probability at most beta / (2 n s (s + 1)), because each candidate that much lower wins at most exp of minus
that times the chance of the best one. y is off by more than z sigma on one side with beta / (4 n s (s + 1)). Sums over
s, levels, lists and slices: all fails, numbers and bounds hold together but for beta.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

from dpdb.errors import ParameterError
from dpdb.privacy import bounded_range_max, discrete_gaussian, format_rho, gaussian_scale, gaussian_tail, gumbel_scale
from dpdb.suites.mechanism.bounds import Verdict, fewest_rows, in_rows, rows_beyond
from dpdb.suites.mechanism.plan import Bank, Tested, banks_of, steps_per_row

LEVELS = 16
_LAST = 8  # of rho, what a step of the last level costs
_CHOICE = (3, 5)  # of a step's cost, for the name


@dataclass(frozen=True)
class WorstPlan:
    """All that is public about a run.

    Attributes
    ----------
    tests : tuple of Tested
        In the order of the file.
    rho : int
        Pico-rho that all steps of a slice may cost.
    confidence : Fraction
        For all fails, numbers and bounds together.
    keys : int
        How many slices.
    lattice : int
        Steps per row.
    costs : tuple of int
        Pico-rho of a step, by level.
    """

    tests: tuple[Tested, ...]
    rho: int
    confidence: Fraction
    keys: int
    lattice: int
    lists: tuple[Bank, ...]
    costs: tuple[int, ...]

    def limit(self, test: int) -> int:
        """Return T, oriented, in steps."""
        tested = self.tests[test]
        return int(tested.limit * self.lattice) * tested.sign

    def steps(self, test: int, count: int | Fraction, counted: int = 0) -> int:
        """Return the statistic of a test in steps; see `SuitePlan.steps`."""
        rate = self.tests[test].rate
        return int((count - (0 if rate is None else rate * counted)) * self.lattice)

    @cached_property
    def shares(self) -> tuple[tuple[int, int], ...]:
        """By level, pico-rho of the name and of the number."""
        return tuple((cost * _CHOICE[0] // _CHOICE[1], cost - cost * _CHOICE[0] // _CHOICE[1]) for cost in self.costs)

    def moved(self, place: int) -> int:
        """Return by how much one unit changes an x of a list, in steps."""
        bank = self.lists[place]
        return max(bank.high, -bank.low)

    @property
    def _doubt(self) -> float:
        return float(1 - self.confidence) / (self.keys * len(self.lists) * len(self.costs))

    def off(self, place: int, level: int, step: int) -> int:
        """Return z sigma of a step, in steps of the lattice."""
        sigma = gaussian_scale(self.moved(place), self.shares[level - 1][1])
        return gaussian_tail(sigma, self._doubt / (4 * step * (step + 1)))

    def missed(self, place: int, level: int, step: int) -> int:
        """Return by how much the choice of a step may miss the largest x, in steps of the lattice."""
        bank = self.lists[place]
        scale = gumbel_scale(bank.reach, self.shares[level - 1][0])
        return math.ceil(scale * math.log(2 * len(bank.tests) * step * (step + 1) / self._doubt) * (1 + 1e-9))

    @cached_property
    def list_of(self) -> dict[int, int]:
        """By test, the place of its list."""
        return {test: place for place, bank in enumerate(self.lists) for test in bank.tests}

    def aim_of(self, test: int) -> int:
        """Return the steps beyond its limit within which a check that is at it passes, if all levels are through."""
        place, last = self.list_of[test], len(self.costs)
        return 2 * self.off(place, last, 1) + self.missed(place, last, 1)


def plan_worst_first(tests: Sequence[Tested], rho: int, confidence: Fraction, *, keys: int = 1) -> WorstPlan:
    """Return how a suite is tested in rho. A run in which all passes costs a quarter, in however many lists."""
    lattice = steps_per_row(tests)
    lists = banks_of(tests, lattice)
    last = rho // (_LAST * len(lists))
    costs = tuple(last >> below for below in range(LEVELS - 1, -1, -1))
    if costs[0] < 10 or any(bank.reach > 2**40 for bank in lists):
        raise ParameterError(f"rho {format_rho(rho)} is too small for a suite of checks")
    return WorstPlan(tuple(tests), rho, confidence, keys, lattice, lists, costs)


@dataclass(frozen=True)
class Step:
    """What a step has published; to be recorded before anything of it is shown.

    Attributes
    ----------
    key, place, level, step : int
        The slice, the list, the level and the step of it, the last two from 1.
    number : int
        y, in steps of the lattice.
    reading : int
        Which reading of the rows it is of: one that follows a kill in an append-only ledger may be of more rows.
    """

    key: int
    place: int
    level: int
    step: int
    test: int
    number: int
    reading: int = 1

    def to_json(self) -> str:
        """Return the record; of a first reading as versions before wrote it."""
        fields = {name: value for name, value in vars(self).items() if name != "reading" or value > 1}
        return json.dumps({"kind": "step", **fields}, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Step:
        """Return what was recorded."""
        try:
            record = json.loads(text)
            return cls(**{name: int(({"reading": 1} | record)[name]) for name in cls.__dataclass_fields__})
        except (KeyError, TypeError, ValueError):
            raise ParameterError("a recorded step of the suite cannot be read") from None


@dataclass(frozen=True)
class WorstState:
    """Where one slice stands after its recorded steps. Public.

    Attributes
    ----------
    level, place, step : int
        The next step: its level, list and number there.
    spent : int
        Pico-rho of all steps.
    failed : dict of int to Step
        By test that failed, the step that found it.
    within : dict of int to (int, int)
        By test, the smallest bound beyond its limit in steps of the lattice, and the level that gave it: of those steps
        that are of the newest reading, because a bound of fewer rows bounds none of more. Of a test that failed it is
        of the reading in which it did.
    """

    level: int = 1
    place: int = 0
    step: int = 1
    spent: int = 0
    failed: dict[int, Step] = field(default_factory=dict)
    within: dict[int, tuple[int, int]] = field(default_factory=dict)
    reading: int = 1

    def open_tests(self, plan: WorstPlan) -> list[int]:
        """Return the tests of the next step's list that have not failed."""
        return [test for test in plan.lists[self.place].tests if test not in self.failed]

    def is_over(self, plan: WorstPlan) -> bool:
        """Return whether there is no next step: all levels are through, or it cannot be paid."""
        return self.level > len(plan.costs) or self.spent + plan.costs[self.level - 1] > plan.rho

    def after(self, plan: WorstPlan, found: Step) -> WorstState:
        """Return the state after a recorded step."""
        if (found.level, found.place, found.step) != (self.level, self.place, self.step):
            raise ParameterError("a step of the suite is recorded out of its order")
        if found.reading != self.reading:
            kept = {test: bound for test, bound in self.within.items() if test in self.failed}
            return replace(self, within=kept, reading=found.reading).after(plan, found)
        spent = self.spent + plan.costs[self.level - 1]
        off = plan.off(self.place, self.level, self.step)
        if found.number > off:
            failed = {**self.failed, found.test: found}
            state = replace(self, spent=spent, failed=failed, step=self.step + 1)
            return state if state.open_tests(plan) else state._next_list(plan)
        bound = found.number + off + plan.missed(self.place, self.level, self.step)
        known = dict(self.within)
        for test in self.open_tests(plan):
            known[test] = min(known.get(test, (bound, self.level)), (bound, self.level))
        return replace(self, spent=spent, within=known)._next_list(plan)

    def _next_list(self, plan: WorstPlan) -> WorstState:
        """Go on with the next list that has an open test, on this level or a later one; over if none has."""
        level, place = self.level, self.place
        for _ in plan.lists:
            level, place = (level, place + 1) if place + 1 < len(plan.lists) else (level + 1, 0)
            state = replace(self, level=level, place=place, step=1)
            if level > len(plan.costs) or state.open_tests(plan):
                return state
        return replace(self, level=len(plan.costs) + 1, place=0, step=1)


def draw_step(plan: WorstPlan, statistics: Sequence[int], state: WorstState, key: int, reading: int = 1) -> Step:
    """Draw the next step. Costs what `plan.costs` says of its level.

    Parameters
    ----------
    statistics : sequence of int
        By test, in steps of the lattice, not negated. Private.
    state : WorstState
        Not over.
    reading : int
        Which reading of the rows the statistics are of.
    """
    bank, (choice, measured) = plan.lists[state.place], plan.shares[state.level - 1]
    tests = state.open_tests(plan)
    excess = [statistics[test] * plan.tests[test].sign - plan.limit(test) for test in tests]
    named = bounded_range_max(excess, bank.low, bank.high, choice)
    number, _ = discrete_gaussian(excess[named], plan.moved(state.place), measured)
    return Step(key, state.place, state.level, state.step, tests[named], number, reading)


def worst_verdicts(plan: WorstPlan, state: WorstState) -> list[Verdict]:
    """Return the verdict of each test after the steps recorded: all hold together with the plan's confidence.

    A check that fails below its limit passes only where its bound is within that, as by levels.
    """
    return [_verdict(plan, state, test) for test in range(len(plan.tests))]


def _verdict(plan: WorstPlan, state: WorstState, test: int) -> Verdict:
    limit, tested = plan.limit(test), plan.tests[test]
    aim = _beyond_limit(plan, test, limit + plan.aim_of(test))
    found, bound = state.failed.get(test), state.within.get(test)
    if found is None:
        if bound is None:
            return Verdict("undecided", 0, None, None, aim=aim)
        bounds = _in_rows(plan, test, None, limit + bound[0])
        within = rows_beyond(tested, *bounds)
        if tested.is_shown and within > 0:  # not shown to have arrived
            return Verdict("fail", bound[1], *bounds, 1, aim=aim)
        return Verdict("pass", bound[1], *bounds, within=within, aim=aim)
    off = plan.off(found.place, found.level, found.step)
    upper = found.number + off if bound is None else min(found.number + off, bound[0])
    lower = found.number - off
    return Verdict("fail", found.level, *_in_rows(plan, test, limit + lower, limit + max(lower, upper)), 1, aim=aim)


def _in_rows(
    plan: WorstPlan, test: int, lower: int | None, upper: int | None
) -> tuple[Fraction | None, Fraction | None]:
    tested = plan.tests[test]
    return fewest_rows(tested, *in_rows(tested, plan.lattice, lower, upper))


def _beyond_limit(plan: WorstPlan, test: int, bound: int) -> Fraction:
    return rows_beyond(plan.tests[test], *_in_rows(plan, test, None, bound))
