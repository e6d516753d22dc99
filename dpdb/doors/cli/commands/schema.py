"""`dpdb schema`: for the owner only."""

from __future__ import annotations

import argparse
import json
import shlex
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.options import command, format_option, limit_options, setting_options, table_settings
from dpdb.doors.cli.streams import show

if TYPE_CHECKING:
    from dpdb.owner import ProposedSchema

_WIDTH = 120


def add_schema(commands: Any) -> None:
    """Add `dpdb schema`."""
    text = "propose types for columns that have none, as a --schema option; reads rows, so it is for the owner only"
    parser = command(commands, "schema", run, text, "dpdb schema visits.csv")
    parser.add_argument("source", metavar="FILE", help="CSV file, or directory or glob of CSV or Parquet files")
    setting_options(parser, ("table", "delimiter"))
    limit_options(parser)
    format_option(parser)


def run(options: argparse.Namespace) -> None:
    """Print proposed types; nothing uses them before the owner gives them as an option."""
    from dpdb.owner import propose_schema

    proposed = propose_schema(options.source, **table_settings(options))
    show(json.dumps(proposed.to_dict(), indent=2) if options.format == "json" else _text(proposed))


def _text(proposed: ProposedSchema) -> str:
    import pyarrow as pa

    from dpdb.doors.cli.result_formats import as_text

    lines = ["NOT PRIVATE: read from the rows, for the owner of the data to confirm"]
    faults = proposed.faults
    if faults is not None:
        lines += faults.words()
    if not proposed.columns:
        return "\n".join([*lines, "every column has its type from the source: there is nothing to declare"])
    shown = {
        "column": [column.name for column in proposed.columns],
        "type": [column.type for column in proposed.columns],
        "cells": [f"{column.cells:,}" for column in proposed.columns],
        "missing": [f"{column.missing:,}" for column in proposed.columns],
        "note": [column.note or "" for column in proposed.columns],
    }
    lines.append(as_text(pa.table(shown), _WIDTH))
    if not proposed.option:
        return "\n".join([*lines, "no column looks like anything but text: there is nothing to declare"])
    return "\n".join([*lines, "", f"--schema {shlex.quote(proposed.option)}", "", proposed.toml])
