"""`dpdb receipts ACTION`: the key of receipts, and receipts of what was spent before."""

from __future__ import annotations

from typing import Any

from dpdb.doors.cli.commands.receipts.issue import add_issue
from dpdb.doors.cli.commands.receipts.key import add_key
from dpdb.doors.cli.shared_options import command_of_actions

__all__ = ["add_receipts"]


def add_receipts(commands: Any) -> None:
    """Add `dpdb receipts` and its actions."""
    text = "make the key of receipts; issue receipts of what was spent"
    command_of_actions(commands, "receipts", text, add_key, add_issue)
