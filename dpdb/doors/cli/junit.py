"""A run as JUnit XML, which CI systems show: one test case for each gate, warning and check."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Xml

from dpdb.errors import ParameterError

if TYPE_CHECKING:
    from dpdb.doors.jobs.outcome import Outcome
    from dpdb.release import GateResult

__all__ = ["check_junit", "write_junit"]

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
    job
        The job's name.
    run_id
        The run's name.
    outcomes
        The published releases of the run, with their gates.
    error
        Message of the error that ended the run; None without one.

    Raises
    ------
    ParameterError
        If it cannot be written.
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
            yield _case(of, name, "failure" if result.failed else "system-out", str(result))


def _check_cases(job: str, outcomes: Sequence[Outcome]) -> Iterator[Xml.Element]:
    """Give a case for each check: skipped, with the reason, where it is undecided; a warning fails none."""
    from dpdb.suites import check_words, limit_words

    for outcome in outcomes:
        for check in outcome.checks or ():
            name = f"{check.name} {limit_words(check)}{'' if check.key is None else f' [{check.key}]'}"
            of = f"dpdb.{_clean(job)}.{_clean(outcome.name)}"
            result = "skipped" if check.verdict == "undecided" else "failure" if check.fails else "system-out"
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
