"""`run_check`: one run of a suite of checks over a session's table: verdicts under one debit, paid for by failures.

The debit of all epsilon and the hidden thresholds are one transaction; each level is recorded before anything of it is
shown; at the end the charge is lowered to the first share and the rings (`dpdb.suites.mechanism.levels` has the
mechanism and its proof, `dpdb.ledger.ledger_suites` why the settled charge is sound).

`Standing` is where a suite stands, from what a ledger has recorded of it: levels of its runs, and checks that were
re-armed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from dpdb.engine import Progress, WherePredicate
from dpdb.errors import ParameterError
from dpdb.ledger import RecordedLevel, RecordedRearm, SuiteReservation
from dpdb.privacy import as_float, check_samplers, format_epsilon, parse_epsilon
from dpdb.release import (
    Charge,
    Epsilon,
    Key,
    PrivateSlices,
    Session,
    Slices,
    SuiteLevel,
    checked_keys,
    new_run_id,
    parse_slices,
)
from dpdb.suites.counted import CountedSuite, counted_suite, refuse_same_names, refuse_unsaid
from dpdb.suites.mechanism.bounds import verdicts
from dpdb.suites.mechanism.levels import draw_secret, run_level
from dpdb.suites.mechanism.plan import Certain, SuitePlan
from dpdb.suites.mechanism.planned import plan_suite
from dpdb.suites.mechanism.state import LevelVerdicts, SuiteState, spent
from dpdb.suites.result import COVER, CheckResult
from dpdb.suites.results import CheckResults, checked_within, result_of
from dpdb.suites.suite import Suite, SuiteLike, load_suite

if TYPE_CHECKING:
    from dpdb.suites.tables.counted_set import CountedSet

_RUNS_KEPT = 365


def run_check(session: Session, run: CheckRun) -> CheckResults:
    """Run a prepared suite of checks over the session's table.

    Raises
    ------
    DpdbError
        As `Session.release`; a run that was killed is finished by the same run id.
    """
    return run.shown(session.run_suite(run))


def prepare_check(
    session: Session,
    suite: Suite | SuiteLike,
    *,
    where: str | None = None,
    by: str | None = None,
    keys: Sequence[Key] | None = None,
    day: date | str | None = None,
    **options: Any,
) -> CheckRun:
    """Check everything public about a run of a suite; the result has its plan and charge.

    Reads no row, draws nothing, spends nothing.

    Parameters
    ----------
    session : Session
        Its constraints have all rules of the suite.
    suite : path, text or Suite
        Rules with limits.
    where, by, keys
        The rows that are checked, as for releases; by keys a suite for each.
    day : date or str, optional
        What ``{date}`` stands for.
    **options
        The fields of `RunOptions`.
    """
    asked, table = RunOptions(**options), session.public
    if not isinstance(suite, Suite):
        suite = load_suite(suite, table.opened.schema.names, date=day)
    keys = checked_keys(by, keys)
    if asked.keep is not None and by is not None:
        raise ParameterError("a kept suite has no slices; keep one suite for each key (--where)")
    asked.refuse_run_id(has_ledger=session.has_ledger)
    counted = counted_suite(table, suite)
    if asked.keep is None or session.kept_suite(asked.keep) is None:  # one that was opened before goes on
        refuse_unsaid(suite, counted.limits)
    if counted.brings_rows:
        table.opened.admit_graph()
    slices = parse_slices(table.opened, where, by, keys)
    request = {
        "suite": suite.digest,
        "where": where,
        "by": by,
        "keys": slices.keys,
        "constraints_sha256": table.constraints_sha256,
        **table.unit.public,
        **({"public_parents": table.opened.public_keys} if table.opened.public_keys else {}),
    }
    recorded = None if asked.keep is None else session.kept_suite(asked.keep)
    rows, rule_set = table.unit.rows, table.constraints_sha256
    return asked.prepared(counted, slices, request, rows=rows, rule_set=rule_set, recorded=recorded)


@dataclass(frozen=True)
class RunOptions:
    """The options of a run that every suite has, on a table or on a set of tables.

    Attributes
    ----------
    epsilon : number
        To reserve.
    confidence : float
        Of all verdicts together.
    certain : str
        ``fail`` or ``pass``: the verdict that is not due to noise.
    within : number, optional
        By how many rows a pass may be beyond its limit, and else is `not shown`; as many as the suite aims at. It
        decides only what is said.
    keep : str, optional
        A name under which later runs are free.
    runs : int, optional
        How many runs of a kept suite there will be; 365.
    run_id, label, who : str, optional
        As for releases.
    """

    epsilon: Epsilon = 1
    confidence: float = 0.99
    certain: Certain = "fail"
    within: float | None = None
    keep: str | None = None
    runs: int | None = None
    run_id: str | None = None
    label: str | None = None
    who: str | None = None

    def refuse_run_id(self, *, has_ledger: bool) -> None:
        """Refuse a number of runs without a name, and a run id without a ledger."""
        if self.runs is not None and self.keep is None:
            raise ParameterError("runs is for a suite that is kept: give keep= (--keep NAME)")
        if self.run_id is not None and not has_ledger:
            raise ParameterError("run_id needs a ledger: only a ledger remembers what a run has answered")

    def prepared(
        self,
        counted: CountedSuite | CountedSet,
        slices: Slices,
        request: Mapping[str, Any],
        *,
        rows: int,
        rule_set: str,
        recorded: str | None = None,
    ) -> CheckRun:
        """Return a run with its plan and charge; of a suite that an older version keeps, with the plan of that.

        Parameters
        ----------
        counted, slices
            The checks that are counted, and the slices.
        request
            All other public values of the call.
        rows
            How many rows one unit may have in a table.
        rule_set
            Digest of the rules, for the history.
        recorded
            With which the suite is kept (`CheckRun.spec`), if it is.
        """
        run = self._planned(counted, slices, request, rows, rule_set)
        if recorded is not None and recorded != run.spec:
            older = self._planned(counted, slices, request, rows, rule_set, halves_limits=False)
            run = older if older.spec == recorded else run
        refuse_same_names(name for names in run.names for name in names)
        return run

    def _planned(
        self,
        counted: CountedSuite | CountedSet,
        slices: Slices,
        request: Mapping[str, Any],
        rows: int,
        rule_set: str,
        **options: Any,
    ) -> CheckRun:
        epsilon = parse_epsilon(self.epsilon)
        plan = plan_suite(
            [each.tested for each in counted.limits],
            epsilon,
            _exact(self.confidence),
            certain=self.certain,
            runs=self.runs if self.runs is not None else 1 if self.keep is None else _RUNS_KEPT,
            keys=len(slices.predicates),
            **options,
        )
        request = {
            **request,
            "epsilon": format_epsilon(epsilon),
            "confidence": self.confidence,
            "certain": self.certain,
            "runs": plan.runs,
            **({} if self.keep is None else {"keep": self.keep}),
        }
        run_id = self.run_id or new_run_id("check")
        charge = Charge(
            (epsilon,), rows, slices.charged, request, run_id, rule_set=rule_set, label=self.label, who=self.who
        )
        within = None if self.within is None else checked_within(self.within)
        return CheckRun(charge, self.keep, counted, plan, slices, within)


def _exact(confidence: float) -> Fraction:
    """Return the confidence of all verdicts as an exact number; refuse what is none."""
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0.5 <= confidence < 1:
        raise ParameterError(f"confidence must be at least 0.5 and below 1, got {confidence!r}")
    return Fraction(Decimal(repr(confidence)))


@dataclass(frozen=True)
class CheckRun:
    """A run of a suite, checked and ready for its debit (implements `dpdb.release.account.SuiteRun`)."""

    charge: Charge
    name: str | None
    counted: CountedSuite | CountedSet
    plan: SuitePlan
    slices: Slices
    within: float | None = None

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
        plan, lines = self.plan, self.counted.suite.lines
        checks = [
            {
                "name": each.name,
                "rule": lines[each.line].text,
                "limit": str(each.limit.unworded),
                "statistic": COVER if each.tested.halves else lines[each.line].statistic,
                "low": str(each.tested.low),
                "high": str(each.tested.high),
            }
            for each in self.counted.limits
        ]
        fields = ("lattice", "first_share", "first_reach", "levels", "offsets", "thresholds")
        mechanism = {name: getattr(plan, name) for name in fields}
        return json.dumps(
            {**self.charge.request, "checks": checks, "mechanism": mechanism}, sort_keys=True, default=str
        )

    def load(self) -> None:
        """Load the samplers and the kernels of the statistics. Reads no row."""
        check_samplers(gaussian=False)
        self.counted.rehearse(self.slices.predicates[0])  # every slice counts as many
        self.counted.load()

    def rehearse(self, slices: PrivateSlices) -> None:
        """Ask what `read` will ask, of a table without rows."""
        self.counted.ask_of_no_rows(slices, self.slices.predicates)

    def make_secret(self) -> str:
        """Draw the hidden thresholds."""
        return draw_secret(self.plan)

    def read(
        self, slices: PrivateSlices, held: SuiteReservation, progress: Progress
    ) -> Callable[[], SuiteLevel | None]:
        """Read the rows of every slice, unless all levels are recorded; the result draws level after level. Private.

        Each level is of every slice together, and is to be recorded before the next.
        """
        now, names = self._standing(held), self.names
        states = now.states
        exact: list[list[int]] = [[]] * len(states)  # by slice and test, in steps
        if states[0].level < len(self.plan.levels):
            exact = [self._statistics(slices, predicate) for predicate in self.slices.predicates]

        def draw() -> SuiteLevel | None:
            """Test what is due at the next level, in every slice; return None after the last level."""
            nonlocal states
            level = states[0].level + 1
            if level > len(self.plan.levels):
                return None
            progress("drawing noise")
            found = [
                run_level(self.plan, held.secret, level, counts, state, key=key)
                for key, (counts, state) in enumerate(zip(exact, states, strict=True))
            ]
            states = tuple(state.after(self.plan, one) for state, one in zip(states, found, strict=True))
            failed = {names[key][test] for key, one in enumerate(found) for test in one.rings}
            cost = max(spent(self.plan, state) for state in states)
            return SuiteLevel(level, level_text(found, now.reading + 1), cost, tuple(sorted(failed)))

        return draw

    def _statistics(self, slices: PrivateSlices, predicate: WherePredicate | None) -> list[int]:
        counts = self.counted.counts(slices, predicate)
        return [self.plan.steps(test, count, rows) for test, (count, rows) in enumerate(counts)]

    def _standing(self, held: SuiteReservation) -> Standing:
        return standing(self.plan, self.names[0], held.history, held.run_id)  # what is re-armed has no slices

    def shown(self, answer: str) -> CheckResults:
        """Return a recorded answer of this run, with its passes held to `within`."""
        return CheckResults.from_dict(json.loads(answer)).asked_within(self.within)

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
            certain=self.plan.certain,
            guarantee=f"what is shown tells at most epsilon {format_epsilon(paid)} about adding or removing "
            f"{self.counted.protects} (pure differential privacy; the loss is that of what was published), for any "
            "unknown number of rows",
        ).to_json()


@dataclass(frozen=True)
class Standing:
    """Where a suite stands at one point of one run.

    Attributes
    ----------
    states : tuple of SuiteState
        By slice.
    since : dict of int to str
        When each test failed whose failure is of an earlier run.
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


