"""The output of `dpdb run`: the outcomes of a run, each at once or all as one document; and as JUnit XML.

CI systems show JUnit XML: one test case for each gate, warning and check.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as Xml

from dpdb.diagnosis import diagnosis_text
from dpdb.doors.cli.answers import AnswerOutput, UnshownError
from dpdb.doors.cli.texts import checks_text, releases_text
from dpdb.doors.jobs import Job
from dpdb.doors.jobs.outcome import Outcome
from dpdb.errors import ParameterError

if TYPE_CHECKING:
    from dpdb.release import GateResult


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


_OF_GATE = ("threshold", "passed", "outcome", "beyond_noise")


def _fields(outcome: Outcome) -> dict[str, Any]:
    return {
        **_named(outcome),
        "releases": [release.to_dict() for release in outcome.releases],
        "gates": [
            {"release_id": result.release.release_id, **{name: getattr(result, name) for name in _OF_GATE}}
            for result in outcome.gates
            if not result.warns
        ],
    }


_ROOT = "testsuites"


def check_junit(path: str | Path) -> None:
    """Refuse, before anything is spent, a file that cannot be written, or an existing one that is no JUnit XML.

    Raises
    ------
    ParameterError
        If its folder does not exist, or the file is no JUnit XML: a run would replace it.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise ParameterError(f"--junit {path}: there is no folder {path.parent}")
    try:
        known = not path.exists() or not path.stat().st_size or Xml.parse(path).getroot().tag == _ROOT
    except (OSError, Xml.ParseError):
        known = False
    if not known:
        raise ParameterError(f"--junit {path}: is there already and is no JUnit XML; name another file")


def write_junit(path: str | Path, job: str, run_id: str, outcomes: Sequence[Outcome], error: str | None) -> None:
    """Write the file anew; its test case `run` stands for the run itself, and has the run's error.

    Parameters
    ----------
    path
        The file, which is replaced if it exists.
    outcomes
        The published releases of the run, with their gates.
    error
        Message of the error that ended the run; None without one.
    """
    cases = [_run_case(job, error), *_gate_cases(job, outcomes), *_check_cases(job, outcomes)]
    failures = sum(case.find("failure") is not None for case in cases)
    counts = {"tests": str(len(cases)), "failures": str(failures), "errors": str(int(error is not None))}
    skipped = sum(case.find("skipped") is not None for case in cases)
    if skipped:
        counts["skipped"] = str(skipped)
    root = Xml.Element(_ROOT, counts)
    suite = Xml.SubElement(root, "testsuite", {"name": _clean(f"{job} / {run_id}"), **counts})
    suite.extend(cases)
    Xml.indent(root)
    try:
        Xml.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
    except OSError as problem:
        raise ParameterError(f"--junit {path}: {(problem.strerror or 'cannot be written').lower()}") from None


def _run_case(job: str, error: str | None) -> Xml.Element:
    return _case(f"dpdb.{_clean(job)}", "run", "" if error is None else "error", error)


def _gate_cases(job: str, outcomes: Sequence[Outcome]) -> Iterator[Xml.Element]:
    for outcome in outcomes:
        for result in outcome.gates:
            name = f"{result.release.measure} <= {result.threshold:g}{_slice(result)}"
            of = f"dpdb.{_clean(job)}.{_clean(outcome.name)}"
            kind = "failure" if result.failed else "skipped" if result.outcome == "not shown" else "system-out"
            yield _case(of, name, kind, str(result))


def _check_cases(job: str, outcomes: Sequence[Outcome]) -> Iterator[Xml.Element]:
    """Give a case for each check: skipped where it is not shown or undecided; a warning fails none."""
    from dpdb.suites import check_words, limit_words

    for outcome in outcomes:
        for check in outcome.checks or ():
            name = f"{check.name} {limit_words(check)}{'' if check.key is None else f' [{check.key}]'}"
            of = f"dpdb.{_clean(job)}.{_clean(outcome.name)}"
            result = (
                "skipped" if check.verdict in ("not shown", "undecided") else "failure" if check.fails else "system-out"
            )
            yield _case(of, _clean(name), result, check_words(check))


def _case(of: str, name: str, result: str, words: str | None) -> Xml.Element:
    """Return a test case; `result` is the name of the element that has the words, empty for none."""
    case = Xml.Element("testcase", {"classname": of, "name": name})
    if result == "system-out":
        Xml.SubElement(case, result).text = _clean(words or "")
    elif result:
        Xml.SubElement(case, result, {"message": _clean(words or "")})
    return case


def _slice(result: GateResult) -> str:
    where, constraint = result.release.where, result.release.constraint
    return "".join(f" [{_clean(text)}]" for text in (where, constraint) if text)


def _clean(text: str) -> str:
    """Replace characters that XML cannot hold."""
    return "".join(sign if sign.isprintable() else " " for sign in text)
