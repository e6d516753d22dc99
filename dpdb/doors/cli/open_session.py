"""The session of a command that makes releases, from the options that all of them share."""

from __future__ import annotations

import argparse
from typing import Any

from dpdb.doors.cli.options import csv_schema
from dpdb.privacy import parse_epsilon
from dpdb.release import Session

__all__ = ["one_release", "open_session"]


def open_session(options: argparse.Namespace, **own: Any) -> Session:
    """Open the source of a command; `own` is what the command says itself: `budget` and other `Session` parameters."""
    shared: dict[str, Any] = {
        "table": options.table,
        "csv_schema": csv_schema(options),
        "delimiter": options.delimiter,
        "ledger": options.ledger,
        "who": options.who,
        "rows_per_person": options.rows_per_person,
        "unit": options.unit,
        "max_rows": options.max_rows,
        "memory_limit": options.memory_limit,
        "temp_directory": options.temp_directory,
        "threads": options.threads,
    }
    return Session(options.source, **shared | own)


def one_release(options: argparse.Namespace) -> str | None:
    """The budget of a command that makes one release: its epsilon, or what the ledger allows (None)."""
    if options.ledger is not None or options.epsilon is None:
        return None
    parse_epsilon(options.epsilon)  # errors speak of epsilon, not of a budget
    return str(options.epsilon)
