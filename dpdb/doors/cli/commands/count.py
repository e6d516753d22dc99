"""`dpdb count`."""

from __future__ import annotations

import argparse

from dpdb.doors.cli.answers import AnswerOutput
from dpdb.doors.cli.commands.measure import as_tuple, releases_text
from dpdb.doors.cli.open_session import one_release, open_session
from dpdb.doors.cli.options import keys

__all__ = ["run_count"]


def run_count(options: argparse.Namespace) -> int:
    """Release the number of rows of the table, of a slice, or of one slice per key."""
    with (
        AnswerOutput(options.out, options.ledger, warn=not options.quiet) as output,
        open_session(options, budget=one_release(options)) as session,
    ):
        released = session.dp_count(
            options.epsilon,
            rho=options.rho,
            where=options.where,
            by=options.by,
            keys=keys(options),
            confidence=options.confidence,
            run_id=options.run_id,
        )
        releases = as_tuple(released)
        output.show(releases_text(releases, options.format), releases)
    return 0
