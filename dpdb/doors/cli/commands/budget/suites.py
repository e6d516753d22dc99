"""`dpdb budget suites`."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.commands.budget.ledger_option import ledger_option
from dpdb.doors.cli.shared_options import command
from dpdb.doors.cli.streams import one_line, show

if TYPE_CHECKING:
    from dpdb.ledger import RecordedSuite

__all__ = ["add_suites", "show_suites"]

_NANO = 10**9


def add_suites(actions: Any) -> None:
    """Add `dpdb budget suites`."""
    text = "list suites of checks: what they hold and have spent, which checks have failed or were re-armed"
    parser = command(actions, "suites", _suites, text, "dpdb budget suites visits.ledger")
    ledger_option(parser)


def _suites(options: argparse.Namespace) -> int:
    """Print the suites of a ledger."""
    from dpdb.ledger import open_to_read

    with open_to_read(options.ledger) as ledger:
        show_suites(ledger.suites(), options.format)
    return 0


def show_suites(suites: list[RecordedSuite], output: str) -> None:
    """Print suites: kept ones, and of the others those that have not ended; in JSON all.

    Parameters
    ----------
    suites
        The suites, oldest first.
    output
        ``"json"``, or anything else for text.
    """
    if output == "json":
        show(json.dumps({"suites": [_fields(suite) for suite in suites]}, indent=2))
        return
    shown = [_words(suite) for suite in suites if suite.name is not None or suite.ended is None]
    show("\n".join(shown) or "no suites of checks")


def _fields(suite: RecordedSuite) -> dict[str, Any]:
    amounts = {name: getattr(suite, name) / _NANO for name in ("reserved", "spent", "left")}
    facts = {name: [{"check": check, "at": at} for check, at in getattr(suite, name)] for name in ("failed", "rearmed")}
    return asdict(suite) | {"spec": json.loads(suite.spec)} | amounts | facts


def _words(suite: RecordedSuite) -> str:
    name = suite.name if suite.name is not None else f"run {suite.run_id}"
    runs = "" if suite.name is None else f", {suite.runs} run{'' if suite.runs == 1 else 's'}"
    reserved, spent, left = (f"{units / _NANO:.9g}" for units in (suite.reserved, suite.spent, suite.left))
    state = f"open since {suite.opened[:16]} UTC{runs}: epsilon {reserved} reserved, {spent} spent, {left} left"
    if suite.ended is not None:
        state = f"closed on {suite.ended[:10]}{runs}: settled from epsilon {reserved} to {spent}"
    facts = [f"{check} failed on {at[:10]}, not re-armed" for check, at in suite.failed]
    if suite.name is None:
        facts.append("the same --run-id finishes it; `dpdb budget close` ends it where it is")
    facts += [f"{check} re-armed on {at[:10]}" for check, at in suite.rearmed]
    return "\n    ".join(map(one_line, [f"{name}  {state}", *facts]))
