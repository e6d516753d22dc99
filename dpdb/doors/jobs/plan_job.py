"""Make a job plan: the releases and the cost of a run. Spends nothing, reads no row."""

from __future__ import annotations

from datetime import datetime

from dpdb.doors.jobs.checks import check_run, job_charges, job_diagnoses, job_sessions
from dpdb.doors.jobs.job_check import due_charges
from dpdb.doors.jobs.job_file import Job, filled_job, ledger_run
from dpdb.doors.jobs.job_plan import JobPlan, PlannedCheck, PlannedDiagnosis, PlannedRelease
from dpdb.doors.jobs.kept_theta import with_kept_thetas
from dpdb.errors import BudgetExceededError
from dpdb.ledger import Ledger
from dpdb.overlap import maximum_overlap
from dpdb.privacy import as_float

__all__ = ["plan_job"]


def plan_job(job: Job, run_id: str, *, date: datetime | None = None, new_epoch: bool = False) -> JobPlan:
    """Check everything that a run would check before it spends, and add up its cost. Spends nothing, reads no row.

    Parameters
    ----------
    job
        The job as its file has it.
    run_id
        Name of the run; a release that this run was debited for costs nothing again.
    date
        The date of the run's data; by default the date in the run id.
    new_epoch
        Whether the run may open a new epoch of the ledger; the plan opens none.

    Raises
    ------
    DpdbError
        As `run_job`, except for a budget or an allowance that does not suffice: the plan says that.
    """
    check_run(job, run_id, new_epoch=new_epoch)
    job = filled_job(job, run_id, date)
    with job_sessions(job, run_id, rows=False) as (session, checks), Ledger.open(job.ledger) as ledger:
        job = with_kept_thetas(job, session, ledger, run_id)
        released, suites = job_charges(job, session, run_id), due_charges(checks)
        diagnoses = job_diagnoses(job, session, run_id)
        charges = [*released, *suites, *(each.charge for each in diagnoses)]
        planned = tuple(
            PlannedRelease(
                release,
                charge.request,
                as_float(charge.epsilon),
                ledger.answered(ledger_run(job, run_id, release), charge.request_text) is not None,
            )
            for release, charge in zip(job.releases, released, strict=True)
        )
        tested = tuple(
            PlannedCheck(
                found.check,
                len(found.prepared.plan.tests),
                as_float(found.prepared.charge.epsilon),
                not found.session.will_test(found.prepared),
                is_open=found.prepared.charge not in suites,
            )
            for found in checks
        )
        named = tuple(
            PlannedDiagnosis(
                one,
                as_float(prepared.charge.epsilon),
                ledger.answered(ledger_run(job, run_id, one), prepared.charge.request_text) is not None,
            )
            for one, prepared in zip(job.diagnoses, diagnoses, strict=True)
        )
        refusal: str | None = None
        try:
            session.check_together(charges, new_epoch=new_epoch)
        except BudgetExceededError as error:
            refusal = str(error)
        due = [charge for charge in charges if not ledger.is_debited(charge.run_id)]
        together = maximum_overlap([charge.coverage for charge in due], [charge.epsilon for charge in due])
        return JobPlan(
            job=job,
            run_id=run_id,
            releases=planned,
            checks=tested,
            diagnoses=named,
            epsilon=as_float(together.upper),
            sequential=as_float(sum(charge.epsilon for charge in due)),
            charge=session.cost_together(due),
            ledger=ledger.summary(),
            refusal=refusal,
        )
