"""`JobPlan`: the releases and the cost of a run of a job, in words and as a notebook shows them.

Making it spends nothing and reads no row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dpdb.doors.jobs.checks import check_run, job_charges, job_diagnoses, job_sessions, with_kept_thetas
from dpdb.doors.jobs.job_file import Job, JobCheck, JobDiagnosis, JobRelease, due_charges, filled_job, ledger_run
from dpdb.errors import BudgetExceededError
from dpdb.ledger import Ledger, LedgerSummary
from dpdb.overlap import maximum_overlap
from dpdb.release import NOTHING_SPENT, Cost, Gate, PreviewPart, preview_html


def amount_words(cost: Cost) -> str:
    """Return an amount with its unit, in few digits: `rho 0.125`."""
    return f"{cost.parameter} {cost.value:g}"


def amounts(cost: Cost) -> dict[str, Any]:
    """Return an amount as plain values: as `epsilon`, which is None in a ledger of another unit; else by its unit."""
    return {"epsilon": None, cost.parameter: cost.value}


@dataclass(frozen=True)
class PlannedRelease:
    """One `[[release]]` of a run, checked: its request, its cost, and whether the run has its answer already."""

    release: JobRelease
    request: Mapping[str, Any]
    cost: Cost
    answered: bool

    @property
    def asked_words(self) -> str:
        """Measures with their mechanisms."""
        measures = self.request.get("measures") or {self.release.ask.measure: "laplace"}
        return ", ".join(f"{measure} ({mechanism})" for measure, mechanism in measures.items())

    @property
    def slice_words(self) -> dict[str, str]:
        """``where`` and ``by``, if the release has them."""
        ask = self.release.ask
        words = {} if ask.where is None else {"where": ask.where}
        return words if ask.by is None else {**words, "by": f"{ask.by}: {', '.join(map(str, self.request['keys']))}"}

    @property
    def cells(self) -> Sequence[str]:
        """What a notebook shows of it."""
        where = "; ".join(f"{name} {words}" for name, words in self.slice_words.items()) or "whole table"
        cost = f"{amount_words(self.cost)}{', paid already' if self.answered else ''}"
        return self.release.name, self.asked_words, where, cost, "; ".join(map(_gate_words, self.release.gates))

    def __str__(self) -> str:
        done = "; answered by this run id already, costs nothing" if self.answered else ""
        lines = [f"release  {self.release.name}: {self.asked_words}; {amount_words(self.cost)}{done}"]
        lines += [f"  {name:5}  {words}" for name, words in self.slice_words.items()]
        lines += [f"  {'warn' if gate.warns else 'gate'}   {_gate_words(gate)}" for gate in self.release.gates]
        return "\n".join(lines)


@dataclass(frozen=True)
class PlannedCheck:
    """One `[[check]]` of a run: how many limits it tests, what it reserves, and whether that is due."""

    check: JobCheck
    tests: int
    cost: Cost
    answered: bool
    is_open: bool

    @property
    def cost_words(self) -> str:
        """What the run pays for it."""
        if self.answered:
            return f"{amount_words(self.cost)}, answered by this run id already, costs nothing"
        if self.is_open:
            return f"costs nothing, kept as {self.check.keep!r}"
        kept = "" if self.check.keep is None else f", kept as {self.check.keep!r}: later runs cost nothing"
        return f"{amount_words(self.cost)}{kept or ', of which what is not needed is given back'}"

    @property
    def cells(self) -> Sequence[str]:
        """What a notebook shows of it."""
        what = f"{self.tests} checks of {self.check.suite.name}"
        return self.check.name, what, self.check.where or "whole table", self.cost_words, ""

    def __str__(self) -> str:
        one = "1 check" if self.tests == 1 else f"{self.tests:,} checks"
        lines = [f"check    {self.check.name}: {one} of {self.check.suite.name}; {self.cost_words}"]
        return "\n".join(lines + ([] if self.check.where is None else [f"  where  {self.check.where}"]))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "name": self.check.name, "suite": str(self.check.suite), "checks": self.tests, **amounts(self.cost),
            "keep": self.check.keep, "answered": self.answered, "due": not (self.answered or self.is_open),
        }  # fmt: skip


@dataclass(frozen=True)
class PlannedDiagnosis:
    """One `[[diagnose]]` of a run: what is compared, its cost, and whether the run has its answer already."""

    diagnosis: JobDiagnosis
    cost: Cost
    answered: bool

    @property
    def asked_words(self) -> str:
        """What is named."""
        slices = [f"{len(keys):,} slices of {name}" for name, keys in self.diagnosis.ask.columns_with_keys]
        rules, bits = (["rules"] if self.diagnosis.ask.rules else []), " in bits" if self.diagnosis.ask.in_bits else ""
        return ", ".join([*slices, *rules]) + bits

    @property
    def cost_words(self) -> str:
        """What the run pays for it."""
        return f"{amount_words(self.cost)}{', answered by this run id already, costs nothing' if self.answered else ''}"

    @property
    def cells(self) -> Sequence[str]:
        """What a notebook shows of it."""
        return self.diagnosis.name, self.asked_words, self.diagnosis.ask.where or "whole table", self.cost_words, ""

    def __str__(self) -> str:
        where = self.diagnosis.ask.where
        lines = [f"diagnose {self.diagnosis.name}: {self.asked_words}; {self.cost_words}"]
        return "\n".join(lines + ([] if where is None else [f"  where  {where}"]))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "name": self.diagnosis.name, "compared": self.asked_words, **amounts(self.cost),
            "answered": self.answered,
        }  # fmt: skip


@dataclass(frozen=True)
class JobPlan:
    """The plan of a run of a job.

    Attributes
    ----------
    cost : Cost
        A safe bound of what any possible row collects from the releases that the run still has to make (paper B), in
        the ledger's own unit.
    refusal : str or None
        Why the ledger would refuse the run now, in its own words: by its total or by an allowance.
    """

    job: Job
    run_id: str
    releases: tuple[PlannedRelease, ...]
    cost: Cost
    sequential: Cost
    ledger: LedgerSummary
    refusal: str | None = None
    checks: tuple[PlannedCheck, ...] = ()
    diagnoses: tuple[PlannedDiagnosis, ...] = ()

    @property
    def epsilon(self) -> float | None:
        """The cost of the run in a ledger that counts in epsilon; None in others."""
        return self.cost.value if self.cost.parameter == "epsilon" else None

    @property
    def cost_words(self) -> str:
        """The cost of the run."""
        apart = f"{self.sequential.value:g} without parallel composition"
        return f"{amount_words(self.cost)} together ({apart}); {NOTHING_SPENT}"

    @property
    def ledger_words(self) -> str:
        """The remaining budget of the ledger, and whether it suffices."""
        ledger = self.ledger
        left = f"{ledger.parameter} {ledger.remaining:g} of {ledger.budget:g}"
        own = "" if ledger.notion == "pure" else f" for {ledger.parameter} {self.cost.value:.9g}"
        why = "" if self.refusal is None else f": {self.refusal}"
        return f"{left} left for releases of the whole table; {'NOT ' if why else ''}enough{own}{why}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        return {
            "job": self.job.name,
            "run_id": self.run_id,
            "releases": [
                {
                    "name": planned.release.name,
                    "request": planned.request,
                    **amounts(planned.cost),
                    "answered": planned.answered,
                    "gates": {gate.measure: gate.threshold for gate in planned.release.gates if not gate.warns},
                }
                for planned in self.releases
            ],
            **({"checks": [planned.to_dict() for planned in self.checks]} if self.checks else {}),
            **({"diagnoses": [planned.to_dict() for planned in self.diagnoses]} if self.diagnoses else {}),
            **amounts(self.cost),
            f"sequential_{self.sequential.parameter}": self.sequential.value,
            "ledger": {
                "parameter": self.ledger.parameter, "budget": self.ledger.budget, "remaining": self.ledger.remaining,
                "charge": self.cost.value, "refusal": self.refusal,
            },
        }  # fmt: skip

    def __str__(self) -> str:
        """Say it in words, as `dpdb run --dry-run` prints it."""
        job = self.job
        lines = [
            f"job      {job.name}, run id {self.run_id}",
            f"source   {job.table.source}",
            f"results  {job.results}",
        ]
        lines += map(str, (*self.releases, *self.checks, *self.diagnoses))
        return "\n".join([*lines, f"cost     {self.cost_words}", f"ledger   {self.ledger_words}"])

    def _repr_html_(self) -> str:
        rows = [part.cells for parts in (self.releases, self.checks, self.diagnoses) for part in parts]
        heads = ("release", "measures", "rows", "cost", "gates")
        notes = [f"cost: {self.cost_words}", f"ledger: {self.ledger_words}"]
        return preview_html([PreviewPart([f"job {self.job.name}, run id {self.run_id}"], [heads, *rows], notes=notes)])


def _gate_words(gate: Gate) -> str:
    return f"{'warns' if gate.warns else 'fails'} if {gate.measure} is above {gate.threshold:,.10g}"


def plan_job(job: Job, run_id: str, *, date: datetime | None = None, new_epoch: bool = False) -> JobPlan:
    """Check everything that a run would check before it spends, and add up its cost. Spends nothing, reads no row.

    Parameters
    ----------
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
                charge.cost(ledger.notion),
                ledger.answered(ledger_run(job, run_id, release), charge.request_text) is not None,
            )
            for release, charge in zip(job.releases, released, strict=True)
        )
        tested = tuple(
            PlannedCheck(
                found.check,
                len(found.prepared.plan.tests),
                found.prepared.charge.cost(ledger.notion),
                not found.session.will_test(found.prepared),
                is_open=found.prepared.charge not in suites,
            )
            for found in checks
        )
        named = tuple(
            PlannedDiagnosis(
                one,
                prepared.charge.cost(ledger.notion),
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
        units = [charge.units(ledger.notion) for charge in due]
        together = maximum_overlap([charge.coverage for charge in due], units)
        return JobPlan(
            job=job,
            run_id=run_id,
            releases=planned,
            checks=tested,
            diagnoses=named,
            cost=Cost(ledger.notion, together.upper),
            sequential=Cost(ledger.notion, sum(units)),
            ledger=ledger.summary(),
            refusal=refusal,
        )
