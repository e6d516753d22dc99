"""`dpdb measure`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from dpdb.doors.cli.answers import AnswerOutput
from dpdb.doors.cli.open_session import one_release, open_session
from dpdb.doors.cli.options import keys, thresholds
from dpdb.doors.cli.progress import step_bar
from dpdb.doors.cli.streams import say
from dpdb.doors.jobs.gates import Gate, check_gates
from dpdb.measures.registry import MEASURES, measures_named
from dpdb.release import Release
from dpdb.release.words import releases_words

__all__ = ["as_tuple", "releases_text", "run_measure"]

_STEPS = 5  # opening, reading, ranking, joining, drawing


def run_measure(options: argparse.Namespace) -> int:
    """Release, print, and compare with the gates."""
    measures = tuple(measure.name for measure in measures_named(options.measure, rate=options.rate))
    gates = thresholds(options, measures)
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
        released = session.dp_inconsistency(
            options.measure,
            options.epsilon,
            where=options.where,
            by=options.by,
            keys=keys(options),
            mechanism=options.mechanism,
            confidence=options.confidence,
            max_degree=options.max_degree,
            run_id=options.run_id,
            rate=options.rate,
            each_constraint=options.each_constraint,
            theta=options.theta,
        )
        if options.rate and options.measure == "all":
            for measure in MEASURES:
                if not measure.has_rate:
                    say(f"{measure.name} counts {measure.counts} and has no rate: not released")
        releases = as_tuple(released)
        try:
            output.show(releases_text(releases, options.format), releases)
        finally:
            code = _gate(releases, gates)
        return code


def as_tuple(released: Release | tuple[Release, ...]) -> tuple[Release, ...]:
    """Return one or several releases as several."""
    return released if isinstance(released, tuple) else (released,)


def releases_text(releases: Sequence[Release], output: str) -> str:
    """Return releases as one JSON document or in words."""
    if output == "json":
        return json.dumps({"releases": [release.to_dict() for release in releases]}, indent=2) + "\n"
    return f"{releases_words(releases)}\n"


def _gate(releases: Sequence[Release], gates: Sequence[Gate]) -> int:
    failed = [result for result in check_gates(releases, gates) if not result.passed]
    for result in failed:
        say(str(result))
    return 1 if failed else 0
