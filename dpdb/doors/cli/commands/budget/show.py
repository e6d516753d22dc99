"""`dpdb budget show`."""

from __future__ import annotations

import argparse
from typing import Any

from dpdb.doors.cli.commands.budget.ledger_option import ledger_option
from dpdb.doors.cli.numbers import real
from dpdb.doors.cli.shared_options import command

__all__ = ["add_show"]


def add_show(actions: Any) -> None:
    """Add `dpdb budget show`."""
    parser = command(actions, "show", _show, "print what was spent and what is left", "dpdb budget show visits.ledger")
    ledger_option(parser)
    parser.add_argument(
        "--at-delta", type=real, metavar="D", help="of a pure ledger: also the tighter epsilon at delta D"
    )


def _show(options: argparse.Namespace) -> int:
    """Print a ledger's summary."""
    from dpdb.doors.cli.commands.budget.summary import show_summary
    from dpdb.ledger import epsilon_at, open_to_read

    with open_to_read(options.ledger) as ledger:
        summary, unseen = ledger.summary(), ledger.unseen_rows()
        if options.at_delta is None:
            show_summary(summary, options.format, unseen=unseen)
            return 0
        epsilon = epsilon_at(summary, ledger.history(), options.at_delta)
        show_summary(
            summary,
            options.format,
            {"at_delta": {"epsilon": epsilon, "delta": options.at_delta}},
            f"\nat delta   ({epsilon:.6g}, {options.at_delta:g}), if no release was chosen by earlier answers",
            unseen=unseen,
        )
    return 0
