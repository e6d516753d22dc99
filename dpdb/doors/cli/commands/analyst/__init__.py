"""`dpdb analyst ACTION`: who may ask a server, and how much."""

from __future__ import annotations

from typing import Any

from dpdb.doors.cli.commands.analyst.add import add_add
from dpdb.doors.cli.commands.analyst.list_ import add_list
from dpdb.doors.cli.commands.analyst.quota import add_quota
from dpdb.doors.cli.commands.analyst.revoke import add_revoke
from dpdb.doors.cli.shared_options import command_of_actions

__all__ = ["add_analyst"]


def add_analyst(commands: Any) -> None:
    """Add `dpdb analyst` and its actions."""
    text = "say who may ask a server, with which quota, until when"
    command_of_actions(commands, "analyst", text, add_add, add_quota, add_revoke, add_list)
