"""The options that every action of `dpdb budget` takes: the ledger, and how to print."""

from __future__ import annotations

import argparse

from dpdb.doors.cli.shared_options import format_option

__all__ = ["ledger_option"]


def ledger_option(parser: argparse.ArgumentParser) -> None:
    """The ledger, and text or JSON."""
    parser.add_argument("ledger", metavar="LEDGER", help="file of the ledger")
    format_option(parser)
