"""`dpdb measure`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.answers import AnswerOutput
from dpdb.doors.cli.options import (
    command,
    limit_options,
    output_option,
    release_options,
    spending_options,
    table_options,
    thresholds,
    words_options,
)
from dpdb.doors.cli.streams import say

if TYPE_CHECKING:
    from dpdb.release import Gate, Release

_MISSED = ("failed", "not shown")
_STEPS = 5  # opening, reading, ranking, joining, drawing; more of a table in another engine


def add_measure(commands: Any) -> None:
    """Add `dpdb measure`."""
    text = "release one measure (repair), or all three, under differential privacy"
    example = "dpdb measure hospital.parquet --constraints hospital.dcs.txt --measure repair --epsilon 1"
    parser = command(commands, "measure", run, text, example)
    table_options(parser)
    release_options(parser)
    limit_options(parser)
    spending_options(parser)
    for option, what in (("--fail-above", "exit with code 1"), ("--warn-above", "say so")):
        text = f"{what} if the released value of MEASURE is above X; may be repeated"
        parser.add_repeated(option, metavar="MEASURE=X", harmless=True, help=text)
    parser.add_argument(
        "--gate",
        choices=["bounds", "value"],
        default="bounds",
        help="what --fail-above compares: with bounds only an upper bound within X passes, else exit code 5 (bounds)",
    )
    words_options(parser)
    output_option(parser)


def run(options: argparse.Namespace) -> int:
    """Release, print, and compare with the gates."""
    from dpdb.doors.cli.session import asked, run_session
    from dpdb.doors.cli.texts import releases_text
    from dpdb.measures import measures_named

    ask = asked(options, "dp_inconsistency")
    gates = thresholds(options, ask.measures)
    with AnswerOutput.of(options) as output, run_session(options, _STEPS) as session:
        releases = session.release(ask, who=options.who)
        if ask.rate and ask.measure == "all":
            for measure in measures_named("all"):
                if not measure.has_rate:
                    say(f"{measure.name} counts {measure.counts} and has no rate: not released")
        try:
            output.show(releases_text(releases, options.format, options.verbose), releases)
        finally:
            code = _gate(releases, gates)
        return code


def _gate(releases: Sequence[Release], gates: Sequence[Gate]) -> int:
    if not gates:
        return 0
    from dpdb.release import check_gates

    missed = [result for result in check_gates(releases, gates) if not result.passed]
    for result in missed:
        say(str(result))
    failed, unsure = (any(result.outcome == word for result in missed if not result.warns) for word in _MISSED)
    return 1 if failed else 5 if unsure else 0
