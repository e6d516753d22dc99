"""`dpdb count`."""

from __future__ import annotations

import argparse
from typing import Any

from dpdb.doors.cli.answers import AnswerOutput
from dpdb.doors.cli.shared_options import (
    command,
    format_option,
    limit_options,
    output_option,
    slice_options,
    source_options,
    spending_options,
)

__all__ = ["add", "run"]


def add(commands: Any) -> None:
    """Add `dpdb count`."""
    parser = command(
        commands,
        "count",
        run,
        "release the number of rows, with a two-sided interval, under differential privacy",
        "dpdb count hospital.parquet --where \"state = 'AL'\" --epsilon 0.1",
    )
    source_options(parser, constraints=False)
    slice_options(parser, epsilon=None)
    parser.add_argument("--rho", metavar="R", help="cost of Gaussian noise instead, on a ledger of notion zcdp")
    spending_options(parser)
    limit_options(parser)
    format_option(parser)
    output_option(parser)


def run(options: argparse.Namespace) -> int:
    """Release the number of rows of the table, of a slice, or of one slice per key."""
    from dpdb.doors.cli.asked import asked
    from dpdb.doors.cli.open_session import one_release, open_session
    from dpdb.doors.cli.releases_text import releases_text

    ask = asked(options, "dp_count")
    with (
        AnswerOutput(options.out, options.ledger, warn=not options.quiet) as output,
        open_session(options, budget=one_release(options)) as session,
    ):
        releases = session.release(ask)
        output.show(releases_text(releases, options.format), releases)
    return 0
