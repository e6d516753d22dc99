"""Options that actions of `dpdb budget` share: the ledger, the format, who acts, an allowance."""

from __future__ import annotations

import argparse

from dpdb.doors.cli.shared_options import format_option, who_option

__all__ = ["act_options", "allowance_options", "ledger_option"]


def ledger_option(parser: argparse.ArgumentParser, *formats: str) -> None:
    """Add the ledger, and the option for the format: text, JSON or one of further formats."""
    parser.add_argument("ledger", metavar="LEDGER", help="file of the ledger")
    format_option(parser, *formats)


def act_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for an owner's act: who does it, and why."""
    who_option(parser)
    parser.add_argument("--label", metavar="TEXT", help="why, for the ledger's history")


def allowance_options(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add the options for an allowance inside the total."""
    parser.add_argument("--at-most", metavar="E", help="privacy cost allowed within every such period")
    parser.add_argument(
        "--per", required=required, metavar="PERIOD", help="12h, 30d, 4w, month, year or 2026-12-01..2026-12-31"
    )
