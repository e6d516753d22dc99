"""Commands of dpdb, run as the command line runs them, but in this process."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from dpdb.doors.cli import main

__all__ = ["command"]


def command(*arguments: str | Path) -> tuple[int, str]:
    """Run a command; its exit code, and what it prints."""
    printed = StringIO()
    with redirect_stdout(printed):
        code = main([str(argument) for argument in arguments])
    return code, printed.getvalue()
