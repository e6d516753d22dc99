"""The output of `dpdb run`: the outcomes of a run, each at once or all as one document."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dpdb.diagnosis import diagnosis_text
from dpdb.doors.cli.answers import AnswerOutput, UnshownError
from dpdb.doors.cli.checks_text import checks_text
from dpdb.doors.cli.releases_text import releases_text
from dpdb.doors.jobs import Job
from dpdb.doors.jobs.outcome import Outcome

__all__ = ["JobOutput"]


class JobOutput:
    """Shows the outcomes of a run as they come. If that fails, the run goes on: its results are kept elsewhere."""

    def __init__(self, job: Job, run_id: str, output: str, *, verbose: bool = False) -> None:
        self.outcomes: list[Outcome] = []
        self.problem = ""
        self._job, self._run_id, self._format, self._verbose = job, run_id, output, verbose
        self._output = AnswerOutput(ledger=job.ledger, needed=False)

    def add(self, outcome: Outcome) -> None:
        """Add one outcome, and show it unless the output is one document."""
        self.outcomes.append(outcome)
        if self._format == "text" and not self.problem:
            head = f"== {self._job.name} / {self._run_id} / {outcome.name}\n"
            if outcome.diagnosis is not None:
                text = diagnosis_text(outcome.diagnosis)
            elif outcome.checks is None:
                text = releases_text(outcome.releases, "text", self._verbose)
            else:
                text = checks_text(outcome.checks)
            self._show(head + text, [outcome])

    def end(self) -> None:
        """Show the document."""
        if self._format == "json":
            made = [one for one in self.outcomes if one.checks is None and one.diagnosis is None]
            releases = [_fields(outcome) for outcome in made]
            document = {"job": self._job.name, "run_id": self._run_id, "releases": releases}
            if self._job.checks:
                checked = [(one, one.checks) for one in self.outcomes if one.checks is not None]
                document["checks"] = [_named(one) | checks.to_dict() for one, checks in checked]
            if self._job.diagnoses:
                named = [(one, one.diagnosis) for one in self.outcomes if one.diagnosis is not None]
                document["diagnoses"] = [_named(one) | diagnosis.to_dict() for one, diagnosis in named]
            self._show(f"{json.dumps(document, indent=2)}\n", self.outcomes)

    def _show(self, text: str, outcomes: Sequence[Outcome]) -> None:
        try:
            self._output.show(text, [release for outcome in outcomes for release in outcome.releases])
        except UnshownError as error:
            self.problem = f"{error}; {self._job.results} has all of this run"


def _named(outcome: Outcome) -> dict[str, Any]:
    paid = {} if outcome.receipt is None else {"receipt": outcome.receipt}
    return {"name": outcome.name, "time": outcome.time.isoformat(), **paid}


def _fields(outcome: Outcome) -> dict[str, Any]:
    return {
        **_named(outcome),
        "releases": [release.to_dict() for release in outcome.releases],
        "gates": [
            {
                "release_id": result.release.release_id,
                "threshold": result.threshold,
                "passed": result.passed,
                "beyond_noise": result.beyond_noise,
            }
            for result in outcome.gates
            if not result.warns
        ],
    }
