"""`run_check`: one run of a suite of checks over a session's table: verdicts under one debit, paid for by failures.

The debit of all epsilon and the hidden thresholds are one transaction; each level is recorded before anything of it is
shown; at the end the charge is lowered to the first share and the rings (`dpdb.suites.mechanism.levels` has the
mechanism and its proof, `dpdb.ledger.ledger_suites` why the settled charge is sound).

`Standing` is where a suite stands, from what a ledger has recorded of it: levels of its runs, and checks that were
re-armed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from dpdb.engine import Progress
from dpdb.ledger import RecordedLevel, RecordedRearm, SuiteReservation
from dpdb.privacy import as_float, check_samplers, format_epsilon, format_rho, rho_as_float
from dpdb.release import (
    Charge,
    PrivateSlices,
    Session,
    Slices,
    SuiteLevel,
)
from dpdb.suites.counted import CountedSuite
from dpdb.suites.mechanism.bounds import verdicts
from dpdb.suites.mechanism.levels import draw_secret, run_level
from dpdb.suites.mechanism.plan import SuitePlan
from dpdb.suites.mechanism.state import LevelVerdicts, SuiteState, spent
from dpdb.suites.numbers import Counts, capped_counts, drawn_numbers, numbers_level, recorded_numbers
from dpdb.suites.result import COVER, CheckResult
from dpdb.suites.results import CheckResults, public_results, result_of
from dpdb.suites.schema_checks import judged_schema
from dpdb.suites.suite import Suite

if TYPE_CHECKING:
    from dpdb.suites.mechanism.sizes import SizesPlan
    from dpdb.suites.mechanism.worst_first import WorstPlan
    from dpdb.suites.tables.counted_set import CountedSet


def run_check(session: Session, run: CheckRun) -> CheckResults:
    """Run a prepared suite of checks over the session's table.

    Raises
    ------
    DpdbError
        As `Session.release`; a run that was killed is finished by the same run id.
    """
    return run.shown(session.run_suite(run))


def check_columns(session: Session, suite: Suite) -> CheckResults:
    """Return the verdicts of a suite whose checks are all of the columns: nothing runs, and nothing is spent."""
    return public_results(judged_schema(suite.schema, session.public.opened.schema))


@dataclass(frozen=True)
class CheckRun:
    """A run of a suite, checked and ready for its debit (implements `dpdb.release.account.SuiteRun`)."""

    charge: Charge
    name: str | None
    counted: CountedSuite | CountedSet
    plan: SuitePlan
    slices: Slices
    within: float | None = None
    day: date | None = None
    now: str | None = None
    schema: tuple[CheckResult, ...] = ()

    @property
    def deciding(self) -> SuitePlan | None:
        """The plan that says what would decide what is undecided; None if more would not."""
        return self.plan

    @property
    def others(self) -> tuple[str, ...]:
        """The other tables that are read, as its lines call them."""
        return self.counted.others

    @property
    def names(self) -> list[list[str]]:
        """The name of each test in a ledger, by slice: a check may fail in each."""
        names = [each.name for each in self.counted.limits]
        return (
            [names] if self.slices.keys is None else [[f"{name} [{key}]" for name in names] for key in self.slices.keys]
        )

    @property
    def spec(self) -> str:
        """The request, and all that decides what a gap, a level and the hidden thresholds mean: no floats.

        A run of the same suite elsewhere, or by another version, must have all of it.
        """
        lines = self.counted.suite.lines
        checks = [
            {
                "name": each.name,
                "rule": lines[each.line].text,
                "limit": each.limit.identity(),
                "statistic": COVER if each.tested.halves else lines[each.line].statistic,
                "low": str(each.tested.low),
                "high": str(each.tested.high),
            }
            for each in self.counted.limits
        ]
        return json.dumps(
            {**self.charge.request, "checks": checks, "mechanism": self.mechanism()}, sort_keys=True, default=str
        )

    def mechanism(self) -> dict[str, object]:
        """Return all that decides what a gap, a level and the hidden thresholds mean."""
        fields = ("lattice", "first_share", "first_reach", "levels", "offsets", "thresholds")
        return {name: getattr(self.plan, name) for name in fields}

    @property
    def why_no_numbers(self) -> str | None:
        """Why no numbers follow the levels though checks are on single rows; None if they do, or none is."""
        local = self.counted.row_local
        if self.plan.row_local or not (local.covers_all and local.tests):
            return None
        return (
            "no numbers follow: units have several rows, so numbers would cost all rows of the table, and this run "
            "costs only those of its condition; without it they follow"
        )

    def load(self) -> None:
        """Load the samplers and the kernels of the statistics. Reads no row."""
        check_samplers(gaussian=False)
        self.counted.rehearse(self.slices.predicates[0])  # every slice counts as many
        self.counted.load()

    def rehearse(self, slices: PrivateSlices) -> None:
        """Ask what `read` will ask, of a table without rows."""
        self.counted.ask_of_no_rows(slices, self.slices.predicates)

    def rehearse_beside(self, name: str, slices: PrivateSlices) -> None:
        """Ask what `read` will ask of another table, of one without rows."""
        assert isinstance(self.counted, CountedSuite), "sets of one unit compare no tables"
        self.counted.ask_beside(name, slices)

    def make_secret(self) -> str:
        """Draw the hidden thresholds."""
        return draw_secret(self.plan)

    def read(
        self, slices: PrivateSlices, held: SuiteReservation, progress: Progress, compare: Callable[[], None]
    ) -> Callable[[], SuiteLevel | None]:
        """Read the rows of every slice, unless all is recorded; the result draws level after level. Private.

        Each level is of every slice together, and is to be recorded before the next. Numbers of what is open follow the
        last level, from one more reading of the rows; or, where nothing is open, what starved goes on.
        """
        now, names = self._standing(held), self.names
        states = now.states
        exact: list[list[int]] = [[]] * len(states)  # by slice and test, in steps
        counts: list[Counts] = [[]] * len(states)
        begins, numbers_next = next_record(self.plan, states), len(self.plan.levels) + 1
        counts_rows = len(states) > 1 or self.plan.shares.moved  # another slice may go on after numbers
        if begins is not None and (begins != numbers_next or counts_rows):
            counts = [self.counted.counts(slices, predicate) for predicate in self.slices.predicates]
            exact = [self.steps(of_slice) for of_slice in counts]
        quiet_before = now.reading > 0 and not held.same_rows  # of rows that may be others now: tested again
        reading = now.reading + 1 if quiet_before else max(now.reading, 1)

        def numbers() -> SuiteLevel:
            """Draw numbers of what is open."""
            nonlocal states, quiet_before
            drawn = drawn_numbers(self.plan, self.counted, states, slices, self.slices.predicates, counts=counts)
            compare()
            level, states = numbers_level(self.plan, names, drawn, states, reading, is_other=quiet_before)
            quiet_before = False
            return level

        def draw() -> SuiteLevel | None:
            """Test what is due at the next level, in every slice; return None after the last one."""
            nonlocal states, quiet_before
            level = next_record(self.plan, states)
            if level is None:
                return None
            if level == numbers_next:
                return numbers()
            if quiet_before:
                states, quiet_before = tuple(state.not_yet_quiet() for state in states), False
            found = [
                run_level(self.plan, held.secret, level, steps, state, key=key)
                for key, (steps, state) in enumerate(zip(exact, states, strict=True))
            ]
            states = tuple(state.after(self.plan, one) for state, one in zip(states, found, strict=True))
            failed = {names[key][test] for key, one in enumerate(found) for test in one.rings}
            cost = max(spent(self.plan, state) for state in states)
            return SuiteLevel(level, level_text(found, reading, self.day, self.now), cost, tuple(sorted(failed)))

        progress("drawing noise")
        return draw

    def needed(self, test: int) -> int:
        """Return with how many rows a check that fails below its limit surely passes."""
        aim = Fraction(self.plan.margins[self.plan.bank_of[test]] + self.plan.known, self.plan.lattice)
        return ceil(self.plan.tests[test].limit + aim)

    def steps(self, counts: Counts) -> list[int]:
        """Return the statistic of each test in steps, from the exact counts of a slice. Private."""
        return [self.plan.steps(test, count, rows) for test, (count, rows) in enumerate(counts)]

    def _standing(self, held: SuiteReservation) -> Standing:
        return standing(self.plan, self.names[0], held.history, held.run_id)  # what is re-armed has no slices

    def shown(self, answer: str) -> CheckResults:
        """Return a recorded answer of this run, with its passes held to `within`, and the checks of the columns."""
        return CheckResults.from_dict(json.loads(answer)).asked_within(self.within).before(self.schema)

    def answer(self, held: SuiteReservation) -> str:
        """Return the verdicts as JSON."""
        keys = self.slices.keys or (None,)
        checks: list[CheckResult] = []
        now = self._standing(held)
        for key, state in zip(keys, now.states, strict=True):
            for test, (each, verdict) in enumerate(zip(self.counted.limits, verdicts(self.plan, state), strict=True)):
                line = self.counted.suite.lines[each.line]
                since = now.since.get(test, "")[:10] or None  # the time of day tells how long private work took
                checks.append(result_of(each, line.text, line.statistic, verdict, since=since, key=key))
        paid = held.spent if self.name is None else held.reserved
        return CheckResults(
            tuple(checks),
            confidence=float(self.plan.confidence),
            epsilon_reserved=as_float(held.reserved),
            epsilon=as_float(paid),
            run_id=cast(str, self.charge.run_id),
            name=self.name,
            run=None if self.name is None else now.states[0].run,
            runs=None if self.name is None else self.plan.runs,
            now=self.now,
            certain=self.plan.certain,
            below="pass" if self.plan.shows_below and any(test.is_shown for test in self.plan.tests) else "fail",
            capped=capped_counts(now.states, keys, owned=self.counted.row_local.owned),
            guarantee=f"what is shown tells at most epsilon {format_epsilon(paid)} about adding or removing "
            f"{self.counted.protects} (pure differential privacy; the loss is that of what was published), for any "
            "unknown number of rows",
        ).to_json()


@dataclass(frozen=True)
class OpenRun(CheckRun):
    """A run that hides no threshold, so that more epsilon would decide nothing that is undecided."""

    @property
    def deciding(self) -> SuitePlan | None:
        """None: nothing else would be tested."""
        return None

    def make_secret(self) -> str:
        """Return nothing: no threshold is hidden."""
        return "{}"

    def _results(
        self,
        checks: list[CheckResult],
        held: SuiteReservation,
        plan: SizesPlan | WorstPlan,
        *,
        in_rho: bool,
        **more: Any,
    ) -> str:
        """Return verdicts with what they cost, as JSON."""
        protects = f"adding or removing {self.counted.protects}"
        if in_rho:
            paid = {"rho_reserved": rho_as_float(held.reserved), "rho": rho_as_float(held.spent)}
            promise = f"is rho-zCDP with rho = {format_rho(held.spent)} for {protects} (zero-concentrated"
        else:
            paid = {"epsilon_reserved": as_float(held.reserved), "epsilon": as_float(held.spent)}
            promise = f"tells at most epsilon {format_epsilon(held.spent)} about {protects} (pure"
        return CheckResults(
            tuple(checks),
            **{"epsilon_reserved": None, "epsilon": None, **paid, **more},
            confidence=float(plan.confidence),
            run_id=cast(str, self.charge.run_id),
            now=self.now,
            below="pass" if any(test.is_shown for test in plan.tests) else "fail",
            guarantee=f"what is shown {promise} differential privacy), for any unknown number of rows",
        ).to_json()


@dataclass(frozen=True)
class Standing:
    """Where a suite stands at one point of one run.

    Attributes
    ----------
    states : tuple of SuiteState
        By slice.
    since : dict of int to str
        The day, or the time, at which each test failed whose failure is of an earlier run.
    reading : int
        How often the run has read the rows; 0 if it has recorded no level.
    """

    states: tuple[SuiteState, ...]
    since: dict[int, str]
    reading: int


class _Begun(NamedTuple):
    """The progress of a run: by slice its last level and the quiet tests, and the number of its last reading."""

    slices: tuple[tuple[int, tuple[int, ...]], ...]
    reading: int


def level_text(found: Sequence[LevelVerdicts], reading: int, day: date | None = None, now: str | None = None) -> str:
    """Return the record of one level: its verdicts by slice, and the number of the reading of the rows, from 1 on.

    Beside them stands the day of which the run's data are, where it was said: a backfill fails on that day. And the
    moment by which rows are new, where a check asks for that: a run that was killed goes on with it.
    """
    of_run = {"day": None if day is None else day.isoformat(), "now": now}
    said = {name: text for name, text in of_run.items() if text is not None}
    return json.dumps({"reading": reading, "slices": [one.to_json() for one in found], **said})


def recorded_verdicts(answer: str) -> tuple[list[LevelVerdicts], int]:
    """Return what `level_text` recorded: the verdicts by slice, and the number of the reading."""
    record = json.loads(answer)
    return [LevelVerdicts.from_json(text) for text in record["slices"]], int(record["reading"])


def standing(
    plan: SuitePlan, names: Sequence[str], history: Sequence[RecordedLevel | RecordedRearm], run_id: str
) -> Standing:
    """Replay what was recorded, in order, up to now, as a run sees it.

    What is left, failures and re-armed checks belong to the suite; the level and who was quiet to each run. A run that
    was killed may be finished after others, and on other rows: to have been quiet before says nothing of those, and
    where too little is left to test a check again at the levels that follow, nothing is known of it. Where the ledger
    has compared the rows they are the same, and the reading goes on (`SuiteReservation.same_rows`).

    Parameters
    ----------
    history
        What was recorded, in order.
    """
    states = [SuiteState.start(plan) for _ in range(plan.keys)]
    runs: dict[str, int] = {}
    begun: dict[str, _Begun] = {}
    failed: dict[int, tuple[str, str]] = {}
    nobody = (0,) * len(plan.tests)
    fresh = _Begun(((0, nobody),) * plan.keys, 0)
    for record in history:
        if isinstance(record, RecordedRearm):
            test = names.index(record.check)
            states = [state.rearmed(plan, test, record.charge) for state in states]
            failed.pop(test, None)
            continue
        if record.level == 0:  # a run's answer
            continue
        run = runs.setdefault(record.run_id, len(runs) + 1)
        drawn = recorded_numbers(record.answer)
        if drawn is not None and plan.apart:  # bought for all that was left: the suite is closed
            continue
        if drawn is not None:
            reading, earlier = int(json.loads(record.answer)["reading"]), begun[record.run_id]
            states, is_other = _of_run(states, run, earlier), reading != earlier.reading
            states = [state.with_numbers(plan, drawn, key, is_other=is_other) for key, state in enumerate(states)]
            begun[record.run_id] = _Begun(tuple((state.level, state.quiet) for state in states), reading)
            continue
        found, reading = recorded_verdicts(record.answer)
        earlier = begun.get(record.run_id, fresh)
        states = _of_run(states, run, earlier)
        if reading != earlier.reading:
            states = [state.not_yet_quiet() for state in states]
        states = [state.after(plan, one) for state, one in zip(states, found, strict=True)]
        begun[record.run_id] = _Begun(tuple((state.level, state.quiet) for state in states), reading)
        at = json.loads(record.answer).get("day", record.answered)
        failed |= {test: (record.run_id, at) for one in found for test in one.rings}
    now = begun.get(run_id, fresh)
    states = _of_run(states, runs.get(run_id, len(runs) + 1), now)
    since = {test: at for test, (run, at) in failed.items() if run != run_id}
    return Standing(tuple(states), since, now.reading)


def next_record(plan: SuitePlan, states: Sequence[SuiteState]) -> int | None:
    """Return the number of the next record of a run; None if there is none.

    After the levels come numbers of what is open in some slice, and in slices where nothing is, a second sweep of the
    levels: for tests that were not run because something was kept. Of a kept suite numbers are bought by themselves.
    """
    level, last = states[0].level, len(plan.levels)
    if level < last:
        return level + 1
    if plan.apart:
        return None
    if level == last and any(state.open_statistics(plan) for state in states) and plan.row_local:
        return last + 1
    if level == 2 * last + 1 or not plan.row_local:
        return None
    if level > last + 1 or any(state.starved(plan) for state in states):
        return max(level, last + 1) + 1
    return None


def _of_run(states: Sequence[SuiteState], run: int, begun: _Begun) -> list[SuiteState]:
    return [
        replace(state, run=run, level=level, quiet=quiet)
        for state, (level, quiet) in zip(states, begun.slices, strict=True)
    ]