def level_text(found: Sequence[LevelVerdicts], reading: int) -> str:
    """Return the record of one level: its verdicts by slice, and the number of the reading of the rows, from 1 on."""
    return json.dumps({"reading": reading, "slices": [one.to_json() for one in found]})


def recorded_verdicts(answer: str) -> tuple[list[LevelVerdicts], int]:
    """Return what `level_text` recorded: the verdicts by slice, and the number of the reading."""
    record = json.loads(answer)
    return [LevelVerdicts.from_json(text) for text in record["slices"]], int(record["reading"])


def standing(
    plan: SuitePlan, names: Sequence[str], history: Sequence[RecordedLevel | RecordedRearm], run_id: str
) -> Standing:
    """Replay what was recorded, in order, up to now, as a run sees it.

    What is left, failures and re-armed checks belong to the suite; the level and who was quiet to each run. A run that
    was killed may be finished after others, and on other rows: to have been quiet before says nothing of those.

    Parameters
    ----------
    plan
        How the suite is tested.
    names
        Of the tests, as a ledger knows them.
    history
        What was recorded, in order.
    run_id
        The run that goes on.
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
        found, reading = recorded_verdicts(record.answer)
        earlier = begun.get(record.run_id, fresh)
        if reading != earlier.reading:
            earlier = _Begun(tuple((level, nobody) for level, _ in earlier.slices), reading)
        states = _of_run(states, run, earlier)
        states = [state.after(plan, one) for state, one in zip(states, found, strict=True)]
        begun[record.run_id] = _Begun(tuple((state.level, state.quiet) for state in states), reading)
        failed |= {test: (record.run_id, record.answered) for one in found for test in one.rings}
    now = begun.get(run_id, fresh)
    states = _of_run(states, runs.get(run_id, len(runs) + 1), now)
    since = {test: at for test, (run, at) in failed.items() if run != run_id}
    return Standing(tuple(states), since, now.reading)


def _of_run(states: Sequence[SuiteState], run: int, begun: _Begun) -> list[SuiteState]:
    return [
        replace(state, run=run, level=level, quiet=quiet)
        for state, (level, quiet) in zip(states, begun.slices, strict=True)
    ]
