"""`dpdb serve`: many analysts over HTTP, one ledger for each table."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from dpdb.doors.cli.numbers import whole
from dpdb.doors.cli.shared_options import command, configured_owner_log
from dpdb.errors import ParameterError

__all__ = ["add_serve"]


def add_serve(commands: Any) -> None:
    """Add `dpdb serve`."""
    text = "answer many analysts over HTTP, who reach releases and no rows"
    example = "dpdb serve --config serve.toml"
    parser = command(commands, "serve", _serve, text, example, config="configuration of the server")
    parser.add_argument("--port", metavar="N", type=whole, help="instead of the configured one; 0 takes a free one")


def _serve(options: argparse.Namespace) -> int:
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
    return 0
