"""The checks that planning and running a job share, before anything is spent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dpdb.constraints import ConstraintsLike
from dpdb.doors.jobs.diagnoses.asked import JobDiagnosis
from dpdb.doors.jobs.diagnoses.rows import open_diagnoses
from dpdb.doors.jobs.job_check import JobCheck, OpenedCheck, open_check
from dpdb.doors.jobs.job_file import Job, JobRelease, ledger_ask, ledger_run
from dpdb.doors.jobs.results import open_results
from dpdb.doors.jobs.toml_keys import explained
from dpdb.doors.jobs.verdicts import open_verdicts
from dpdb.engine import Progress, no_progress
from dpdb.errors import ParameterError
from dpdb.release import Charge, Session

if TYPE_CHECKING:
    from dpdb.diagnosis import PreparedDiagnosis
    from dpdb.receipts import ReceiptFile, SigningKey

__all__ = ["check_run", "job_charges", "job_diagnoses", "job_sessions", "open_receipts", "prepare_results"]

_LONGEST_RUN_ID = 200  # of a ledger


def check_run(job: Job, run_id: str, *, new_epoch: bool) -> None:
    """Refuse names that the ledger cannot keep, results that cannot be kept, and keys that sign nothing; makes no file.

    Parameters
    ----------
    job
        The job.
    run_id
        Name of the run.
    new_epoch
        Whether the run may open an epoch; refused unless the job file allows new epochs.
    """
    if new_epoch and not job.new_epochs:
        raise ParameterError(
            f"{job.path}: a new epoch for changed rows (--new-epoch, new_epoch=) needs the owner's word in the job: "
            "new_epochs = true"
        )
    _check_names(job, run_id)
    _check_results(job)
    _receipt_key(job)


@contextmanager
def job_sessions(
    job: Job, run_id: str, progress: Progress = no_progress, *, rows: bool = True
) -> Iterator[tuple[Session, list[OpenedCheck]]]:
    """Open the job's source under its ledger, once, for its releases and for each of its suites, which are checked.

    Without releases the session is that of the first suite: it counts for the same ledger.

    Parameters
    ----------
    job
        The job of this run, its placeholders filled.
    run_id
        Name of the run.
    progress
        Gets the name of each long step.
    rows
        False for sessions that only prepare releases, as a job plan does.
    """
    opened: list[Session] = []
    with ExitStack() as stack:

        def under(constraints: ConstraintsLike | None) -> Session:
            if opened:
                return opened[0].with_constraints(constraints)
            spec = replace(job.table, constraints=constraints)
            opened.append(stack.enter_context(Session(spec, ledger=job.ledger, progress=progress, rows=rows)))
            return opened[0]

        if job.releases or job.diagnoses:
            under(job.table.constraints)
        checks = []
        for check in job.checks:
            with explained(f"{job.path}, [[check]] {check.name!r}: "):
                checks.append(open_check(under, check, ledger_run(job, run_id, check), who=job.who))
        yield opened[0], checks


@contextmanager
def open_receipts(job: Job) -> Iterator[ReceiptFile | None]:
    """Open the file of a job's receipts; None for a job without.

    A run that is repeated has the receipts that the file has; one that was killed before a receipt has it afterwards.

    Raises
    ------
    ParameterError
        The key or the file cannot be used.
    LedgerError
        The ledger has not what the key has signed, or what the file holds.
    """
    key = _receipt_key(job)
    if key is None or job.receipt is None:
        yield None
        return
    from dpdb.receipts import ReceiptFile

    with ReceiptFile(job.receipt, key, job.ledger) as opened:
        yield opened


def _receipt_key(job: Job) -> SigningKey | None:
    if job.receipt_key is None and job.receipt is None:
        return None
    if job.receipt_key is None or job.receipt is None:
        raise ParameterError(
            f"{job.path}: the keys 'receipt' and 'receipt_key' (--receipt FILE, --receipt-key KEY) go together; "
            "`dpdb receipts key KEY` makes the key"
        )
    from dpdb.receipts import load_key

    key = load_key(job.receipt_key)
    key.refuse_beside(job.ledger)
    return key


def prepare_results(job: Job) -> None:
    """Make the results table of a job and, where it has checks or diagnoses, those of what they say."""
    open_results(job.results, job.results_table).prepare()
    if job.checks:
        open_verdicts(job.results, job.results_table).prepare()
    if job.diagnoses:
        open_diagnoses(job.results, job.results_table).prepare()


def job_charges(job: Job, session: Session, run_id: str) -> list[Charge]:
    """Check every release of a run as its call would, and return the charge of each.

    Parameters
    ----------
    job
        The job of this run, its placeholders filled and its thetas found.
    session
        The session of `job_sessions`.
    run_id
        Name of the run.
    """
    charges = []
    for release in job.releases:
        with explained(f"{job.path}, [[release]] {release.name!r}: "):
            charges.append(session.prepare(ledger_ask(job, run_id, release), who=job.who).charge)
    return charges


def job_diagnoses(job: Job, session: Session, run_id: str) -> list[PreparedDiagnosis]:
    """Check everything public about the diagnoses of a run; parameters as `job_charges`."""
    if not job.diagnoses:
        return []
    from dpdb.diagnosis import prepare_diagnosis

    found = []
    for one in job.diagnoses:
        with explained(f"{job.path}, [[diagnose]] {one.name!r}: "):
            ask = replace(one.ask, run_id=ledger_run(job, run_id, one))
            found.append(prepare_diagnosis(session, ask, who=job.who))
    return found


def _check_names(job: Job, run_id: str) -> None:
    if not run_id or not run_id.isprintable() or "/" in run_id:
        raise ParameterError(f"run id {run_id!r}: expected printable characters other than '/'")
    parts: list[JobRelease | JobCheck | JobDiagnosis] = [*job.releases, *job.checks, *job.diagnoses]
    for part in parts:
        if len(ledger_run(job, run_id, part)) > _LONGEST_RUN_ID:
            raise ParameterError(f"run id {run_id!r} is too long: with job and release at most {_LONGEST_RUN_ID}")


def _check_results(job: Job) -> None:
    """Refuse results that cannot be kept, without touching the file."""
    open_results(job.results, job.results_table)
    if not job.results.parent.is_dir():
        raise ParameterError(f"{job.path}, key 'results': there is no folder {job.results.parent}")
    for key, written in (("results", job.results), ("receipt", job.receipt)):
        if written is not None:
            _refuse_inside(job, key, written)


def _refuse_inside(job: Job, key: str, written: Path) -> None:
    parents = [parent.source for parent in job.table.parents if parent.source is not None]
    for source in map(Path, [job.table.source, *parents]):
        inside = source.is_dir() and written.resolve().is_relative_to(source.resolve())
        if inside or (source.exists() and written.exists() and written.samefile(source)):
            raise ParameterError(
                f"{job.path}, key {key!r}: the {key} would be written into the source or a parent, which the "
                "ledger would take as changed; give another file"
            )
