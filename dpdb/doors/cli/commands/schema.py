"""`dpdb schema`: for the owner only."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.options import command, format_option, limit_options, setting_options, table_settings
from dpdb.doors.cli.streams import show
from dpdb.errors import ParameterError
from dpdb.files.new_file import new_file

if TYPE_CHECKING:
    from dpdb.owner import ProposedSchema

_WIDTH = 120


def add_schema(commands: Any) -> None:
    """Add `dpdb schema`."""
    text = "propose types for columns that have none, as a --schema option; reads rows, so it is for the owner only"
    parser = command(commands, "schema", run, text, "dpdb schema visits.csv")
    parser.add_argument("source", metavar="FILE", help="CSV file, or directory or glob of CSV or Parquet files")
    how = "what is known of all cells, such as '* (encoding windows-1252)' (told by the beginning of CSV text)"
    setting_options(parser, ("table", "csv_schema", "delimiter"), {"csv_schema": how})
    parser.add_argument(
        "--out", metavar="FILE", help="write the proposal to a new file, which --schema FILE.toml reads"
    )
    limit_options(parser)
    format_option(parser)


def run(options: argparse.Namespace) -> None:
    """Print proposed types; nothing uses them before the owner gives them as an option."""
    from dpdb.owner import propose_schema

    if options.out is not None and not options.out.endswith(".toml"):
        raise ParameterError(f"--out {options.out}: expected a name that ends in .toml, as --schema reads it")
    proposed = propose_schema(options.source, **table_settings(options))
    if options.out is not None:
        with new_file(Path(options.out)) as path:
            path.write_text(proposed.toml + "\n", encoding="utf-8")
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
        "NULL, for example": [", ".join(map(repr, column.lost)) for column in proposed.columns],
    }
    if not any(shown["NULL, for example"]):
        del shown["NULL, for example"]
    lines.append(as_text(pa.table(shown), _WIDTH))
    if not proposed.option:
        return "\n".join([*lines, "no column looks like anything but text: there is nothing to declare"])
    return "\n".join([*lines, "", f"--schema {shlex.quote(proposed.option)}", "", proposed.toml])
