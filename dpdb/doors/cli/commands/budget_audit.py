"""`dpdb budget audit`: for the owner of a ledger that older versions have charged."""

from __future__ import annotations

import argparse
import json

from dpdb.doors.cli.options import csv_schema
from dpdb.doors.cli.streams import show
from dpdb.owner.ledger_audit import Audit, AuditedLine, audit

__all__ = ["run_budget_audit"]


def run_budget_audit(options: argparse.Namespace) -> int:
    """Print every line that would be charged otherwise now, and what all would cost together."""
    found = audit(options.ledger, options.source, table=options.table, schema=csv_schema(options))
    show(json.dumps(found.to_dict(), indent=2) if options.format == "json" else _words(found))
    return 0


def _words(found: Audit) -> str:
    changed = [line for line in found.lines if line.changed]
    unknown = sum(line.unknown for line in found.lines)
    lines = [_line_words(found.parameter, line) for line in changed]
    lines.append(f"releases   {len(found.lines)}, {len(changed)} of them charged otherwise by this version")
    if unknown:
        lines.append(f"unknown    {unknown} releases whose request cannot be read, taken as recorded")
    lines.append(f"recorded   {found.parameter} {found.spent:.9g} spent")
    more = found.spent_now - found.spent
    words = f"{abs(more):.9g} {'more' if more > 0 else 'less'}" if abs(more) > 1e-12 else "the same"
    lines.append(f"now        {found.parameter} {found.spent_now:.9g} spent ({words})")
    if found.spent_now > found.budget:
        lines.append(
            f"budget     {found.parameter} {found.budget:.9g} is exceeded; the ledger goes on by what is recorded: "
            "make a new one with what you are ready to lose"
        )
    return "\n".join(lines)


def _line_words(parameter: str, line: AuditedLine) -> str:
    run = f" (run id {line.run_id})" if line.run_id is not None else ""
    now = f"{parameter} {line.charge_now:.9g} for {line.rows_now}"
    if line.refused is not None:
        now = f"refused ({line.refused}), counted as {now}"
    return f"{line.number}{run}: {parameter} {line.charge:.9g} for {line.rows}; now {now}"
