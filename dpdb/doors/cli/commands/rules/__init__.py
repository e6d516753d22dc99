"""`dpdb rules ACTION`: constraints from other tools or found, and oddities in constraints."""

from __future__ import annotations

from typing import Any

from dpdb.doors.cli.commands.rules.discover import add_discover
from dpdb.doors.cli.commands.rules.import_ import add_import
from dpdb.doors.cli.commands.rules.lint import add_lint
from dpdb.doors.cli.shared_options import command_of_actions

__all__ = ["add_rules"]


def add_rules(commands: Any) -> None:
    """Add `dpdb rules` and its actions."""
    text = "bring constraints from other tools, check and discover constraints"
    command_of_actions(commands, "rules", text, add_import, add_lint, add_discover)
