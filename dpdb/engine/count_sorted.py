"""Fewest rows to delete under a constraint that one sort of the rows decides, in our own database."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dpdb.constraints import SortedKind
from dpdb.database import Database
from dpdb.engine.closed_forms import SortedForm
from dpdb.engine.sql.sorted_rows import numbered, sorted_rows
from dpdb.graph import deletions_of_chain, deletions_of_cross, deletions_of_intervals

__all__ = ["count_sorted"]


def count_sorted(database: Database, form: SortedForm, rows: exp.Expr, conditions: Sequence[exp.Expr] = ()) -> int:
    """Count the fewest rows to delete, by one query. Private.

    Parameters
    ----------
    rows : exp.Expr
        A table or subquery without alias that has `form.columns`, and what the conditions read.
    conditions : sequence of exp.Expr
        Which rows are meant, called `CLASS_ROWS`.
    """
    shape = form.shape
    batches = numbered(database.stream(sorted_rows(form.bound, shape, rows, conditions)))
    if shape.kind is SortedKind.ORDER:
        return deletions_of_chain(batches, strict=shape.second_ties)
    if shape.kind is SortedKind.CROSS:
        return deletions_of_cross(batches)
    return deletions_of_intervals(batches, reversed_go=form.reversed_go)
