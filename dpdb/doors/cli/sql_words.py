"""The words of `dpdb sql` beside results, from the command line and at its prompt."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dpdb.doors.cli.result_formats import as_text
from dpdb.doors.sql import FrontEnd
from dpdb.release import Release, release_table

if TYPE_CHECKING:
    from dpdb.suites import CheckResults

__all__ = ["budget_words", "release_words", "text_width"]

_PIPE_WIDTH = 120


def text_width() -> int:
    """Return the number of characters that fit in a line of output."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _PIPE_WIDTH


def budget_words(front_end: FrontEnd) -> str:
    """Return the spent and the remaining budget in words."""
    remaining = front_end.session.remaining()
    left = "unlimited" if remaining is None else f"{remaining:.12g}"
    return f"privacy budget: {front_end.session.spent():.12g} spent, {left} remaining"


def release_words(releases: Iterable[Release], checks: Iterable[CheckResults] = ()) -> str:
    """Return in words the answers that were paid for and are in no result; empty if there are none."""
    words, kept = "", tuple(releases)
    if kept:
        table = release_table(kept)
        columns = ["measure", "value", "lower", "upper", "epsilon", "where", "release_id"]
        words = f"these releases were made and are paid for:\n{as_text(table.select(columns), _PIPE_WIDTH)}\n"
    for results in checks:
        table = results.to_arrow().select(["verdict", "name", "severity", "lower", "upper"])
        words += f"these checks were run, as {results.run_id!r}:\n{as_text(table, _PIPE_WIDTH)}\n"
    return words
