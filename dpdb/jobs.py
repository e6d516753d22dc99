"""Jobs from Python: `load_job`, `plan`, `run` and `read_results`, with the types of their arguments and results."""

from __future__ import annotations

from dpdb.doors.jobs import (
    RESULT_SCHEMA,
    VERDICT_SCHEMA,
    Job,
    JobCheck,
    JobPlan,
    JobRelease,
    Outcome,
    Outcomes,
    ResultRow,
    Results,
    VerdictRow,
    load_job,
    plan,
    read_results,
    run,
)

__all__ = [
    "RESULT_SCHEMA", "VERDICT_SCHEMA", "Job", "JobCheck", "JobPlan", "JobRelease", "Outcome", "Outcomes", "ResultRow",
    "Results", "VerdictRow", "load_job", "plan", "read_results", "run",
]  # fmt: skip
