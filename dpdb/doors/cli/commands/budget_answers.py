"""`dpdb budget answers`: what was released and paid for, shown again."""

from __future__ import annotations

import argparse
import json
from typing import Any

from dpdb.doors.cli.commands.measure import releases_text
from dpdb.doors.cli.streams import show
from dpdb.errors import ParameterError
from dpdb.ledger import Ledger
from dpdb.ledger.lines import RecordedAnswer
from dpdb.release.release import Releases, recorded_releases

__all__ = ["run_budget_answers"]


def run_budget_answers(options: argparse.Namespace) -> int:
    """Print recorded answers; spends nothing and draws nothing."""
    with Ledger.open(options.ledger) as ledger:
        found = ledger.answers(release_id=options.release, run_id=options.run_id)
    asked = {"release": options.release, "run id": options.run_id}
    names = " and ".join(f"{what} {name!r}" for what, name in asked.items() if name is not None)
    if names and not found:
        raise ParameterError(f"{options.ledger}: no recorded answer of {names}; see `dpdb budget history`")
    if options.format == "json":
        show(json.dumps({"answers": [_fields(answer, options.release) for answer in found]}, indent=2))
        return 0
    words = [f"{_head(answer)}\n{releases_text(_releases(answer, options.release), 'text')}" for answer in found]
    show("".join(words).rstrip("\n") if found else "no answers yet")
    return 0


def _releases(answer: RecordedAnswer, release_id: str | None) -> Releases:
    """The releases of an answer, or the one that was asked for."""
    releases = recorded_releases(answer.answer)
    return Releases(release for release in releases if release_id in {None, release.release_id})


def _head(answer: RecordedAnswer) -> str:
    """Say which answer it is. When it was recorded is not said: it tells how long private work took."""
    names = {"run id": answer.run_id, "analyst": answer.analyst, "label": answer.label}
    named = "".join(f", {what} {name}" for what, name in names.items() if name is not None)
    return f"{answer.number}  {answer.reserved}{named}"


def _fields(answer: RecordedAnswer, release_id: str | None) -> dict[str, Any]:
    return {
        "number": answer.number,
        "reserved": answer.reserved,
        "run_id": answer.run_id,
        "analyst": answer.analyst,
        "label": answer.label,
        "request": json.loads(answer.request),
        "releases": [release.to_dict() for release in _releases(answer, release_id)],
    }
