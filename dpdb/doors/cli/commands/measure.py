"""`dpdb measure`."""

from __future__ import annotations

import argparse
from typing import Any

from dpdb.doors.cli.answers import AnswerOutput
from dpdb.doors.cli.options import (
    ask_options,
    command,
    gate_code,
    gate_options,
    limit_options,
    output_option,
    spending_options,
    table_options,
    thresholds,
    words_options,
)
from dpdb.doors.cli.streams import say
from dpdb.release import OPTIONS

_STEPS = 5  # opening, reading, ranking, joining, drawing; more of a table in another engine


def add_measure(commands: Any) -> None:
    """Add `dpdb measure`."""
    text = "release one measure (repair), or all three, under differential privacy"
    example = "dpdb measure hospital.parquet --constraints hospital.dcs.txt --measure repair --epsilon 1"
    parser = command(commands, "measure", run, text, example)
    table_options(parser)
    ask_options(parser, OPTIONS)
    limit_options(parser)
    spending_options(parser)
    gate_options(parser)
    words_options(parser)
    output_option(parser)


def run(options: argparse.Namespace) -> int:
    """Release, print, and compare with the gates."""
    from dpdb.doors.cli.session import asked, run_session, say_if_repeated
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
            say_if_repeated(options, session)
        finally:
            code = gate_code(releases, gates)
        return code
