"""Class histograms of the rows of a slice in our own database: read from the source, neither copied nor ranked."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from dpdb.database import Database
from dpdb.engine.key_counts import LocalKeys, count_keys
from dpdb.engine.sql.bind import BoundConstraint
from dpdb.engine.sql.class_histograms import (
    CLASS_ROWS,
    class_histogram,
    class_histograms,
    self_conflict_count,
)
from dpdb.engine.sql.constraint_sql import not_alone
from dpdb.engine.sql.input_rows import typed_rows
from dpdb.engine.sql.where import WherePredicate
from dpdb.sources import Rows

__all__ = ["count_classes"]


def count_classes(
    database: Database, rows: Rows, constraints: Sequence[BoundConstraint], where: WherePredicate | None
) -> tuple[int, list[pa.Table]]:
    """Count the rows in conflict with themselves, and the classes of the others; see `dpdb.engine.Table`. Private.

    Parameters
    ----------
    database
        Where the rows are.
    rows
        The rows of the table.
    constraints
        What they must satisfy.
    where
        The slice; None for all rows.
    """
    alone = [bound for bound in constraints if bound.constraint.is_single_tuple]
    chosen = [] if where is None else [where.over(CLASS_ROWS)]
    read = set(where.columns if where else ()).union(*(bound.columns for bound in alone))
    count = int(database.value(self_conflict_count(alone, typed_rows(rows, read), chosen))) if alone else 0
    conditions = [*chosen, *not_alone(alone, CLASS_ROWS)]
    here, tables = LocalKeys(database), []
    for histogram in class_histograms(constraints, rows.schema):
        asked = typed_rows(rows, read.union(histogram.columns))
        if histogram.is_key and histogram.equal:
            tables.append(count_keys(here, histogram, asked, conditions))
        else:
            tables.append(here.grouped(class_histogram(histogram, asked, conditions)))
    return count, tables
