"""`dpdb run JOB.toml`."""

from __future__ import annotations

import argparse
import json
import sys
from datetime import UTC, datetime
from typing import Any

from dpdb.cli.measure import print_releases
from dpdb.cli.progress import step_bar
from dpdb.jobs import load_job
from dpdb.jobs.plan_job import JobPlan, PlannedRelease, plan_job
from dpdb.jobs.run_job import Outcome, run_job

__all__ = ["run_job_file"]

_STEPS = 4  # of each slice: reading, ranking, joining, drawing


def run_job_file(options: argparse.Namespace) -> int:
    """Run or check a job; 1 if a gate failed."""
    job = load_job(options.job)
    run_id = options.run_id if options.run_id is not None else f"{datetime.now(UTC):%Y-%m-%d}"
    if options.check:
        plan = plan_job(job, run_id)
        print(json.dumps(_plan_fields(plan), indent=2) if options.format == "json" else _plan_words(plan))
        return 0
    if options.run_id is None:
        print(f"dpdb: run id {run_id} (today, UTC); repeated under it, nothing is spent again", file=sys.stderr)
    outcomes = []
    for outcome in run_job(job, run_id, progress=step_bar(options, 1 + _STEPS * len(job.releases))):
        outcomes.append(outcome)
        if options.format == "text":
            print(f"== {job.name} / {run_id} / {outcome.name}")
            print_releases(outcome.releases, "text")
    if options.format == "json":
        print(json.dumps({"job": job.name, "run_id": run_id, "releases": [_fields(o) for o in outcomes]}, indent=2))
    failed = False
    for result in (result for outcome in outcomes for result in outcome.gates):
        failed |= not result.passed
        print(f"dpdb: {result}", file=sys.stderr)
    return 1 if failed else 0


def _fields(outcome: Outcome) -> dict[str, Any]:
    return {
        "name": outcome.name,
        "time": outcome.time.isoformat(),
        "releases": [release.to_dict() for release in outcome.releases],
        "gates": [
            {
                "release_id": result.release.release_id,
                "threshold": result.threshold,
                "passed": result.passed,
                "beyond_noise": result.beyond_noise,
            }
            for result in outcome.gates
        ],
    }


def _plan_fields(plan: JobPlan) -> dict[str, Any]:
    return {
        "job": plan.job.name,
        "run_id": plan.run_id,
        "releases": [
            {
                "name": planned.release.name,
                "request": planned.request,
                "epsilon": planned.epsilon,
                "answered": planned.answered,
                "gates": {gate.measure: gate.threshold for gate in planned.release.gates},
            }
            for planned in plan.releases
        ],
        "epsilon": plan.epsilon,
        "sequential_epsilon": plan.sequential,
        "ledger": {
            "parameter": plan.ledger.parameter, "budget": plan.ledger.budget, "remaining": plan.ledger.remaining,
            "charge": plan.charge,
        },
    }  # fmt: skip


def _plan_words(plan: JobPlan) -> str:
    job = plan.job
    lines = [f"job      {job.name}, run id {plan.run_id}", f"source   {job.source}", f"results  {job.results}"]
    for planned in plan.releases:
        lines += _release_words(planned)
    lines.append(
        f"cost     epsilon {plan.epsilon:g} together ({plan.sequential:g} without parallel composition); "
        f"nothing was spent and no row was read"
    )
    left = f"{plan.ledger.parameter} {plan.ledger.remaining:g} of {plan.ledger.budget:g}"
    fits = "enough" if plan.charge <= plan.ledger.remaining else "may be NOT enough, then releases are refused"
    own = "" if plan.ledger.notion == "pure" else f" for {plan.ledger.parameter} {plan.charge:.9g}"
    lines.append(f"ledger   {left} left for releases of the whole table; {fits}{own}")
    return "\n".join(lines)


def _release_words(planned: PlannedRelease) -> list[str]:
    asked, release = planned.request, planned.release
    measures = asked.get("measures") or {release.measure: "laplace"}
    words = ", ".join(f"{measure} ({mechanism})" for measure, mechanism in measures.items())
    done = "; answered by this run id already, costs nothing" if planned.answered else ""
    lines = [f"release  {release.name}: {words}; epsilon {planned.epsilon:g}{done}"]
    if release.where is not None:
        lines.append(f"  where  {release.where}")
    if release.by is not None:
        lines.append(f"  by     {release.by}: {', '.join(map(str, asked['keys']))}")
    lines += [f"  gate   fails if {gate.measure} is above {gate.threshold:,.10g}" for gate in release.gates]
    return lines
