"""`dpdb budget audit`: for the owner of a ledger that older versions have charged."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.commands.budget.ledger_option import ledger_option
from dpdb.doors.cli.options import csv_schema
from dpdb.doors.cli.shared_options import command, shape_options
from dpdb.doors.cli.streams import show

if TYPE_CHECKING:
    from dpdb.owner import Audit, AuditedLine

__all__ = ["add", "run"]


def add(actions: Any) -> None:
    """Add `dpdb budget audit`."""
    parser = command(
        actions,
        "audit",
        run,
        "compare what older versions have charged with the rules of this one; reads no row and changes nothing",
        "dpdb budget audit visits.ledger visits.parquet",
    )
    ledger_option(parser)
    parser.add_argument("source", metavar="SOURCE", nargs="?", help="as of `dpdb measure`; only its schema is read")
    shape_options(
        parser, "column types, such as 'age INTEGER, day DATE': of a CSV file, or in place of SOURCE", constraints=False
    )


def run(options: argparse.Namespace) -> int:
    """Print every line that would be charged otherwise now, and what all would cost together."""
    from dpdb.owner import audit

    found = audit(
        options.ledger,
        options.source,
        table=options.table,
        schema=csv_schema(options),
        delimiter=options.delimiter,
    )
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
