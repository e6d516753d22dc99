"""Options that actions of `dpdb budget` share, and the run of an owner's act."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.intermixed import Parser
from dpdb.doors.cli.shared_options import command, format_option, who_option

if TYPE_CHECKING:
    from dpdb.ledger import Ledger

__all__ = ["act", "act_options", "allowance_options", "ledger_option"]

_Act = Callable[["Ledger", argparse.Namespace], None]


def act(actions: Any, name: str, do: _Act, text: str, example: str) -> Parser:
    """Make the action of an owner's act on a ledger, which prints the ledger's summary afterwards.

    Parameters
    ----------
    actions, name, text, example
        As of `command`.
    do
        Does the act.
    """
    parser = command(actions, name, partial(_done, do), text, example)
    ledger_option(parser)
    return parser


def _done(do: _Act, options: argparse.Namespace) -> int:
    from dpdb.doors.cli.commands.budget.summary import show_summary
    from dpdb.ledger import Ledger

    with Ledger.open(options.ledger) as ledger:
        do(ledger, options)
        show_summary(ledger.summary(), options.format)
    return 0


def ledger_option(parser: Parser, *formats: str) -> None:
    """Add the ledger, and the option for the format: text, JSON or one of further formats."""
    parser.add_argument("ledger", metavar="LEDGER", help="file of the ledger")
    format_option(parser, *formats)


def act_options(parser: Parser) -> None:
    """Add the options for an owner's act: who does it, and why."""
    who_option(parser)
    parser.add_argument("--label", metavar="TEXT", help="why, for the ledger's history")


def allowance_options(parser: Parser, *, required: bool) -> None:
    """Add the options for an allowance inside the total."""
    parser.add_argument("--at-most", metavar="E", help="privacy cost allowed within every such period")
    parser.add_argument(
        "--per", required=required, metavar="PERIOD", help="12h, 30d, 4w, month, year or 2026-12-01..2026-12-31"
    )
