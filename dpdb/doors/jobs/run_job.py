"""Run a job: each release and suite debited, drawn, recorded and appended once, whenever it is killed and retried.

The ledger ensures this: its run id `job/run/release` gives a retried release its recorded answer, and the append is
keyed by the same names. `dpdb.jobs.plan` and `dpdb.jobs.run` do from Python what `dpdb run` does.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpdb.diagnosis import run_diagnosis
from dpdb.doors.jobs.changes import Earlier, earlier_run
from dpdb.doors.jobs.checks import (
    check_run,
    job_charges,
    job_diagnoses,
    job_sessions,
    open_receipts,
    prepare_results,
    with_kept_thetas,
)
from dpdb.doors.jobs.job_file import (
    Job,
    JobCheck,
    JobDiagnosis,
    JobRelease,
    OpenedCheck,
    due_charges,
    filled_job,
    ledger_ask,
    ledger_run,
    load_job,
)
from dpdb.doors.jobs.outcome import Outcome, exit_code_of
from dpdb.doors.jobs.placeholders import date_in
from dpdb.doors.jobs.plan_job import JobPlan, plan_job
from dpdb.doors.jobs.results import (
    DIAGNOSES,
    RESULTS,
    VERDICTS,
    ResultRow,
    diagnosis_rows,
    result_table,
    verdict_table,
)
from dpdb.doors.jobs.stored import StoredRows, open_stored, read_beside
from dpdb.doors.jobs.toml_keys import explained
from dpdb.errors import BudgetExceededError, DpdbError
from dpdb.ledger import Ledger
from dpdb.names import in_html
from dpdb.release import Release, Session, check_gates, listed_words, releases_table
from dpdb.settings import Progress, no_progress
from dpdb.stopping import reached
from dpdb.suites import run_check

if TYPE_CHECKING:
    import pyarrow as pa

    from dpdb.diagnosis import Diagnosis, PreparedDiagnosis
    from dpdb.receipts import ReceiptFile
    from dpdb.suites import CheckResults


def run_job(
    job: Job,
    run_id: str,
    *,
    date: datetime | None = None,
    new_epoch: bool = False,
    progress: Progress = no_progress,
) -> Iterator[Outcome]:
    """Make the releases, checks and diagnoses of a run, one after the other; each is in its table before it is yielded.

    Parameters
    ----------
    job
        See `load_job`. Every release, the results table and the budget for all releases that the run has not debited
        yet are checked before the first one spends.
    run_id
        Name of the run, such as the scheduler's date. The same name gives the same releases and spends once; it may be
        repeated after any failure, also after a kill.
    date
        The date of the run's data, for results, reports and ``{date}`` in a `where`; by default the date in the run id,
        such as ``2026-11-21``.
    new_epoch
        Open a new epoch of the ledger if the source's rows have changed, which the job file must allow. A run whose
        answers are all recorded opens none.

    Raises
    ------
    ParameterError, SourceError, PredicateError, UnknownColumnError, LedgerError
        Before anything is spent; `ParameterError` also when the results cannot be written, after which the run may be
        repeated.
    BudgetExceededError
        The releases would exceed the ledger's budget together, and nothing was spent; or another process has spent
        in between, and the message says which releases are published.
    """
    check_run(job, run_id, new_epoch=new_epoch)
    date = date or date_in(run_id)
    job = filled_job(job, run_id, date)
    with (
        job_sessions(job, run_id, progress) as (session, checks),
        Ledger.open(job.ledger) as ledger,
        open_receipts(job) as receipts,
    ):
        job = with_kept_thetas(job, session, ledger, run_id)
        diagnoses = job_diagnoses(job, session, run_id)
        charges = [*job_charges(job, session, run_id), *due_charges(checks), *(each.charge for each in diagnoses)]
        prepare_results(job)
        reached("results ready")
        with (
            explained(f"{job.path}: "),
            explained("the releases of this run do not fit the budget together: ", of=BudgetExceededError),
        ):
            session.check_together(charges, new_epoch=new_epoch)
            for opened in checks:
                opened.session.check_others(opened.prepared)
        if new_epoch:
            session.confirm_rows(charges)
        run = _Run(job, run_id, session, ledger, date)
        began: datetime | None = None
        published: list[str] = []
        for part in run.parts(checks, diagnoses):
            asked, name = datetime.now(UTC), ledger_run(job, run_id, part.of)
            with explained(f"{part.kind} {part.of.name!r}: ", _said(published)):
                answer = part.make()
            reached("published")
            began = began or ledger.reserved_at(name) or asked
            outcome = part.keep(answer, began)
            reached("appended")
            published.append(part.of.name)
            yield replace(outcome, receipt=_receipt(receipts, published, name, outcome))


class _Part(NamedTuple):
    """A part of a run: `make` gives its answer, paid for; `keep` appends the answer to the results."""

    kind: str
    of: JobRelease | JobCheck | JobDiagnosis
    make: Callable[[], Any]
    keep: Callable[[Any, datetime], Outcome]


@dataclass(frozen=True)
class _Run:
    job: Job
    run_id: str
    session: Session
    ledger: Ledger
    date: datetime | None

    def parts(self, checks: Sequence[OpenedCheck], diagnoses: Sequence[PreparedDiagnosis]) -> Iterator[_Part]:
        for release in self.job.releases:
            ask = ledger_ask(self.job, self.run_id, release)
            make = partial(self.session.release, ask, who=self.job.who)
            yield _Part("release", release, make, partial(self._releases, release))
        for opened in checks:
            make_verdicts = partial(run_check, opened.session, opened.prepared)
            yield _Part("check", opened.check, make_verdicts, partial(self._verdicts, opened.check))
        for one, prepared in zip(self.job.diagnoses, diagnoses, strict=True):
            make_diagnosis = partial(run_diagnosis, self.session, prepared)
            yield _Part("diagnose", one, make_diagnosis, partial(self._diagnosis, one))

    def _releases(self, asked: JobRelease, releases: tuple[Release, ...], began: datetime) -> Outcome:
        listed = listed_words(self.session.prepare(asked.ask), releases) if asked.ask.sparse else None
        outcome = Outcome(asked.name, began, releases, check_gates(releases, asked.gates), listed=listed)
        self._append(RESULTS, result_table(self._rows(asked, outcome)))
        return outcome

    def _verdicts(self, check: JobCheck, verdicts: CheckResults, began: datetime) -> Outcome:
        common = self._common(began, check.where) | {"run_id": self.run_id, "suite": check.name}
        self._append(VERDICTS, verdict_table(verdicts, common))
        return Outcome(check.name, began, checks=verdicts, before=self._before(check, common))

    def _before(self, check: JobCheck, common: dict[str, Any]) -> Earlier | None:
        """Return the run before of a suite; None if there is none, or the results cannot be read as ours."""
        try:
            rows = read_beside(self.job.results, self.job.results_table, VERDICTS)
            at = (common["day"], common["time"])
            return earlier_run(rows, self.job.name, check.name, run_id=self.run_id, at=at)
        except (DpdbError, TypeError):
            return None

    def _diagnosis(self, one: JobDiagnosis, named: Diagnosis, began: datetime) -> Outcome:
        common = self._common(began, one.ask.where) | {"run": self.run_id, "diagnosis": one.name}
        self._append(DIAGNOSES, diagnosis_rows(named, common))
        return Outcome(one.name, began, diagnosis=named)

    def _append(self, stored: StoredRows, rows: pa.Table) -> None:
        open_stored(self.job.results, self.job.results_table, stored).append(rows)

    def _common(self, began: datetime, where: str | None) -> dict[str, Any]:
        return {"time": began, "job": self.job.name, "day": (self.date or began).date(), "where": where}

    def _rows(self, asked: JobRelease, outcome: Outcome) -> Iterator[ResultRow]:
        texts, ledger = tuple(dc.written for dc in self.session.constraints), self.ledger.summary()
        left = {f"ledger_{name}": getattr(ledger, name) for name in ("parameter", "budget", "spent", "remaining")}
        gates = {result.release.release_id: result for result in outcome.gates if not result.warns}
        warnings = {result.release.release_id: result for result in outcome.gates if result.warns}
        for release in outcome.releases:
            gate, warning = gates.get(release.release_id), warnings.get(release.release_id)
            yield ResultRow(
                time=outcome.time,
                job=self.job.name,
                run_id=self.run_id,
                release_name=outcome.name,
                gate_threshold=None if gate is None else gate.threshold,
                gate=None if gate is None else gate.outcome,
                constraint_texts=texts,
                **left,
                release=release,
                run_date=self.date,
                where_template=_template(asked, release),
                warn_threshold=None if warning is None else warning.threshold,
                warned=None if warning is None else not warning.passed,
            )


def _said(published: Sequence[str]) -> str:
    """Return the words for the releases that a failing run has published."""
    names = ", ".join(map(repr, published))
    return f"; of this run {names} {'is' if len(published) == 1 else 'are'} published and paid for" if names else ""


def _receipt(receipts: ReceiptFile | None, published: Sequence[str], run_id: str, outcome: Outcome) -> str | None:
    """Return the receipt of the part that was published last; its answer is in the results, and paid for."""
    if receipts is None:
        return None
    suite = None if outcome.checks is None else outcome.checks.name
    with explained(f"receipt of {published[-1]!r}: ", f"{_said(published)}; run again with the same run id"):
        line = receipts.of(run_id=run_id, suite=suite)
    reached("receipt kept")
    return line


def _template(asked: JobRelease, release: Release) -> str | None:
    """Return the slice of a release (which may be one of `by`) with placeholders where the job has them."""
    if asked.where_template is None or asked.ask.where is None or release.where is None:
        return None
    return release.where.replace(asked.ask.where, asked.where_template, 1)


class Outcomes(tuple[Outcome, ...]):
    """The outcomes of a run, one for each release and suite; a notebook shows them with the results of the gates."""

    __slots__ = ()

    @property
    def passed(self) -> bool:
        """Return whether no gate or check has failed, is not shown or undecided; warnings fail nothing."""
        return exit_code_of(self) == 0

    def _repr_html_(self) -> str:
        shown = [(outcome.name, release) for outcome in self for release in outcome.releases]
        table = (
            ""
            if not shown
            else releases_table([release for _, release in shown], ("release",), [(name,) for name, _ in shown])
        )
        said = [str(result) for outcome in self for result in outcome.gates]
        said += [line for outcome in self for line in outcome.changes]
        return table + "".join(f"<div>{in_html(line)}</div>" for line in said)


def plan(
    job: Job | str | Path, run_id: str | None = None, *, date: datetime | None = None, new_epoch: bool = False
) -> JobPlan:
    """Check a job and add up its cost, as `dpdb run --dry-run` does. Spends nothing, reads no row.

    Parameters
    ----------
    job : Job or path of a job file
    run_id : str, optional
        As of `run`: releases that this run was debited for cost nothing again.
    date, new_epoch
        As of `run`; no epoch is opened.

    Raises
    ------
    DpdbError
        As `run`, except for a budget or an allowance that does not suffice: the plan says that.
    """
    return plan_job(_job(job), _run_id(run_id), date=date, new_epoch=new_epoch)


def run(
    job: Job | str | Path,
    run_id: str | None = None,
    *,
    date: datetime | None = None,
    new_epoch: bool = False,
    progress: Progress = no_progress,
) -> Outcomes:
    """Run a job, as `dpdb run` does: results, gates, checks, alert. Repeated under its run id, it spends nothing.

    Parameters
    ----------
    run_id : str, optional
        Name of the run; by default today's date in UTC.
    date : datetime, optional
        The date of the run's data, as for `dpdb run --date`; by default the date in the run id.
    new_epoch : bool
        Open a new epoch of the ledger if the source's rows have changed, as `dpdb run --new-epoch`; the job file must
        say `new_epochs = true`.
    progress : callable, optional
        Called with the name of each long step; see `dpdb.progress_bar`.

    Raises
    ------
    DpdbError
        Before anything is spent, if the job or its results table cannot be used, or the budget does not suffice; the
        message of a later error names the releases that are published and paid for. An alert that cannot be sent is a
        warning.
    """
    job, run_id = _job(job), _run_id(run_id)
    outcomes: list[Outcome] = []
    try:
        for outcome in run_job(job, run_id, date=date, new_epoch=new_epoch, progress=progress):
            outcomes.append(outcome)
    except DpdbError as error:
        _alert(job, run_id, outcomes, str(error))
        raise
    _alert(job, run_id, outcomes)
    return Outcomes(outcomes)


def _job(job: Job | str | Path) -> Job:
    return job if isinstance(job, Job) else load_job(job)


def _run_id(run_id: str | None) -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}" if run_id is None else run_id


def _alert(job: Job, run_id: str, outcomes: list[Outcome], error: str | None = None) -> None:
    problem = None if job.alert is None else job.alert.send(job.name, run_id, outcomes, error)
    if problem is not None:
        warnings.warn(f"not sent: {problem}", stacklevel=3)
