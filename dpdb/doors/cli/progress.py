"""A progress bar of steps on stderr; never a number that depends on the data."""

from __future__ import annotations

import argparse
import sys

from dpdb.doors.cli.streams import tell
from dpdb.engine import Progress, no_progress

__all__ = ["step_bar"]

_WIDTH = 16


def step_bar(options: argparse.Namespace, steps: int) -> Progress:
    """Return a reporter that draws one line per step, over the last one; silent if stderr is not a terminal."""
    if options.quiet or not sys.stderr.isatty():
        return no_progress
    done = 0

    def report(step: str) -> None:
        nonlocal done
        done = min(done + 1, steps)
        filled = _WIDTH * done // steps
        bar = "#" * filled + "." * (_WIDTH - filled)
        end = "\r\033[K" if done == steps else ""
        tell(f"\r\033[K[{bar}] {step}{end}")

    return report
