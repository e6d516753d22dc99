"""The commands and their options."""

from __future__ import annotations

import argparse

from dpdb._version import __version__
from dpdb.doors.cli.intermixed import Parser
from dpdb.doors.cli.owner_commands import add_budget, add_exact, add_noise, add_overlap, add_report, add_schema
from dpdb.doors.cli.release_commands import add_count, add_demo, add_explain, add_measure, add_plan, add_run, add_sql

__all__ = ["build_parser"]

_COMMANDS = (
    add_measure,
    add_count,
    add_sql,
    add_run,
    add_report,
    add_explain,
    add_plan,
    add_exact,
    add_schema,
    add_noise,
    add_budget,
    add_overlap,
    add_demo,
)


def build_parser() -> argparse.ArgumentParser:
    """Build the parser; every subcommand sets `run`, which imports its work on first use."""
    parser = Parser(
        prog="dpdb",
        description="How inconsistent is a private table? Denial-constraint violations under differential privacy.",
    )
    parser.add_argument("--version", action="version", version=f"dpdb {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in _COMMANDS:
        add(commands)
    return parser
