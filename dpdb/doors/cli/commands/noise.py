"""`dpdb noise`: a dirtied copy of a table, for experiments by its owner."""

from __future__ import annotations

import argparse
from typing import Any

from dpdb.doors.cli.options import command, given, quiet_options, source_options, table_settings
from dpdb.doors.cli.parser import real, whole
from dpdb.doors.cli.streams import show


def add_noise(commands: Any) -> None:
    """Add `dpdb noise`."""
    text = "write a dirtied copy of a table, for experiments (paper A, section 6.1)"
    example = "dpdb noise rnoise adult.parquet --constraints adult.dcs.txt --alpha 0.01 --seed 1 --out noisy.parquet"
    parser = command(commands, "noise", run, text, example)
    parser.add_argument(
        "kind", choices=["rnoise", "conoise"], help="rnoise changes random cells; conoise makes random pairs violate"
    )
    source_options(parser)
    parser.add_argument("--out", required=True, metavar="FILE", help="new .parquet, .csv or .duckdb file")
    parser.add_argument("--alpha", type=real, help="rnoise: changes per cell of the table, such as 0.01")
    parser.add_argument("--typo", type=real, metavar="P", help="rnoise: probability of a typo (0.5)")
    parser.add_argument("--skew", type=real, metavar="BETA", help="rnoise: Zipf skew of values (0)")
    parser.add_argument("--iterations", type=whole, metavar="N", help="conoise: iterations (200)")
    parser.add_argument("--sample", type=whole, metavar="ROWS", help="first keep this many random rows")
    parser.add_argument("--seed", type=whole, help="seed of the generator; the same seed gives the same file")
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    quiet_options(parser)


def run(options: argparse.Namespace) -> None:
    """Write the noisy copy and print a summary of the changes."""
    from dpdb.owner.dirt import write_noisy

    summary = write_noisy(
        options.source,
        **given(options, "out", "kind", "alpha", "typo", "skew", "iterations", "seed", "sample", "overwrite"),
        **table_settings(options),
    )
    show(
        f"{summary.out}: {summary.rows:,} rows, {summary.changed_cells:,} cells changed by {summary.kind} "
        f"({summary.iterations:,} iterations in {len(summary.constrained_columns)} constrained columns, "
        f"seed {summary.seed})"
    )
