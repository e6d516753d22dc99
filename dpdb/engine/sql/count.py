"""Row counts of slices: one scan of the source for all of them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dpdb.database import Database
from dpdb.engine.sql.input_rows import read_columns
from dpdb.engine.sql.where import WherePredicate
from dpdb.sources import Rows

__all__ = ["count_rows"]


def count_rows(database: Database, source: Rows, slices: Sequence[WherePredicate | None], *, name: str) -> list[int]:
    """Count the rows of each slice (None: all rows). Private.

    The columns are copied to their comparison types first, as for a conflict graph, so that both see the same slices.

    Parameters
    ----------
    database
        Where the rows are.
    source
        The rows of the table.
    slices
        One predicate per count.
    name
        Name of the copy while it is counted.
    """
    columns = {column for predicate in slices if predicate for column in predicate.columns}
    if not columns:  # also `true` has none: its own condition is what counts, whatever it is
        return _counts(database, source.scan, slices)
    table = exp.table_(name, quoted=True)
    read_columns(database, source, columns, table)
    try:
        return _counts(database, table, slices)
    finally:
        database.execute(f"DROP TABLE IF EXISTS {table.sql('duckdb')}")


def _counts(database: Database, rows: exp.Expr, slices: Sequence[WherePredicate | None]) -> list[int]:
    counts = [_count(predicate) for predicate in slices]
    return [int(count) for count in database.rows(exp.select(*counts).from_(rows.copy()))[0]]


def _count(predicate: WherePredicate | None) -> exp.Expr:
    every_row = exp.Count(this=exp.Star())
    if predicate is None:
        return every_row
    return exp.Filter(this=every_row, expression=exp.Where(this=predicate.condition))
