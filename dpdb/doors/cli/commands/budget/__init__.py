"""`dpdb budget ACTION`: make, show and continue the durable budget of one table."""

from __future__ import annotations

from typing import Any

from dpdb.doors.cli.commands.budget.allow import add_allow
from dpdb.doors.cli.commands.budget.answers import add_answers
from dpdb.doors.cli.commands.budget.close import add_close
from dpdb.doors.cli.commands.budget.create import add_create
from dpdb.doors.cli.commands.budget.epoch import add_epoch
from dpdb.doors.cli.commands.budget.history import add_history
from dpdb.doors.cli.commands.budget.raise_ import add_raise
from dpdb.doors.cli.commands.budget.rearm import add_rearm
from dpdb.doors.cli.commands.budget.retire import add_retire
from dpdb.doors.cli.commands.budget.show import add_show
from dpdb.doors.cli.commands.budget.suites import add_suites
from dpdb.doors.cli.shared_options import command_of_actions

__all__ = ["add_budget"]

_ACTIONS = (
    add_create, add_show, add_history, add_epoch, add_raise, add_allow, add_retire, add_answers, add_suites, add_rearm,
    add_close,
)  # fmt: skip


def add_budget(commands: Any) -> None:
    """Add `dpdb budget` and its actions."""
    text = "make, show and continue ledgers: the durable budget of one table"
    command_of_actions(commands, "budget", text, *_ACTIONS)
