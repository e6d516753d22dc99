"""`dpdb budget create|show|history|epoch`: for the owner of a ledger."""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import asdict
from typing import Any

from dpdb.doors.cli.streams import show
from dpdb.ledger import Ledger, LedgerSummary
from dpdb.ledger.report import epsilon_at

__all__ = ["run_budget"]


def run_budget(options: argparse.Namespace) -> int:
    """Run one action on a ledger and print what it says now."""
    if options.action == "create":
        opened = Ledger.create(
            options.ledger,
            notion=options.notion,
            epsilon=options.epsilon,
            delta=options.delta,
            append_only=options.append_only,
        )
    else:
        opened = Ledger.open(options.ledger)
    with opened as ledger:
        if options.action == "history":
            _print_history(ledger, options.format)
            return 0
        if options.action == "epoch":
            ledger.open_epoch()
        summary = ledger.summary()
        fields, words = _finite(asdict(summary)), _summary_words(summary)
        if options.action == "show" and options.at_delta is not None:
            epsilon = epsilon_at(summary, ledger.history(), options.at_delta)
            fields["at_delta"] = {"epsilon": epsilon, "delta": options.at_delta}
            words += f"\nat delta   ({epsilon:.6g}, {options.at_delta:g}), if no release was chosen by earlier answers"
        show(json.dumps(fields, indent=2) if options.format == "json" else words)
    return 0


def _print_history(ledger: Ledger, output: str) -> None:
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


def _summary_words(summary: LedgerSummary) -> str:
    rows = "rows may be added, never changed" if summary.append_only else "a changed source needs a new epoch"
    lines = [
        f"budget     {summary.parameter} {summary.budget:.9g} ({summary.notion})",
        f"spent      {summary.parameter} {summary.spent:.9g} by {summary.releases} releases "
        f"({summary.sequential:.9g} without parallel composition), {summary.unanswered} not answered",
        f"remaining  {summary.parameter} {_down(summary.remaining)} for a release of the whole table",
        f"epoch      {summary.epoch} ({rows})",
    ]
    if summary.delta:
        lines.append(f"promises   so far ({summary.epsilon:.6g}, {summary.delta:g})-differential privacy")
    if summary.unit is not None:
        lines.append(f"unit       one value of {summary.unit}, at most {summary.rows_per_person} rows of it used")
    elif summary.rows_per_person is not None and summary.rows_per_person > 1:
        lines.append(f"unit       up to {summary.rows_per_person} rows of one person")
    return "\n".join(lines)


def _down(value: float) -> str:
    """Nine digits after the point, rounded down: what is left is never overstated."""
    shown = math.floor(value * 1e9) / 1e9
    return f"{shown:.9f}".rstrip("0").rstrip(".")


def _finite(fields: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity: an epsilon that does not exist at this delta is null."""
    return {name: None if value == math.inf else value for name, value in fields.items()}
