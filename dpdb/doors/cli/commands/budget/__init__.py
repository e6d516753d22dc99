"""`dpdb budget ACTION`: make, show and continue the durable budget of one table."""

from __future__ import annotations

from typing import Any

from dpdb.doors.cli.commands.budget.acts import add_allow, add_create, add_epoch, add_raise, add_retire, add_show
from dpdb.doors.cli.commands.budget.history import add_answers, add_history
from dpdb.doors.cli.commands.budget.suites import add_close, add_rearm, add_suites
from dpdb.doors.cli.options import command_of_actions

__all__ = ["add_budget"]

_ACTIONS = (
    add_create, add_show, add_history, add_epoch, add_raise, add_allow, add_retire, add_answers, add_suites, add_rearm,
    add_close,
)  # fmt: skip


def add_budget(commands: Any) -> None:
    """Add `dpdb budget` and its actions."""
    text = "make, show and continue ledgers: the durable budget of one table"
    command_of_actions(commands, "budget", text, *_ACTIONS)
