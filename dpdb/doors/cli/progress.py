"""A progress bar of steps on stderr; never a number that depends on the data."""

from __future__ import annotations

import argparse
import sys

from dpdb.doors.cli.streams import tell
from dpdb.engine import Progress, no_progress

__all__ = ["step_bar"]


def step_bar(options: argparse.Namespace, steps: int) -> Progress:
    """Return a reporter that draws one line per step, over the last one; silent if stderr is not a terminal."""
    if options.quiet or not sys.stderr.isatty():
        return no_progress
    from dpdb.doors.notebook import bar_words

    done = 0

    def report(step: str) -> None:
        nonlocal done
        done = min(done + 1, steps)
        end = "\r\033[K" if done == steps else ""
        tell(f"\r\033[K{bar_words(done, steps, step)}{end}")

    return report
