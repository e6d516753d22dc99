"""Run a job: every release debited, drawn, recorded and appended once, however often the run is killed and retried.

The ledger is what makes it so: its run id `job/run/release` gives a retried release its recorded answer, and the append
is keyed by the same names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from dpdb.accounting import Ledger, LedgerSummary, maximum_overlap
from dpdb.accounting.ledger_file import reached
from dpdb.engine.progress import Progress, no_progress
from dpdb.errors import DpdbError, ParameterError
from dpdb.jobs.gates import GateResult, check_gates
from dpdb.jobs.job_file import Job, JobRelease
from dpdb.jobs.results import ResultRow, open_results, result_table
from dpdb.privacy.epsilon import as_float
from dpdb.session import Release, Session
from dpdb.session.account import Charge
from dpdb.session.planned import planned_charge

__all__ = ["JobPlan", "Outcome", "PlannedRelease", "plan_job", "run_job"]

_LONGEST_RUN_ID = 200  # of a ledger


@dataclass(frozen=True)
class Outcome:
    """One `[[release]]` of a run, published: its releases and what the gates say.

    `time` is when the run's first release was debited, the same for all of the run and its retries: the times at which
    the others were answered would tell how long private work took.
    """

    name: str
    time: datetime
    releases: tuple[Release, ...]
    gates: tuple[GateResult, ...]


@dataclass(frozen=True)
class PlannedRelease:
    """One `[[release]]` of a run, checked: what it asks for, what it costs, whether its run has it already."""

    release: JobRelease
    request: Mapping[str, Any]
    epsilon: float
    answered: bool


@dataclass(frozen=True)
class JobPlan:
    """What a run would do.

    Attributes
    ----------
    epsilon : float
        A safe bound of what any possible row collects from the releases that the run still has to make (paper B).
    sequential : float
        The sum of their epsilons.
    ledger : LedgerSummary
        What is left of the budget, in the ledger's own parameter.
    """

    job: Job
    run_id: str
    releases: tuple[PlannedRelease, ...]
    epsilon: float
    sequential: float
    ledger: LedgerSummary


def plan_job(job: Job, run_id: str) -> JobPlan:
    """Check everything that a run would check before it spends, and add up its cost. Spends nothing, reads no row.

    Raises
    ------
    DpdbError
        As `run_job`, except for a budget that does not suffice.
    """
    _check_names(job, run_id)
    _check_results(job)
    with _session(job) as session, Ledger.open(job.ledger) as ledger:
        charges = _charges(job, session)
        planned = tuple(
            PlannedRelease(
                release,
                charge.request,
                as_float(charge.epsilon),
                ledger.answered(_ledger_run(job, run_id, release), charge.request_text) is not None,
            )
            for release, charge in zip(job.releases, charges, strict=True)
        )
        due = [charge for charge, release in zip(charges, planned, strict=True) if not release.answered]
        together = maximum_overlap([charge.coverage for charge in due], [charge.epsilon for charge in due])
        return JobPlan(
            job=job,
            run_id=run_id,
            releases=planned,
            epsilon=as_float(together.upper),
            sequential=as_float(sum(charge.epsilon for charge in due)),
            ledger=ledger.summary(),
        )


def run_job(job: Job, run_id: str, *, progress: Progress = no_progress) -> Iterator[Outcome]:
    """Make the releases of a run, one after the other; each is in the results table before it is yielded.

    Parameters
    ----------
    job
        See `load_job`. Every release and the results table are checked before the first one spends.
    run_id
        Name of the run, such as the scheduler's date. The same name gives the same releases and spends once; it may be
        repeated after any failure, also after a kill.

    Raises
    ------
    ParameterError, SourceError, PredicateError, UnknownColumnError, LedgerError
        Before anything is spent; `ParameterError` also when the results cannot be written, after which the run may be
        repeated.
    BudgetExceededError
        A release would exceed the ledger's budget; the ones before it are published.
    EngineError
        As `Session.dp_inconsistency`.
    """
    _check_names(job, run_id)
    _check_results(job)
    results = open_results(job.results, job.results_table)
    with _session(job, progress) as session, Ledger.open(job.ledger) as ledger:
        _charges(job, session)
        results.prepare()
        reached("results ready")
        texts = tuple(str(dc) for dc in session.constraints)
        began: datetime | None = None
        for release in job.releases:
            name = _ledger_run(job, run_id, release)
            releases = release.publish(session, name)
            reached("published")
            began = began or ledger.reserved_at(name) or datetime.now(UTC)
            found = Outcome(release.name, began, releases, check_gates(releases, release.gates))
            results.append(result_table(_rows(job, run_id, found, texts, ledger.summary())))
            reached("appended")
            yield found


def _rows(
    job: Job, run_id: str, outcome: Outcome, texts: tuple[str, ...], ledger: LedgerSummary
) -> Iterator[ResultRow]:
    gates = {result.release.release_id: result for result in outcome.gates}
    for release in outcome.releases:
        gate = gates.get(release.release_id)
        yield ResultRow(
            time=outcome.time,
            job=job.name,
            run_id=run_id,
            release_name=outcome.name,
            gate_threshold=None if gate is None else gate.threshold,
            gate=None if gate is None else "passed" if gate.passed else "failed",
            constraint_texts=texts,
            ledger_parameter=ledger.parameter,
            ledger_budget=ledger.budget,
            ledger_spent=ledger.spent,
            ledger_remaining=ledger.remaining,
            release=release,
        )


def _session(job: Job, progress: Progress = no_progress) -> Session:
    return Session(
        job.source,
        constraints=job.constraints,
        table=job.table,
        csv_schema=job.schema,
        ledger=job.ledger,
        rows_per_person=job.rows_per_person,
        row_bound=job.row_bound,
        memory_limit=job.memory_limit,
        threads=job.threads,
        progress=progress,
    )


def _charges(job: Job, session: Session) -> list[Charge]:
    """Check every release as its call would, and return what each would be charged."""
    charges = []
    for release in job.releases:
        try:
            charges.append(planned_charge(session, partial(release.publish, run_id=None)))
        except DpdbError as error:
            raise type(error)(f"{job.path}, [[release]] {release.name!r}: {error}") from None
    return charges


def _ledger_run(job: Job, run_id: str, release: JobRelease) -> str:
    return f"{job.name}/{run_id}/{release.name}"


def _check_names(job: Job, run_id: str) -> None:
    if not run_id or not run_id.isprintable() or "/" in run_id:
        raise ParameterError(f"run id {run_id!r}: expected printable characters other than '/'")
    for release in job.releases:
        if len(_ledger_run(job, run_id, release)) > _LONGEST_RUN_ID:
            raise ParameterError(f"run id {run_id!r} is too long: with job and release at most {_LONGEST_RUN_ID}")


def _check_results(job: Job) -> None:
    """Refuse results that cannot be kept, without touching the file."""
    open_results(job.results, job.results_table)
    if not job.results.parent.is_dir():
        raise ParameterError(f"{job.path}, key 'results': there is no folder {job.results.parent}")
    source = Path(job.source)
    inside = source.is_dir() and job.results.resolve().is_relative_to(source.resolve())
    if inside or (source.exists() and job.results.exists() and job.results.samefile(source)):
        raise ParameterError(
            f"{job.path}, key 'results': the results would be written into the source, which the ledger would take as "
            "changed; give another file"
        )
