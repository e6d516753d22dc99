"""`dpdb budget suites`, `rearm` and `close`: the suites of checks of a ledger."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.commands.budget.acts import act, act_options, ledger_option, suite_amounts
from dpdb.doors.cli.options import command
from dpdb.doors.cli.streams import one_line, show

if TYPE_CHECKING:
    from dpdb.ledger import Ledger, RecordedSuite
    from dpdb.privacy import Notion


def add_suites(actions: Any) -> None:
    """Add `dpdb budget suites`."""
    text = "list suites of checks: what they hold and have spent, which checks have failed or were re-armed"
    parser = command(actions, "suites", _suites, text, "dpdb budget suites visits.ledger")
    ledger_option(parser)


def _suites(options: argparse.Namespace) -> None:
    """Print the suites of a ledger."""
    from dpdb.ledger import open_to_read

    with open_to_read(options.ledger) as ledger:
        show_suites(ledger.suites(), options.format, ledger.notion)


def show_suites(suites: list[RecordedSuite], output: str, notion: Notion) -> None:
    """Print suites: kept ones, and of the others those that have not ended; in JSON all.

    Parameters
    ----------
    output
        ``"json"``, or anything else for text.
    notion
        Of the ledger, whose units the amounts are.
    """
    if output == "json":
        show(json.dumps({"suites": [_fields(suite, notion) for suite in suites]}, indent=2))
        return
    shown = [_words(suite, notion) for suite in suites if suite.name is not None or suite.ended is None]
    show("\n".join(shown) or "no suites of checks")


def _fields(suite: RecordedSuite, notion: Notion) -> dict[str, Any]:
    amounts = suite_amounts(suite, notion)
    facts = {name: [{"check": check, "at": at} for check, at in getattr(suite, name)] for name in ("failed", "rearmed")}
    return asdict(suite) | {"spec": json.loads(suite.spec), "parameter": notion.parameter} | amounts | facts


def _words(suite: RecordedSuite, notion: Notion) -> str:
    name = suite.name if suite.name is not None else f"run {suite.run_id}"
    runs = "" if suite.name is None else f", {suite.runs} run{'' if suite.runs == 1 else 's'}"
    reserved, spent, left = (f"{notion.value(units):.9g}" for units in (suite.reserved, suite.spent, suite.left))
    of = notion.parameter
    state = f"open since {suite.opened[:16]} UTC{runs}: {of} {reserved} reserved, {spent} spent, {left} left"
    if suite.ended is not None:
        state = f"closed on {suite.ended[:10]}{runs}: settled from {of} {reserved} to {spent}"
    facts = [f"{check} failed (recorded on {at[:10]}), not re-armed" for check, at in suite.failed]
    if suite.name is None:
        facts.append("the same --run-id finishes it; `dpdb budget close` ends it where it is")
    facts += [f"{check} re-armed on {at[:10]}" for check, at in suite.rearmed]
    return "\n    ".join(map(one_line, [f"{name}  {state}", *facts]))


def add_rearm(actions: Any) -> None:
    """Add `dpdb budget rearm`."""
    text = "let a failed check of a kept suite be tested again; only its next failure costs something"
    example = "dpdb budget rearm visits.ledger nightly zip_city --label 'fixed at the source'"
    parser = command(actions, "rearm", _rearm, text, example)
    ledger_option(parser)
    parser.add_argument("name", metavar="NAME", help="the kept suite")
    parser.add_argument("check", metavar="CHECK", help="the failed check, by the name that is printed")
    parser.add_argument(
        "--epsilon", metavar="E", help="debit this much for its failures (else: from what the suite has left)"
    )
    act_options(parser)


def _rearm(options: argparse.Namespace) -> None:
    """Re-arm a check and print the suite."""
    from dpdb.ledger import Ledger
    from dpdb.privacy import PURE
    from dpdb.suites import refuse_small_epsilon

    charge = None if options.epsilon is None else PURE.budget(options.epsilon)
    with Ledger.open(options.ledger) as ledger:
        kept = ledger.kept_suite(options.name)
        if kept is not None and charge is not None:
            refuse_small_epsilon(kept.spec, charge)
        ledger.owner.rearm(options.name, options.check, charge, who=options.who, label=options.label)
        suites = [suite for suite in ledger.suites() if suite.name == options.name]
        show_suites(suites, options.format, ledger.notion)


def add_close(actions: Any) -> None:
    """Add `dpdb budget close`."""
    text = "close a kept suite for ever: settle it at what its failures cost, and overwrite its secret"
    parser = act(actions, "close", _close, text, "dpdb budget close visits.ledger nightly")
    parser.add_argument("name", metavar="NAME", help="the kept suite, or the run id of another that was not finished")
    act_options(parser)


def _close(ledger: Ledger, options: argparse.Namespace) -> None:
    ledger.owner.close_suite(options.name, who=options.who, label=options.label)
