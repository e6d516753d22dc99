"""Jobs: releases that a scheduler repeats, kept in a results table. Each run publishes and spends once.

`load_job` reads a job file, `plan_job` checks it, `run_job` runs it, `read_results` reads what was kept.
"""

from dpdb.doors.jobs.job_file import Job, JobRelease, load_job
from dpdb.doors.jobs.results import RESULT_SCHEMA, ResultRow, Results, read_results

__all__ = ["RESULT_SCHEMA", "Job", "JobRelease", "ResultRow", "Results", "load_job", "read_results"]
