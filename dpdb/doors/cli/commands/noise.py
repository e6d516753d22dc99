"""`dpdb noise`: a dirtied copy of a table, for experiments by its owner."""

from __future__ import annotations

import argparse

from dpdb.doors.cli.options import csv_schema
from dpdb.doors.cli.streams import show
from dpdb.owner.dirt import write_noisy

__all__ = ["run_noise"]


def run_noise(options: argparse.Namespace) -> int:
    """Write the noisy copy and say what was changed."""
    summary = write_noisy(
        options.source,
        options.constraints,
        options.out,
        options.kind,
        alpha=options.alpha,
        typo=options.typo,
        skew=options.skew,
        iterations=options.iterations,
        seed=options.seed,
        sample=options.sample,
        table=options.table,
        csv_schema=csv_schema(options),
        overwrite=options.overwrite,
    )
    show(
        f"{summary.out}: {summary.rows:,} rows, {summary.changed_cells:,} cells changed by {summary.kind} "
        f"({summary.iterations:,} iterations in {len(summary.constrained_columns)} constrained columns, "
        f"seed {summary.seed})"
    )
    return 0
