"""The rows that a ledger charges for a call: those of its slices, as the accountant reads their predicate."""

from __future__ import annotations

from typing import Any

from dpdb.accounting import Predicate
from dpdb.accounting import parse_where as covered_rows
from dpdb.engine.schema import TableSchema
from dpdb.session.slices import Slices

__all__ = ["charged_rows", "charged_rows_words"]


def charged_rows(slices: Slices, schema: TableSchema) -> Predicate:
    """Every row that can change an answer of these slices: both tuples of a conflict lie in one of them."""
    # In the types that the engine compares in: an enumeration is text.
    types = {column.name: column.type or column.declared_type for column in schema.columns}
    return covered_rows(slices.covered, types)


def charged_rows_words(charged: Predicate) -> dict[str, Any]:
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
