"""The session of a command that makes releases, from the options that all of them share."""

from __future__ import annotations

import argparse
from typing import Any

from dpdb.cli.options import csv_schema
from dpdb.session import Session

__all__ = ["open_session"]


def open_session(options: argparse.Namespace, **own: Any) -> Session:
    """Open the source of a command; `own` is what the command says itself: `budget` and other `Session` parameters."""
    shared: dict[str, Any] = {
        "table": options.table,
        "csv_schema": csv_schema(options),
        "ledger": options.ledger,
        "rows_per_person": options.rows_per_person,
        "unit": options.unit,
        "max_rows": options.max_rows,
        "memory_limit": options.memory_limit,
        "temp_directory": options.temp_directory,
        "threads": options.threads,
    }
    return Session(options.source, **shared | own)
