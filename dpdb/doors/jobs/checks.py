"""The checks that planning and running a job share, before anything is spent; and the thetas that a job keeps.

With `theta = "keep"` a release of a job uses the theta that its first run chose, so that its runs can be compared. A
kept theta stands in a recorded answer of the ledger, so it is public and costs nothing (see
`dpdb.measures.mechanisms.at_one_theta`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpdb.constraints import ConstraintsLike
from dpdb.doors.jobs.job_file import (
    Job,
    JobCheck,
    JobDiagnosis,
    JobRelease,
    OpenedCheck,
    ledger_ask,
    ledger_run,
    open_check,
)
from dpdb.doors.jobs.placeholders import is_filled_from
from dpdb.doors.jobs.results import DIAGNOSES, RESULTS, VERDICTS
from dpdb.doors.jobs.stored import open_stored
from dpdb.doors.jobs.toml_keys import explained
from dpdb.errors import ParameterError
from dpdb.ledger import Ledger, RecordedAnswer
from dpdb.release import Ask, Charge, PublicTheta, Session, recorded_releases
from dpdb.settings import Progress, no_progress

if TYPE_CHECKING:
    from dpdb.diagnosis import PreparedDiagnosis
    from dpdb.receipts import ReceiptFile, SigningKey

_LONGEST_RUN_ID = 200  # of a ledger


def check_run(job: Job, run_id: str, *, new_epoch: bool) -> None:
    """Refuse names that the ledger cannot keep, results that cannot be kept, and keys that sign nothing; makes no file.

    Parameters
    ----------
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
            ledgers: dict[str, Any] = {"ledger": job.ledger, "parent_ledgers": job.parent_ledgers}
            opened.append(stack.enter_context(Session(spec, **ledgers, progress=progress, rows=rows)))
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
    for stored, wanted in ((RESULTS, True), (VERDICTS, job.checks), (DIAGNOSES, job.diagnoses)):
        if wanted:
            open_stored(job.results, job.results_table, stored).prepare()


def job_charges(job: Job, session: Session, run_id: str) -> list[Charge]:
    """Check every release of a run as its call would, and return the charge of each.

    Parameters
    ----------
    job
        The job of this run, its placeholders filled and its thetas found.
    session
        The session of `job_sessions`.
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
    open_stored(job.results, job.results_table, RESULTS)
    if not job.results.parent.is_dir():
        raise ParameterError(f"{job.path}, key 'results': there is no folder {job.results.parent}")
    parents = [parent.source for parent in job.table.parents if parent.source is not None]
    sources = [Path(source) for source in (job.table.source, *parents)]
    for key, written in (("results", job.results), ("receipt", job.receipt)):
        if written is not None and any(_is_inside(written, source) for source in sources):
            raise ParameterError(
                f"{job.path}, key {key!r}: the {key} would be written into the source or a parent, which the "
                "ledger would take as changed; give another file"
            )


def _is_inside(written: Path, source: Path) -> bool:
    inside = source.is_dir() and written.resolve().is_relative_to(source.resolve())
    return inside or (source.exists() and written.exists() and written.samefile(source))


# Requests with one theta may differ in these fields: they change the noise, concern theta itself, or tell that the rows
# of parents have changed (those of the table may change, too).
_MAY_DIFFER = ("epsilon", "parts", "confidence", "max_degree", "theta", "theta_from", "public_parents")


def with_kept_thetas(job: Job, session: Session, ledger: Ledger, run_id: str) -> Job:
    """Return the job with every `"keep"` replaced by the thetas of an earlier run, or by None: chosen anew.

    A run that was debited before keeps its request, so that its retries repeat it. Reads recorded
    releases and requests only.

    Parameters
    ----------
    job
        The job of this run, its placeholders filled.
    session
        Prepares the releases, to know whether they have a theta and what they request.

    Raises
    ------
    DpdbError
        As `Session.prepare`, for an invalid release; also for a release without a theta.
    """
    releases = tuple(
        replace(release, ask=_kept(job, release, session, ledger, run_id), keeps_theta=False)
        if release.keeps_theta
        else release
        for release in job.releases
    )
    return replace(job, releases=releases)


def _kept(job: Job, release: JobRelease, session: Session, ledger: Ledger, run_id: str) -> Ask:
    with explained(f"{job.path}, [[release]] {release.name!r}: "):
        prepared = session.prepare(release.ask)
        if all(part.on_one_row for part in prepared.parts):
            return release.ask  # a count without a theta: its runs can be compared as they are
        session.prepare(replace(release.ask, theta=1))  # it has a theta at all
    return replace(release.ask, theta=_earlier(job, release, ledger, run_id, prepared.charge.request_text))


def _earlier(job: Job, release: JobRelease, ledger: Ledger, run_id: str, asked: str) -> PublicTheta | None:
    """Return the thetas of this run's own request, or of the latest run with the same request, or None."""
    latest = _latest(job, release, ledger, json.loads(asked))
    before = ledger.request_of(ledger_run(job, run_id, release))
    if before is None:
        return latest
    own = PublicTheta.read(json.loads(before))
    return latest if latest == own else own  # an answer has more details of its thetas than a request


def _latest(job: Job, release: JobRelease, ledger: Ledger, wanted: Mapping[str, Any]) -> PublicTheta | None:
    for run, answer in _recorded_runs(job, release, ledger):
        if _asks_alike(json.loads(answer.request), wanted, release.where_template):
            found = recorded_releases(answer.answer)
            thetas = tuple(one.theta for one in found)  # None where rows are counted
            if any(thetas):
                words = next((one.theta_from for one in found if one.theta_from), f"kept, as chosen in run {run}")
                return PublicTheta(thetas, words, kept=True, limits=tuple(one.theta_limits for one in found))
    return None


def _asks_alike(earlier: Mapping[str, Any], wanted: Mapping[str, Any], template: str | None) -> bool:
    """Return whether two requests can share a theta; each run fills the template with literals of its own."""
    same_template = template is not None and is_filled_from(template, str(earlier.get("where")))
    may_differ = (*_MAY_DIFFER, "where") if same_template else _MAY_DIFFER
    one, other = ({key: value for key, value in each.items() if key not in may_differ} for each in (earlier, wanted))
    return one == other


def _recorded_runs(job: Job, release: JobRelease, ledger: Ledger) -> Iterator[tuple[str, RecordedAnswer]]:
    """Give the runs of this release of this job with their recorded answers, newest first; read no other answers."""
    for name in reversed(ledger.run_ids()):
        parts = name.split("/")
        if len(parts) == 3 and (parts[0], parts[2]) == (job.name, release.name):
            for answer in ledger.answers(run_id=name):
                yield parts[1], answer
