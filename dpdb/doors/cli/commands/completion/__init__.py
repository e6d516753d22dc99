"""`dpdb completion SHELL`: a script by which a shell completes commands, options and their choices."""

from __future__ import annotations

import argparse
from typing import Any

from dpdb.doors.cli.shared_options import command
from dpdb.doors.cli.streams import show

__all__ = ["add_completion"]


def add_completion(commands: Any) -> None:
    """Add `dpdb completion`."""
    text = "print a script by which a shell completes commands, options and their choices"
    example = "dpdb completion bash > ~/.local/share/bash-completion/completions/dpdb"
    parser = command(commands, "completion", run, text, example)
    parser.add_argument("shell", choices=["bash", "zsh", "fish"], help="the shell that will read the script")


def run(options: argparse.Namespace) -> int:
    """Print the script, made from the parser of all commands."""
    from dpdb.doors.cli.commands.completion.scripts import script
    from dpdb.doors.cli.main import build_parser

    show(script(options.shell, build_parser()))
    return 0
