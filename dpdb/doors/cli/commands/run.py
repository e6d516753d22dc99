"""`dpdb run JOB.toml`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from dpdb.doors.cli.answers import AnswerOutput, UnshownError
from dpdb.doors.cli.commands.measure import releases_text
from dpdb.doors.cli.progress import step_bar
from dpdb.doors.cli.streams import say, show
from dpdb.doors.jobs import Job, load_job
from dpdb.doors.jobs.plan_job import JobPlan, PlannedRelease, plan_job
from dpdb.doors.jobs.run_job import Outcome, run_job
from dpdb.errors import DpdbError

__all__ = ["run_job_file"]

_STEPS = 4  # of each slice: reading, ranking, joining, drawing


def run_job_file(options: argparse.Namespace) -> int:
    """Run or check a job; 1 if a gate failed."""
    job = load_job(options.job)
    run_id = options.run_id if options.run_id is not None else f"{datetime.now(UTC):%Y-%m-%d}"
    if options.check:
        plan = plan_job(job, run_id)
        show(json.dumps(_plan_fields(plan), indent=2) if options.format == "json" else _plan_words(plan))
        return 0
    if options.run_id is None:
        say(f"run id {run_id} (today, UTC); repeated under it, nothing is spent again")
    shown = _Shown(job, run_id, options.format)
    try:
        for outcome in run_job(job, run_id, progress=step_bar(options, 1 + _STEPS * len(job.releases))):
            shown.add(outcome)
    except DpdbError as error:
        if shown.outcomes:
            shown.end()
            error.args = (f"{error}{shown.problem and f'; {shown.problem}'}", *error.args[1:])
        raise
    shown.end()
    failed = [result for outcome in shown.outcomes for result in outcome.gates if not result.passed]
    for result in (result for outcome in shown.outcomes for result in outcome.gates):
        say(str(result))
    if shown.problem:
        raise UnshownError(shown.problem)
    return 1 if failed else 0


class _Shown:
    """The outcomes of a run, shown as they come. Where that fails the run goes on: its results are kept elsewhere."""

    def __init__(self, job: Job, run_id: str, output: str) -> None:
        self.outcomes: list[Outcome] = []
        self.problem = ""
        self._job, self._run_id, self._format = job, run_id, output
        self._output = AnswerOutput(ledger=job.ledger, needed=False)

    def add(self, outcome: Outcome) -> None:
        """Take in one outcome, and show it unless all are one document."""
        self.outcomes.append(outcome)
        if self._format == "text" and not self.problem:
            head = f"== {self._job.name} / {self._run_id} / {outcome.name}\n"
            self._show(head + releases_text(outcome.releases, "text"), [outcome])

    def end(self) -> None:
        """Show the document."""
        if self._format == "json":
            releases = [_fields(outcome) for outcome in self.outcomes]
            document = {"job": self._job.name, "run_id": self._run_id, "releases": releases}
            self._show(f"{json.dumps(document, indent=2)}\n", self.outcomes)

    def _show(self, text: str, outcomes: Sequence[Outcome]) -> None:
        try:
            self._output.show(text, [release for outcome in outcomes for release in outcome.releases])
        except UnshownError as error:
            self.problem = f"{error}; {self._job.results} has all of this run"


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
    measures = asked.get("measures") or {release.ask.measure: "laplace"}
    words = ", ".join(f"{measure} ({mechanism})" for measure, mechanism in measures.items())
    done = "; answered by this run id already, costs nothing" if planned.answered else ""
    lines = [f"release  {release.name}: {words}; epsilon {planned.epsilon:g}{done}"]
    if release.ask.where is not None:
        lines.append(f"  where  {release.ask.where}")
    if release.ask.by is not None:
        lines.append(f"  by     {release.ask.by}: {', '.join(map(str, asked['keys']))}")
    lines += [f"  gate   fails if {gate.measure} is above {gate.threshold:,.10g}" for gate in release.gates]
    return lines
