"""The output of `dpdb run --check`: the job plan, which is what a run would ask for and cost."""

from __future__ import annotations

from typing import Any

from dpdb.doors.jobs.plan_job import JobPlan, PlannedRelease

__all__ = ["plan_fields", "plan_words"]


def plan_fields(plan: JobPlan) -> dict[str, Any]:
    """Return the job plan, ready for JSON."""
    return {
        "job": plan.job.name,
        "run_id": plan.run_id,
        "releases": [
            {
                "name": planned.release.name,
                "request": planned.request,
                "epsilon": planned.epsilon,
                "answered": planned.answered,
                "gates": {gate.measure: gate.threshold for gate in planned.release.gates if not gate.warns},
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


def plan_words(plan: JobPlan) -> str:
    """Return the job plan in words."""
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
    for gate in release.gates:
        word = "warn   warns" if gate.warns else "gate   fails"
        lines.append(f"  {word} if {gate.measure} is above {gate.threshold:,.10g}")
    return lines
