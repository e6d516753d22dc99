"""`dpdb serve`, `dpdb mcp` and `dpdb analyst`: a server of many analysts or of one agent, and who may ask it."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.options import command, command_of_actions, configured_owner_log, format_option, who_option
from dpdb.doors.cli.parser import Parser, whole
from dpdb.errors import ParameterError
from dpdb.names import aligned

if TYPE_CHECKING:
    from dpdb.ledger import RecordedAnalyst


def add_serve(commands: Any) -> None:
    """Add `dpdb serve`."""
    text = "experimental: answer many analysts over HTTP, who reach releases and no rows"
    example = "dpdb serve --config serve.toml"
    parser = command(commands, "serve", _serve, text, example, config="configuration of the server")
    parser.add_argument("--port", metavar="N", type=whole, help="instead of the configured one; 0 takes a free one")


def _serve(options: argparse.Namespace) -> None:
    """Answer until a signal."""
    from dpdb.doors.cli.streams import say
    from dpdb.doors.server.configuration import load_configuration

    configuration = load_configuration(options.config)
    if options.port is not None:
        if not 0 <= options.port <= 65_535:
            raise ParameterError(f"--port {options.port}: expected a number from 0 to 65535")
        configuration = replace(configuration, port=options.port)
    try:
        from dpdb.doors.server.http.process import serve
    except ImportError as error:
        raise ParameterError(f"{error.name} is not installed: pip install 'dpdb[serve]'") from None
    configured_owner_log(configuration.owner_log)
    serve(configuration, say)


_TOKEN = "DPDB_TOKEN"
_MOST_TOKEN = 1_000


def add_mcp(commands: Any) -> None:
    """Add `dpdb mcp`."""
    text = "experimental: answer one analyst's agent over standard input and output (MCP)"
    example = "dpdb mcp --config serve.toml --token-file agent.token"
    parser = command(commands, "mcp", _mcp, text, example, config="configuration of the server")
    parser.add_argument("--token-file", metavar="FILE", help=f"file with the analyst's token (environment {_TOKEN})")


def _mcp(options: argparse.Namespace) -> None:
    """Answer until standard input ends."""
    from dpdb.doors.server.configuration import load_configuration

    configuration = load_configuration(options.config)
    token = _token(options.token_file)
    try:
        from dpdb.doors.server.mcp_protocol import serve_stdio
    except ImportError as error:
        raise ParameterError(f"{error.name} is not installed: pip install 'dpdb[mcp]'") from None
    configured_owner_log(configuration.owner_log)
    serve_stdio(configuration, token)


def _token(path: str | None) -> str:
    """Return the token, which is never on a command line: other users of the machine read that."""
    from dpdb.files.owned_file import read_owned

    given = os.environ.pop(_TOKEN, None)
    if path is not None:
        try:
            given = read_owned(Path(path))
        except OSError as error:
            raise ParameterError(f"--token-file {path}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise ParameterError(f"--token-file {path}: this is no token") from None
    token = (given or "").strip()
    if not token:
        raise ParameterError(f"no token: give --token-file FILE or the environment variable {_TOKEN}")
    return token[:_MOST_TOKEN]


def add_analyst(commands: Any) -> None:
    """Add `dpdb analyst` and its actions."""
    text = "experimental: say who may ask a server, with which quota, until when"
    command_of_actions(commands, "analyst", text, add_add, add_quota, add_revoke, add_list)


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


def _add(options: argparse.Namespace) -> None:
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


def _time(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ParameterError(f"--expires {text!r}: expected a time such as 2027-01-01 or 2027-01-01T12:00") from None


def add_quota(actions: Any) -> None:
    """Add `dpdb analyst quota`."""
    text = "fix how much an analyst may spend; what he has spent stays spent"
    parser = server_command(actions, "quota", _quota, text, "dpdb analyst quota ann --config serve.toml --quota 1.5")
    act_options(parser)
    amount_options(parser)


def _quota(options: argparse.Namespace) -> None:
    """Write to every ledger."""
    from dpdb.doors.server.analysts import ration_analyst
    from dpdb.doors.server.configuration import load_configuration

    if options.quota is None and options.per_statement is None:
        raise ParameterError("give --quota E, --per-statement E or both")
    configuration = load_configuration(options.config)
    ration_analyst(configuration, options.name, options.quota, options.per_statement, options.who)


def add_revoke(actions: Any) -> None:
    """Add `dpdb analyst revoke`."""
    text = "withdraw an analyst's access; what he has spent stays spent"
    parser = server_command(actions, "revoke", _revoke, text, "dpdb analyst revoke ann --config serve.toml")
    act_options(parser)


def _revoke(options: argparse.Namespace) -> None:
    """Write to every ledger."""
    from dpdb.doors.server.analysts import revoke_analyst
    from dpdb.doors.server.configuration import load_configuration

    revoke_analyst(load_configuration(options.config), options.name, options.who)


_HEADINGS = ("analyst", "table", "role", "quota", "spent", "per statement", "expires", "access")


def add_list(actions: Any) -> None:
    """Add `dpdb analyst list`."""
    text = "show who may ask, and what each has spent"
    parser = server_command(actions, "list", _list, text, "dpdb analyst list --config serve.toml")
    format_option(parser)


def _list(options: argparse.Namespace) -> None:
    """Print one line for each analyst and table."""
    from dpdb.doors.server.analysts import list_analysts
    from dpdb.doors.server.configuration import load_configuration

    found = list_analysts(load_configuration(options.config))
    if options.format == "json":
        print(json.dumps([_object(name, table, one) for name, of in found.items() for table, one in of.items()]))
        return
    lines = [_HEADINGS, *(_line(name, table, one, of) for name, of in found.items() for table, one in of.items())]
    print("\n".join(aligned(lines)))


def _object(name: str, table: str, one: RecordedAnalyst | None) -> dict[str, Any]:
    known = {} if one is None else {key: value for key, value in asdict(one).items() if key != "token"}
    return {"name": name, "table": table, "known": one is not None, **known}


def _line(
    name: str, table: str, one: RecordedAnalyst | None, of: Mapping[str, RecordedAnalyst | None]
) -> tuple[str, ...]:
    if one is None:
        return (name, table, "", "", "", "", "", "missing here: repeat `dpdb analyst add`")
    alike = len({None if each is None else (each.role, each.token) for each in of.values()}) == 1
    access = one.ended or ("given" if alike else "differs between ledgers: repeat `dpdb analyst add`")
    return (name, table, one.role, _amount(one.quota), _amount(one.spent), _amount(one.most_per_statement),
            (one.expires or "")[:16], access)  # fmt: skip


def _amount(number: float | None) -> str:
    return "" if number is None else f"{number:.9g}"
