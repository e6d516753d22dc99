"""Fewest rows to delete under a constraint that one sort of the rows decides, in our own database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from dpdb.constraints import SortedKind, SortedShape, sorted_shape
from dpdb.database import Database
from dpdb.engine.sql.bind import BoundConstraint
from dpdb.engine.sql.sorted_rows import numbered, sorted_rows
from dpdb.graph import deletions_of_chain, deletions_of_cross, deletions_of_intervals

__all__ = ["SortedForm", "count_sorted", "sorted_form"]


@dataclass(frozen=True)
class SortedForm:
    """A constraint over two tuples whose fewest deletions one sort gives. Public: from the constraint alone."""

    bound: BoundConstraint
    shape: SortedShape

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, sorted."""
        return self.bound.columns


def sorted_form(bound: BoundConstraint) -> SortedForm | None:
    """Return the form of a constraint, if it has one. Reads no row."""
    shape = sorted_shape(bound.constraint)
    return None if shape is None else SortedForm(bound, shape)


def count_sorted(database: Database, form: SortedForm, rows: exp.Expr, conditions: Sequence[exp.Expr] = ()) -> int:
    """Count the fewest rows to delete, by one query; of intervals reversed ones among them. Private.

    Parameters
    ----------
    rows : exp.Expr
        A table or subquery without alias that has `form.columns`, and what the conditions read.
    conditions : sequence of exp.Expr
        Which rows are meant, called `CLASS_ROWS`.
    """
    batches = numbered(database.stream(sorted_rows(form.bound, form.shape, rows, conditions)))
    if form.shape.kind is SortedKind.ORDER:
        return deletions_of_chain(batches, strict=form.shape.second_ties)
    return deletions_of_cross(batches) if form.shape.kind is SortedKind.CROSS else deletions_of_intervals(batches)
