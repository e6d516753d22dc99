"""The session of a command that makes releases: its request, and its progress on standard error.

Each option of a request has the name of its field. Progress shows the names of steps, and no number that depends on
the data.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpdb.doors.cli.options import keys, named_files, table_settings
from dpdb.doors.cli.streams import one_line, say, tell
from dpdb.errors import EngineError, ParameterError
from dpdb.privacy import parse_epsilon
from dpdb.release import OPTIONS, Ask, Session
from dpdb.settings import Progress, no_progress


def open_session(options: argparse.Namespace, **own: Any) -> Session:
    """Open the source of a command; `own` are parameters of `Session` that the command sets itself, as `budget`."""
    ledgers = named_files("--parent-ledger", options.parent_ledger)
    ledger: dict[str, Any] = {"ledger": options.ledger, "parent_ledgers": ledgers}
    return Session(options.source, **table_settings(options) | ledger | own)


def one_release(options: argparse.Namespace) -> str | None:
    """Return the budget of a command that makes one release: its epsilon; None for that of the ledger, or a dry run."""
    if options.ledger is not None or options.epsilon is None or _is_dry(options):
        return None
    parse_epsilon(options.epsilon)  # errors speak of epsilon, not of a budget
    return str(options.epsilon)


def run_session(options: argparse.Namespace, steps: int, **own: Any) -> Session:
    """Open the session of a command that makes one release or run, in so many steps; a dry run reads no row."""
    budget, progress = one_release(options), step_bar(options, steps)
    return open_session(options, budget=budget, progress=progress, rows=not _is_dry(options), **own)


def asked(options: argparse.Namespace, function: str) -> Ask:
    """Return the request of a command to `dp_inconsistency` or `dp_count`."""
    if options.epsilon is None and options.rho is None:  # as `Ask`, in the words of the command line
        raise ParameterError("what a release costs is never a default: give --epsilon, or --rho on a zcdp ledger")
    given = {name: value for name, value in vars(options).items() if name in OPTIONS}
    listed = getattr(options, "keys_from", None)
    if listed is not None and options.keys is not None:
        raise ParameterError("give --keys or --keys-from, not both")
    return Ask.called(function, {**given, "keys": keys(options) if listed is None else Path(listed)})


def say_if_repeated(options: argparse.Namespace, session: Session) -> None:
    """Say that a release is the answer of an earlier run, whose cost stands beside it and was not spent again."""
    if not (options.quiet or session.has_debited):
        say(f"run id {one_line(options.run_id)!r} was answered before: this is that answer, and nothing was spent now")


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


def _is_dry(options: argparse.Namespace) -> bool:
    return getattr(options, "dry_run", False)


def _has_bar(options: argparse.Namespace) -> bool:
    return not options.quiet and sys.stderr.isatty()
