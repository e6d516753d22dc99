"""`dpdb analyst add`."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import Any

from dpdb.doors.cli.commands.analyst.analyst_options import act_options, amount_options, server_command
from dpdb.errors import ParameterError

__all__ = ["add_add"]


def add_add(actions: Any) -> None:
    """Add `dpdb analyst add`."""
    text = "give an analyst access and print his token, once; again: a new token, and the old one is void"
    parser = server_command(actions, "add", _add, text, "dpdb analyst add ann --config serve.toml --quota 1")
    act_options(parser)
    amount_options(parser)
    parser.add_argument("--role", choices=["analyst", "checker", "owner"], help="what he may do (analyst)")
    parser.add_argument(
        "--agent", action="store_true", help="a program asks: quota 0.5, per statement 0.1, unless given"
    )
    parser.add_argument("--expires", metavar="TIME", help="when his access ends, such as 2027-01-01 (UTC)")


def _add(options: argparse.Namespace) -> int:
    """Write to every ledger, then print the token."""
    from dpdb.doors.server.analysts import add_analyst
    from dpdb.doors.server.configuration import load_configuration

    token = add_analyst(
        load_configuration(options.config),
        options.name,
        role=options.role,
        quota=options.quota,
        most_per_statement=options.per_statement,
        expires=None if options.expires is None else _time(options.expires),
        is_agent=options.agent,
        approved_by=options.who,
    )
    print(token)
    return 0


def _time(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ParameterError(f"--expires {text!r}: expected a time such as 2027-01-01 or 2027-01-01T12:00") from None
