"""`dpdb exact`: for the owner only."""

from __future__ import annotations

import argparse
import json
import sys

from dpdb.doors.cli.options import csv_schema
from dpdb.doors.cli.progress import step_bar
from dpdb.doors.cli.streams import show
from dpdb.owner.exact import ExactMeasures, exact_measures

__all__ = ["run_exact"]

_STEPS = 4


def run_exact(options: argparse.Namespace) -> int:
    """Print true values; the session room refuses without `--non-private`."""
    measures = exact_measures(
        options.source,
        options.constraints,
        non_private=options.non_private,
        table=options.table,
        csv_schema=csv_schema(options),
        where=options.where,
        unit=options.unit,
        max_rows=options.max_rows,
        by_constraint=options.by_constraint,
        violations=options.violations,
        materialize=options.materialize,
        time_limit=options.time_limit,
        memory_limit=options.memory_limit,
        temp_directory=options.temp_directory,
        threads=options.threads,
        progress=step_bar(options, _STEPS + (options.violations is not None) + (options.materialize is not None)),
    )
    # Counts of maximal consistent subsets may have more digits than Python prints by default.
    sys.set_int_max_str_digits(0)
    show(json.dumps(measures.to_dict(), indent=2) if options.format == "json" else _text(measures))
    return 0


def _text(measures: ExactMeasures) -> str:
    fields = measures.to_dict()
    reasons = fields.pop("reasons")
    by_constraint = fields.pop("by_constraint", [])
    lines = ["NOT PRIVATE: exact values, for the owner of the data only"]
    lines += [f"{name:22} {'-' if value is None else value}" for name, value in fields.items()]
    lines += [f"{name}: {reason}" for name, reason in reasons.items()]
    lines += [f"{row['violations']:>12}  {row['constraint']}" for row in by_constraint]
    return "\n".join(lines)
