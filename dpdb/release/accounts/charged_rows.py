"""The rows that a ledger charges for a call, in words for `explain`."""

from __future__ import annotations

from typing import Any

from dpdb.predicates import Region

__all__ = ["charged_rows_words"]


def charged_rows_words(charged: Region) -> dict[str, Any]:
    """Say which rows are charged, and what was not understood and is therefore charged in full.

    Returns
    -------
    dict
        ``rows`` (in words), ``every_row`` (whether the predicate limits the charge at all), ``boxes`` (disjoint; for
        each the set of values per column, in words; a column that is not named has all its values), ``notes``.
    """
    return {
        "rows": charged.describe(),
        "every_row": charged.covers_everything,
        "boxes": [{name: values.describe(name) for name, values in box} for box in charged.boxes],
        "notes": list(charged.notes),
    }
