"""`dpdb analyst quota`."""

from __future__ import annotations

import argparse
from typing import Any

from dpdb.doors.cli.commands.analyst.analyst_options import act_options, amount_options, server_command
from dpdb.errors import ParameterError

__all__ = ["add_quota"]


def add_quota(actions: Any) -> None:
    """Add `dpdb analyst quota`."""
    text = "fix how much an analyst may spend; what he has spent stays spent"
    parser = server_command(actions, "quota", _quota, text, "dpdb analyst quota ann --config serve.toml --quota 1.5")
    act_options(parser)
    amount_options(parser)


def _quota(options: argparse.Namespace) -> int:
    """Write to every ledger."""
    from dpdb.doors.server.analysts import ration_analyst
    from dpdb.doors.server.configuration import load_configuration

    if options.quota is None and options.per_statement is None:
        raise ParameterError("give --quota E, --per-statement E or both")
    configuration = load_configuration(options.config)
    ration_analyst(configuration, options.name, options.quota, options.per_statement, options.who)
    return 0
