"""`dpdb count`."""

from __future__ import annotations

import argparse

from dpdb.doors.cli.answers import AnswerOutput
from dpdb.doors.cli.asked import asked
from dpdb.doors.cli.commands.measure import releases_text
from dpdb.doors.cli.open_session import one_release, open_session

__all__ = ["run_count"]


def run_count(options: argparse.Namespace) -> int:
    """Release the number of rows of the table, of a slice, or of one slice per key."""
    ask = asked(options, "dp_count")
    with (
        AnswerOutput(options.out, options.ledger, warn=not options.quiet) as output,
        open_session(options, budget=one_release(options)) as session,
    ):
        releases = session.release(ask)
        output.show(releases_text(releases, options.format), releases)
    return 0
