"""`dpdb analyst revoke`."""

from __future__ import annotations

import argparse
from typing import Any

from dpdb.doors.cli.commands.analyst.analyst_options import act_options, server_command

__all__ = ["add_revoke"]


def add_revoke(actions: Any) -> None:
    """Add `dpdb analyst revoke`."""
    text = "withdraw an analyst's access; what he has spent stays spent"
    parser = server_command(actions, "revoke", _revoke, text, "dpdb analyst revoke ann --config serve.toml")
    act_options(parser)


def _revoke(options: argparse.Namespace) -> int:
    """Write to every ledger."""
    from dpdb.doors.server.analysts import revoke_analyst
    from dpdb.doors.server.configuration import load_configuration

    revoke_analyst(load_configuration(options.config), options.name, options.who)
    return 0
