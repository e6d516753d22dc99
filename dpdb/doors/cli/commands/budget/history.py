"""`dpdb budget history`."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.commands.budget.ledger_option import ledger_option
from dpdb.doors.cli.shared_options import command
from dpdb.doors.cli.streams import show

if TYPE_CHECKING:
    from dpdb.ledger import Ledger

__all__ = ["add", "run"]


def add(actions: Any) -> None:
    """Add `dpdb budget history`."""
    parser = command(actions, "history", run, "print every debit", "dpdb budget history visits.ledger")
    ledger_option(parser)


def run(options: argparse.Namespace) -> int:
    """Print every debit, answered or not."""
    from dpdb.ledger import Ledger

    with Ledger.open(options.ledger) as ledger:
        _print(ledger, options.format)
    return 0


def _print(ledger: Ledger, output: str) -> None:
    entries = ledger.history()
    if output == "json":
        show(json.dumps({"releases": [asdict(entry) for entry in entries]}, indent=2))
        return
    for entry in entries:
        asked = ", ".join(entry.request.get("measures", {})) or "release"
        run = f", run id {entry.run_id}" if entry.run_id is not None else ""
        answered = "answered" if entry.answered else "not answered, still spent"
        show(
            f"{entry.number}  {entry.reserved}  epoch {entry.epoch}  {ledger.notion.parameter} {entry.charge:.9g}  "
            f"{asked} of {entry.rows}{run} ({answered})"
        )
    if not entries:
        show("no releases yet")
