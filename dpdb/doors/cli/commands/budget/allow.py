"""`dpdb budget allow`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.commands.budget.ledger_option import act, act_options, allowance_options
from dpdb.errors import ParameterError

if TYPE_CHECKING:
    from dpdb.ledger import Ledger

__all__ = ["add_allow"]


def add_allow(actions: Any) -> None:
    """Add `dpdb budget allow`."""
    text = "allow at most so much within a period, inside the one total; old releases never expire"
    parser = act(actions, "allow", _allow, text, "dpdb budget allow visits.ledger --at-most 0.5 --per 30d")
    allowance_options(parser, required=True)
    parser.add_argument("--end", action="store_true", help="end the allowance of this period")
    act_options(parser)


def _allow(ledger: Ledger, options: argparse.Namespace) -> None:
    if options.end == (options.at_most is not None):
        raise ParameterError("give --at-most E, or --end for the allowance to end")
    ledger.allow(options.per, epsilon=options.at_most, who=options.who, label=options.label)
