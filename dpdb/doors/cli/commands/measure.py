"""`dpdb measure`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from dpdb.doors.cli.answers import AnswerOutput
from dpdb.doors.cli.asked import asked
from dpdb.doors.cli.breakdown import breakdown_tables
from dpdb.doors.cli.open_session import one_release, open_session
from dpdb.doors.cli.options import thresholds
from dpdb.doors.cli.progress import step_bar
from dpdb.doors.cli.streams import say
from dpdb.doors.cli.words import in_words
from dpdb.doors.jobs.gates import Gate, check_gates
from dpdb.release import Release

__all__ = ["releases_text", "run_measure"]

_STEPS = 5  # opening, reading, ranking, joining, drawing


def run_measure(options: argparse.Namespace) -> int:
    """Release, print, and compare with the gates."""
    ask = asked(options, "dp_inconsistency")
    gates = thresholds(options, ask.measures)
    with (
        AnswerOutput(options.out, options.ledger, warn=not options.quiet) as output,
        open_session(
            options,
            constraints=options.constraints,
            budget=one_release(options),
            row_bound=options.row_bound,
            max_group=options.max_group,
            progress=step_bar(options, _STEPS),
        ) as session,
    ):
        releases = session.release(ask)
        if ask.rate and ask.measure == "all":
            say("minimal_inconsistency counts pairs of rows and has no rate: not released")
        try:
            output.show(releases_text(releases, options.format), releases)
        finally:
            code = _gate(releases, gates)
        return code


def releases_text(releases: Sequence[Release], output: str) -> str:
    """Return releases as one JSON document or in words."""
    if output == "json":
        return json.dumps({"releases": [release.to_dict() for release in releases]}, indent=2) + "\n"
    words = [in_words(release) for release in releases]
    if releases[0].constraint is not None:
        words = [breakdown_tables(releases)]
    return "\n".join([*words, f"Guarantee: {releases[0].guarantee}.\n"])


def _gate(releases: Sequence[Release], gates: Sequence[Gate]) -> int:
    failed = [result for result in check_gates(releases, gates) if not result.passed]
    for result in failed:
        say(str(result))
    return 1 if failed else 0
