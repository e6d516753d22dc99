"""`dpdb budget answers`: show paid releases again."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.commands.budget.history import named_words
from dpdb.doors.cli.commands.budget.ledger_option import ledger_option
from dpdb.doors.cli.shared_options import command
from dpdb.doors.cli.streams import show
from dpdb.errors import ParameterError

if TYPE_CHECKING:
    from dpdb.ledger import RecordedAnswer
    from dpdb.release import Releases

__all__ = ["add_answers"]


def add_answers(actions: Any) -> None:
    """Add `dpdb budget answers`."""
    text = "print recorded answers again; spends nothing and draws nothing"
    parser = command(actions, "answers", _print_answers, text, "dpdb budget answers visits.ledger --run-id monday")
    ledger_option(parser)
    parser.add_argument("--release", metavar="ID", help="only the release of this id")
    parser.add_argument("--run-id", metavar="ID", help="only what this run has released")


def _print_answers(options: argparse.Namespace) -> int:
    """Print recorded answers; spends nothing and draws nothing."""
    from dpdb.ledger import open_to_read

    with open_to_read(options.ledger) as ledger:
        found = ledger.answers(release_id=options.release, run_id=options.run_id)
    asked = {"release": options.release, "run id": options.run_id}
    names = " and ".join(f"{what} {name!r}" for what, name in asked.items() if name is not None)
    if names and not found:
        raise ParameterError(f"{options.ledger}: no recorded answer of {names}; see `dpdb budget history`")
    if options.format == "json":
        show(json.dumps({"answers": [_answer_fields(answer, options.release) for answer in found]}, indent=2))
        return 0
    words = [f"{_head(answer)}\n{_answer_text(answer, options.release)}" for answer in found]
    show("".join(words).rstrip("\n") if found else "no answers yet")
    return 0


def _answer_text(answer: RecordedAnswer, release_id: str | None) -> str:
    from dpdb.doors.cli.checks_text import checks_text
    from dpdb.doors.cli.releases_text import releases_text
    from dpdb.rules import recorded_discovery
    from dpdb.suites import recorded_results

    if not _is_object(answer):
        return releases_text(_releases(answer, release_id), "text", True)
    if (found := recorded_discovery(answer.answer)) is not None:
        return found.text()
    checks = recorded_results(answer.answer)
    if checks is not None:
        return checks_text(checks)
    from dpdb.diagnosis import diagnosis_text, recorded_diagnosis

    diagnosis = recorded_diagnosis(answer.answer)
    return f"{answer.answer}\n" if diagnosis is None else diagnosis_text(diagnosis)


def _is_object(answer: RecordedAnswer) -> bool:
    """Return whether an answer is that of a suite of checks, a diagnosis or a discovery: an object, and no list."""
    return isinstance(json.loads(answer.answer), dict)


def _releases(answer: RecordedAnswer, release_id: str | None) -> Releases:
    """Return the releases of an answer, or only the one with the given id."""
    from dpdb.release import Releases, recorded_releases

    releases = recorded_releases(answer.answer)
    return Releases(release for release in releases if release_id in {None, release.release_id})


def _head(answer: RecordedAnswer) -> str:
    """Name the answer, but not the time when it was recorded: that tells how long private work took."""
    named = named_words({"run id": answer.run_id, "analyst": answer.analyst, "label": answer.label})
    return f"{answer.number}  {answer.reserved}{named}"


def _answer_fields(answer: RecordedAnswer, release_id: str | None) -> dict[str, Any]:
    found = json.loads(answer.answer)
    shown: dict[str, Any] = {"diagnosis" if "named" in found else "suite": found}
    if "discover" in json.loads(answer.request):
        shown = found
    elif not _is_object(answer):
        shown = {"releases": [release.to_dict() for release in _releases(answer, release_id)]}
    return {
        "number": answer.number,
        "reserved": answer.reserved,
        "run_id": answer.run_id,
        "analyst": answer.analyst,
        "label": answer.label,
        "request": json.loads(answer.request),
        **shown,
    }
