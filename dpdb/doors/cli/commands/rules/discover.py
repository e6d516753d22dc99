"""`dpdb rules discover`: for the owner."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.answers import AnswerOutput
from dpdb.doors.cli.numbers import whole
from dpdb.doors.cli.options import csv_line
from dpdb.doors.cli.shared_options import answer_options, command, setting_options, source_options
from dpdb.errors import ParameterError

if TYPE_CHECKING:
    from dpdb.rules import DiscoveredRules

__all__ = ["add_discover"]

_STEPS = 3
_SPENDING = ("epsilon", "ledger", "run_id", "label", "receipt", "receipt_key")


def add_discover(actions: Any) -> None:
    """Add `dpdb rules discover`."""
    text = "name dependencies and keys that may hold, as a suite to edit, under differential privacy: for the owner"
    example = "dpdb rules discover hospital.parquet --top 10 --epsilon 1 --ledger hospital.ledger > found.dcs.txt"
    parser = command(actions, "discover", _discover, text, example)
    source_options(parser, constraints=False)
    setting_options(parser, ("rows_per_person", "unit", "max_rows"))
    parser.add_argument("--top", type=whole, default=10, metavar="N", help="dependencies to name, and N/10 keys (10)")
    parser.add_argument("--epsilon", metavar="E", help="privacy cost of all names together (1)")
    parser.add_argument("--columns", metavar="NAMES", help="columns that are paired: id,name; chosen without the data")
    parser.add_argument(
        "--non-private", action="store_true", help="exact scores instead, with g3 and mu+: for the owner's eyes only"
    )
    answer_options(parser, who=False)


def _discover(options: argparse.Namespace) -> int:
    """Print a suite of the names, with their cost; or, without privacy, with exact scores."""
    if options.non_private:
        given = [f"--{name.replace('_', '-')}" for name in _SPENDING if getattr(options, name) is not None]
        if given:
            raise ParameterError(f"--non-private spends nothing and is in no ledger: leave out {', '.join(given)}")
        return _exact(options)
    options.epsilon = options.epsilon or "1"
    with AnswerOutput.of(options) as output:
        found = _named(options)
        as_json = options.format == "json"
        output.show(
            json.dumps(found.to_dict(), indent=2) + "\n" if as_json else found.text(), (), run_id=found.run_id or ""
        )
    return 0


def _named(options: argparse.Namespace) -> DiscoveredRules:
    from dpdb.doors.cli.open_session import one_release, open_session
    from dpdb.doors.cli.progress import clear_bar, name_run, running, step_bar
    from dpdb.owner import discover, prepare_discovery

    asked = {name: getattr(options, name) for name in ("top", "epsilon", "run_id", "label")}
    with open_session(options, budget=one_release(options), progress=step_bar(options, _STEPS)) as session:
        run = prepare_discovery(session, columns=_names(options), **asked)
        clear_bar(options)
        name_run(options, run.charge.run_id)
        with running(options, run.charge.run_id):
            return discover(session, run)


def _exact(options: argparse.Namespace) -> int:
    from dpdb.doors.cli.options import table_settings
    from dpdb.doors.cli.progress import step_bar
    from dpdb.owner import exact_dependencies

    found = exact_dependencies(
        options.source,
        top=options.top,
        columns=_names(options),
        non_private=True,
        progress=step_bar(options, _STEPS),
        **table_settings(options),
    )
    with AnswerOutput(options.out, None, warn=False) as output:
        as_json = options.format == "json"
        output.show(json.dumps(found.to_dict(), indent=2) + "\n" if as_json else found.text(), ())
    return 0


def _names(options: argparse.Namespace) -> list[str] | None:
    if options.columns is None:
        return None
    return [name.strip() for name in csv_line("--columns", options.columns, spaced=True)]
