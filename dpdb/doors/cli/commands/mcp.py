"""`dpdb mcp`: one analyst's releases as tools of a language model, over standard input and output."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from dpdb.doors.cli.shared_options import command, configured_owner_log
from dpdb.errors import ParameterError

__all__ = ["add_mcp"]

_TOKEN = "DPDB_TOKEN"
_MOST_TOKEN = 1_000


def add_mcp(commands: Any) -> None:
    """Add `dpdb mcp`."""
    text = "answer one analyst's agent over standard input and output (MCP)"
    example = "dpdb mcp --config serve.toml --token-file agent.token"
    parser = command(commands, "mcp", _mcp, text, example, config="configuration of the server")
    parser.add_argument("--token-file", metavar="FILE", help=f"file with the analyst's token (environment {_TOKEN})")


def _mcp(options: argparse.Namespace) -> int:
    """Answer until standard input ends."""
    from dpdb.doors.server.configuration import load_configuration

    configuration = load_configuration(options.config)
    token = _token(options.token_file)
    try:
        from dpdb.doors.server.mcp.over_stdio import serve_stdio
    except ImportError as error:
        raise ParameterError(f"{error.name} is not installed: pip install 'dpdb[mcp]'") from None
    configured_owner_log(configuration.owner_log)
    serve_stdio(configuration, token)
    return 0


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
