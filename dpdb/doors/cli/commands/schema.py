"""`dpdb schema`: for the owner only."""

from __future__ import annotations

import argparse
import json
import shlex

import pyarrow as pa

from dpdb.doors.cli.result_formats import as_text
from dpdb.doors.cli.streams import show
from dpdb.engine import Faults
from dpdb.owner.proposed_schema import ProposedSchema, propose_schema

__all__ = ["run_schema"]

_WIDTH = 120


def run_schema(options: argparse.Namespace) -> int:
    """Print proposed types; nothing uses them before the owner gives them as an option."""
    proposed = propose_schema(
        options.source,
        table=options.table,
        memory_limit=options.memory_limit,
        temp_directory=options.temp_directory,
        threads=options.threads,
    )
    show(json.dumps(proposed.to_dict(), indent=2) if options.format == "json" else _text(proposed))
    return 0


def _text(proposed: ProposedSchema) -> str:
    lines = ["NOT PRIVATE: read from the rows, for the owner of the data to confirm"]
    if proposed.faults is not None and proposed.faults != Faults():
        lines.append(_faults(proposed.faults))
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


def _faults(faults: Faults) -> str:
    return (
        f"lines with too few cells (the others are NULL): {faults.short:,}; with too many, or with quotes out of place "
        f"(rows of NULLs): {faults.unreadable:,}; cells that are not UTF-8 (NULL): {faults.not_utf8:,}"
        + ("" if faults.first_line is None else f"; the first such line is {faults.first_line:,}")
    )
