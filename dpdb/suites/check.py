"""`run_check`: one run of a suite of checks over a session's table: verdicts under one debit, paid for by failures.

The debit of all epsilon and the hidden thresholds are one transaction; each level is recorded before anything of it is
shown; at the end the charge is lowered to the first share and the rings (`dpdb.suites.mechanism.levels` has the
mechanism and its proof, `dpdb.ledger.suites` why the settled charge is sound).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import cast

from dpdb.engine import Progress, WherePredicate
from dpdb.errors import ParameterError
from dpdb.ledger import SuiteReservation
from dpdb.privacy import as_float, check_samplers, format_epsilon, parse_epsilon
from dpdb.release import Charge, Epsilon, Key, PrivateSlices, Session, Slices, checked_keys, new_run_id, parse_slices
from dpdb.suites.counted import Counts, counted_suite, refuse_same_names
from dpdb.suites.load import SuiteLike, load_suite
from dpdb.suites.mechanism.bounds import verdicts
from dpdb.suites.mechanism.levels import draw_secret
from dpdb.suites.mechanism.plan import Certain, SuitePlan
from dpdb.suites.mechanism.planned import plan_suite
from dpdb.suites.progress import Standing, standing
from dpdb.suites.reading import LevelDraws
from dpdb.suites.results import CheckResult, CheckResults, result_of
from dpdb.suites.suite import Suite

__all__ = ["CONFIDENCE", "RUNS_KEPT", "CheckRun", "prepare_check", "run_check", "share_of"]

CONFIDENCE = 0.99
RUNS_KEPT = 365


def run_check(session: Session, run: CheckRun) -> CheckResults:
    """Run a prepared suite of checks over the session's table.

    Raises
    ------
    DpdbError
        As `Session.release`; a run that was killed is finished by the same run id.
    """
    return CheckResults.from_dict(json.loads(session.run_suite(run)))


def prepare_check(
    session: Session,
    suite: Suite | SuiteLike,
    *,
    epsilon: Epsilon = 1,
    confidence: float = CONFIDENCE,
    certain: Certain = "fail",
    where: str | None = None,
    by: str | None = None,
    keys: Sequence[Key] | None = None,
    keep: str | None = None,
    runs: int | None = None,
    run_id: str | None = None,
    label: str | None = None,
    who: str | None = None,
    day: date | str | None = None,
) -> CheckRun:
    """Check everything public about a run of a suite; the result has its plan and charge.

    Parameters as `Session.check`. Reads no row, draws nothing, spends nothing.
    """
    table = session.public
    if not isinstance(suite, Suite):
        suite = load_suite(suite, table.opened.schema.names, date=day)
    keys = checked_keys(by, keys)
    if keep is not None and by is not None:
        raise ParameterError("a kept suite has no slices; keep one suite for each key (--where)")
    if runs is not None and keep is None:
        raise ParameterError("runs is for a suite that is kept: give keep= (--keep NAME)")
    if run_id is not None and not session.has_ledger:
        raise ParameterError("run_id needs a ledger: only a ledger remembers what a run has answered")
    counted = counted_suite(table, suite)
    if counted.needs_graph:
        table.opened.admit_graph()
    slices = parse_slices(table.opened, where, by, keys)
    charged = parse_epsilon(epsilon)
    plan = plan_suite(
        [each.tested for each in counted.limits],
        charged,
        share_of(confidence),
        certain=certain,
        runs=runs if runs is not None else 1 if keep is None else RUNS_KEPT,
        keys=len(slices.predicates),
    )
    request = {
        "suite": suite.digest,
        "epsilon": format_epsilon(charged),
        "confidence": confidence,
        "certain": certain,
        "runs": plan.runs,
        "where": where,
        "by": by,
        "keys": slices.keys,
        "constraints_sha256": table.constraints_sha256,
        **table.unit.public,
        **({"public_parents": table.opened.public_keys} if table.opened.public_keys else {}),
        **({} if keep is None else {"keep": keep}),
    }
    charge = Charge(
        (charged,),
        table.unit.rows,
        slices.charged,
        request,
        run_id or new_run_id("check"),
        None,
        table.constraints_sha256,
        label,
        who,
    )
    run = CheckRun(charge, keep, counted, plan, slices)
    refuse_same_names([name for names in run.names for name in names])
    return run


def share_of(confidence: float) -> Fraction:
    """Return the confidence of all verdicts as an exact number; refuse what is none."""
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0.5 <= confidence < 1:
        raise ParameterError(f"confidence must be at least 0.5 and below 1, got {confidence!r}")
    return Fraction(Decimal(repr(confidence)))


@dataclass(frozen=True)
class CheckRun:
    """A run of a suite, checked and ready for its debit (implements `dpdb.release.runs.SuiteRun`)."""

    charge: Charge
    name: str | None
    counted: Counts
    plan: SuitePlan
    slices: Slices

    @property
    def names(self) -> list[list[str]]:
        """What a ledger calls each test, by slice: a check may fail in each."""
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
                "limit": str(each.limit),
                "statistic": "fractional cover" if each.tested.halves else lines[each.line].statistic,
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

    def make_secret(self) -> str:
        """Draw the hidden thresholds."""
        return draw_secret(self.plan)

    def read(self, slices: PrivateSlices, held: SuiteReservation, progress: Progress) -> LevelDraws:
        """Read the rows of every slice, unless all levels are recorded; the result draws level after level."""
        now = self._standing(held)
        exact: list[list[int]] = [[]] * len(now.states)
        if now.states[0].level < len(self.plan.levels):
            exact = [self._statistics(slices, predicate) for predicate in self.slices.predicates]
        return LevelDraws(self.plan, held.secret, self.names, now, exact, progress=progress)

    def _statistics(self, slices: PrivateSlices, predicate: WherePredicate | None) -> list[int]:
        counts = self.counted.counts(slices, predicate)
        return [self.plan.steps(test, count, rows) for test, (count, rows) in enumerate(counts)]

    def _standing(self, held: SuiteReservation) -> Standing:
        return standing(self.plan, self.names[0], held.history, held.run_id)  # what is re-armed has no slices

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
            checks,
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
