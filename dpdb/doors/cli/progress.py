"""A progress bar of steps on stderr; never a number that depends on the data."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from dpdb.doors.cli.streams import say, tell
from dpdb.engine import Progress, no_progress
from dpdb.errors import EngineError

__all__ = ["clear_bar", "name_run", "running", "step_bar"]


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


def name_run(options: argparse.Namespace, run_id: str | None) -> None:
    """Say under which id a ledger keeps a run, where the command has given it none."""
    if options.ledger is not None and options.run_id is None and not options.quiet:
        say(f"run id {run_id}: with --run-id the same run is finished, or answered again")


@contextmanager
def running(options: argparse.Namespace, run_id: str | None) -> Iterator[None]:
    """Make a run; one that breaks off says how it is finished, and behind each the bar is wiped away."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, EngineError):
        if options.ledger is not None:
            say(f"with --run-id {run_id} the same command finishes this run, if it was debited")
        raise
    finally:
        clear_bar(options)


def _has_bar(options: argparse.Namespace) -> bool:
    return not options.quiet and sys.stderr.isatty()
