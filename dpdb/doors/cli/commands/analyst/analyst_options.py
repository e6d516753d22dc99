"""Options that actions of `dpdb analyst` share: the configuration, who is meant, how much."""

from __future__ import annotations

from typing import Any

from dpdb.doors.cli.intermixed import Parser
from dpdb.doors.cli.shared_options import command, who_option

__all__ = ["act_options", "amount_options", "server_command"]


def server_command(commands: Any, name: str, run: Any, text: str, example: str) -> Parser:
    """Make a command whose `--config` is the configuration of a server; no other file sets its options."""
    return command(commands, name, run, text, example, config="configuration of the server")


def act_options(parser: Parser) -> None:
    """Add the analyst's name, and the option for who does it."""
    parser.add_argument("name", metavar="NAME", help="the analyst: small letters, digits, dots, hyphens, underscores")
    who_option(parser)


def amount_options(parser: Parser) -> None:
    """Add the options for a quota and the most that one statement may cost."""
    parser.add_argument("--quota", metavar="E", help="most privacy cost of his releases, on every table")
    parser.add_argument("--per-statement", metavar="E", help="most privacy cost of one statement")
