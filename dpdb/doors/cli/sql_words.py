"""The words of `dpdb sql` beside results, from the command line and at its prompt."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable

from dpdb.doors.cli.result_formats import as_text
from dpdb.doors.sql import FrontEnd
from dpdb.release import Release, release_table

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


def release_words(releases: Iterable[Release]) -> str:
    """Return in words the answers that were paid for and are in no result; empty if there are none."""
    kept = tuple(releases)
    if not kept:
        return ""
    table = release_table(kept)
    columns = ["measure", "value", "lower", "upper", "epsilon", "where", "release_id"]
    return f"these releases were made and are paid for:\n{as_text(table.select(columns), _PIPE_WIDTH)}\n"
