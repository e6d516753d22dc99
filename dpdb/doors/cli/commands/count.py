"""`dpdb count`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.answers import AnswerOutput
from dpdb.doors.cli.options import (
    answer_options,
    command,
    count_options,
    declared_options,
    setting_options,
    source_options,
)
from dpdb.errors import ParameterError

if TYPE_CHECKING:
    from dpdb.release import Session


def add_count(commands: Any) -> None:
    """Add `dpdb count`."""
    text = "release the number of rows, with a two-sided interval, under differential privacy"
    parser = command(commands, "count", run, text, "dpdb count hospital.parquet --where \"state = 'AL'\" --epsilon 0.1")
    source_options(parser, constraints=False)
    text = "beside --private-parent: the rules that say which of its rows belong to a unit"
    setting_options(parser, ("constraints",), {"constraints": text}, required=False)
    declared_options(parser)
    count_options(parser)
    parser.add_argument(
        "--keys-from",
        metavar="FILE",
        help="a public list of up to 100,000 keys, one a line: shows those that are not empty",
    )
    answer_options(parser, verbose=True)


def run(options: argparse.Namespace) -> None:
    """Release the number of rows of the table, of a slice, or of one slice per key."""
    from dpdb.doors.cli.session import asked, say_if_repeated
    from dpdb.doors.cli.streams import say
    from dpdb.doors.cli.texts import releases_text
    from dpdb.release import listed_words

    ask = asked(options, "dp_count")
    if ask.sparse and ask.run_id is None and options.receipt is not None:
        raise ParameterError("--receipt with --keys-from needs --run-id, which names the answer where no key is listed")
    with AnswerOutput.of(options) as output, _session(options) as session:
        releases = session.release(ask, who=options.who)
        text = releases_text(releases, options.format, options.verbose)
        if ask.sparse:
            said = listed_words(session.prepare(ask), releases)
            if options.format == "text":
                text += f"{said}\n"
            else:
                say(said)
        output.show(text, releases, run_id=None if releases else ask.run_id)
        say_if_repeated(options, session)


def _session(options: argparse.Namespace) -> Session:
    """Open the table; rules matter only to find the rows of a unit in private parents."""
    from dpdb.constraints import unit_path
    from dpdb.doors.cli.session import one_release, open_session
    from dpdb.settings import NESTED_LOOP_ROWS

    if options.unit is not None and unit_path(options.unit) is not None:  # its parents lead to the unit
        return open_session(options, budget=one_release(options), constraints=options.constraints or None)
    if not options.private_parent:
        if options.max_children is not None:
            raise ParameterError("--max-children is for rows that refer to a --private-parent")
        return open_session(options, budget=one_release(options), constraints=None, public_parents=None)
    if not options.constraints:
        raise ParameterError("--private-parent needs --constraints: its rules say which of its rows belong to a unit")
    return open_session(options, budget=one_release(options), row_bound=NESTED_LOOP_ROWS)  # a count compares no rows
