"""The public names of jobs: `dpdb.jobs.read_results` and its kin."""

from __future__ import annotations

from dpdb.doors.jobs import RESULT_SCHEMA, Job, JobRelease, ResultRow, Results, load_job, read_results

__all__ = ["RESULT_SCHEMA", "Job", "JobRelease", "ResultRow", "Results", "load_job", "read_results"]
