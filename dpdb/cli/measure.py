"""`dpdb measure`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from dpdb.cli.options import csv_schema, keys, thresholds
from dpdb.cli.progress import step_bar
from dpdb.cli.words import in_words
from dpdb.jobs.gates import Gate, check_gates
from dpdb.session import Release, Session
from dpdb.session.request import MEASURES

__all__ = ["as_tuple", "print_releases", "run_measure"]

_STEPS = 4  # reading, ranking, joining, drawing


def run_measure(options: argparse.Namespace) -> int:
    """Release, print, and compare with the gates."""
    gates = thresholds(options, MEASURES if options.measure == "all" else (options.measure,))
    with Session(
        options.source,
        constraints=options.constraints,
        table=options.table,
        csv_schema=csv_schema(options),
        budget=None if options.ledger else options.epsilon,
        ledger=options.ledger,
        rows_per_person=options.rows_per_person,
        row_bound=options.row_bound,
        memory_limit=options.memory_limit,
        temp_directory=options.temp_directory,
        threads=options.threads,
        progress=step_bar(options, _STEPS),
    ) as session:
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
        )
    releases = as_tuple(released)
    print_releases(releases, options.format)
    return _gate(releases, gates)


def as_tuple(released: Release | tuple[Release, ...]) -> tuple[Release, ...]:
    """Return one or several releases as several."""
    return released if isinstance(released, tuple) else (released,)


def print_releases(releases: Sequence[Release], output: str) -> None:
    """Print releases as one JSON document or in words."""
    if output == "json":
        print(json.dumps({"releases": [release.to_dict() for release in releases]}, indent=2))
        return
    for release in releases:
        print(in_words(release))
    print(f"Guarantee: {releases[0].guarantee}.")


def _gate(releases: Sequence[Release], gates: Sequence[Gate]) -> int:
    failed = [result for result in check_gates(releases, gates) if not result.passed]
    for result in failed:
        print(f"dpdb: {result}", file=sys.stderr)
    return 1 if failed else 0
