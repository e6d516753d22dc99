"""Fewest rows to delete under a set of rules that comes apart into steps, in our own database."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sqlglot import exp

from dpdb.database import Database
from dpdb.engine.closed_forms import SteppedForm
from dpdb.engine.sql.rank import integer_column
from dpdb.engine.steps.stepped_counts import matching_edges, stepped_count
from dpdb.graph import greatest_matching

__all__ = ["count_stepped"]


def count_stepped(database: Database, form: SteppedForm, rows: exp.Expr, conditions: Sequence[exp.Expr] = ()) -> int:
    """Count the fewest rows to delete, by one query. Private.

    Parameters
    ----------
    rows : exp.Expr
        A table or subquery without alias that has `form.columns`, and what the conditions read.
    conditions : sequence of exp.Expr
        Which rows are meant, called `CLASS_ROWS`.
    """
    if not form.matches:
        return int(database.value(stepped_count(form, rows, conditions)))
    batches = database.stream(matching_edges(form, rows, conditions))
    parts = [np.stack([integer_column(batch, column) for column in range(4)]) for batch in batches]
    one, other, size, stay = np.concatenate([np.empty((4, 0), np.int64), *parts], axis=1)
    return int(size.sum()) - greatest_matching(one - 1, other - 1, stay)
