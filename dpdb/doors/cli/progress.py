"""A progress bar of steps on stderr; never a number that depends on the data."""

from __future__ import annotations

import argparse
import sys

from dpdb.doors.cli.streams import tell
from dpdb.engine import Progress, no_progress

__all__ = ["clear_bar", "step_bar"]


def step_bar(options: argparse.Namespace, steps: int) -> Progress:
    """Return a reporter that draws one line per step, over the last one; silent if stderr is not a terminal."""
    if not _has_bar(options):
        return no_progress
    from dpdb.doors.notebook import bar_words

    done = 0

    def report(step: str) -> None:
        nonlocal done
        done = min(done + 1, steps)
        end = "\r\033[K" if done == steps else ""
        tell(f"\r\033[K{bar_words(done, steps, step)}{end}")

    return report


def clear_bar(options: argparse.Namespace) -> None:
    """Wipe the bar away before other lines, whatever steps are still to come."""
    if _has_bar(options):
        tell("\r\033[K")


def _has_bar(options: argparse.Namespace) -> bool:
    return not options.quiet and sys.stderr.isatty()
