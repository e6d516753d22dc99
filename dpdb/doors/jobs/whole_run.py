"""Jobs from Python: `dpdb.jobs.plan` and `dpdb.jobs.run`, as `dpdb run --dry-run` and `dpdb run` do them."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime
from pathlib import Path

from dpdb.characters import in_html
from dpdb.doors.jobs.job_file import Job, load_job
from dpdb.doors.jobs.job_plan import JobPlan
from dpdb.doors.jobs.outcome import Outcome, exit_code_of
from dpdb.doors.jobs.plan_job import plan_job
from dpdb.doors.jobs.run_job import run_job
from dpdb.engine import Progress, no_progress
from dpdb.errors import DpdbError
from dpdb.release import releases_table
from dpdb.suites import check_words

__all__ = ["Outcomes", "plan", "run"]


class Outcomes(tuple[Outcome, ...]):
    """The outcomes of a run, one for each release and suite; a notebook shows them with the results of the gates."""

    __slots__ = ()

    @property
    def passed(self) -> bool:
        """Return whether no gate or check has failed or is undecided; warnings fail nothing."""
        return exit_code_of(self) == 0

    def _repr_html_(self) -> str:
        shown = [(outcome.name, release) for outcome in self for release in outcome.releases]
        table = (
            ""
            if not shown
            else releases_table([release for _, release in shown], ("release",), [(name,) for name, _ in shown])
        )
        said = [str(result) for outcome in self for result in outcome.gates]
        said += [check_words(check) for outcome in self for check in outcome.checks or ()]
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
    job : Job or path of a job file
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
