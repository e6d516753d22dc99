"""Jobs: releases that a scheduler repeats, kept in a results table. Each run publishes and spends once.

`load_job` reads a job file, `plan` checks it, `run` runs it, `read_results` reads the results table.
"""

from dpdb.doors.jobs.job_file import Job, JobCheck, JobRelease, load_job
from dpdb.doors.jobs.outcome import Outcome
from dpdb.doors.jobs.plan_job import JobPlan
from dpdb.doors.jobs.results import RESULT_SCHEMA, VERDICT_SCHEMA, ResultRow, Results, VerdictRow, read_results
from dpdb.doors.jobs.run_job import Outcomes, plan, run

__all__ = [
    "RESULT_SCHEMA", "VERDICT_SCHEMA", "Job", "JobCheck", "JobPlan", "JobRelease", "Outcome", "Outcomes", "ResultRow",
    "Results", "VerdictRow", "load_job", "plan", "read_results", "run",
]  # fmt: skip
