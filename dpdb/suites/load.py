"""Suites from files and texts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import date as Date

from dpdb.suites.suite import Suite

__all__ = ["load_suite"]


def load_suite(
    source: str | os.PathLike[str], columns: Sequence[str] | None = None, *, date: Date | str | None = None
) -> Suite:
    """Return the checks of a suite file, in its order.

    Parameters
    ----------
    source
        The path of an existing file, or a text: one constraint or `row_count` per line, with limits at its end.
    columns
        The table's columns, to resolve names against; None takes names as they are written.
    date
        What `{date}` stands for, as a date or as YYYY-MM-DD.

    Raises
    ------
    ConstraintSyntaxError
        If a line is no check, or two have one name.
    UnknownColumnError
        If a name cannot be resolved.
    ParameterError
        If a file is not found or cannot be read, or there is no check at all.
    """
    raise NotImplementedError
