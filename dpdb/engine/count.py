"""Row counts of slices: one scan of the source for all of them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dpdb.engine.database import Database
from dpdb.engine.slice import read_columns
from dpdb.engine.source import Source
from dpdb.engine.where import WherePredicate

__all__ = ["count_rows"]


def count_rows(database: Database, source: Source, slices: Sequence[WherePredicate | None], *, name: str) -> list[int]:
    """Count the rows of each slice (None: all rows). Private.

    The columns are copied to their comparison types first, as for a conflict graph, so that both see the same slices.
    """
    columns = {column for predicate in slices if predicate for column in predicate.columns}
    if not columns:
        everything = exp.select(exp.Count(this=exp.Star())).from_(source.scan.copy())
        return [int(database.value(everything))] * len(slices)
    table = exp.table_(name, quoted=True)
    read_columns(database, source, columns, table)
    try:
        counts = [
            exp.Filter(
                this=exp.Count(this=exp.Star()),
                expression=exp.Where(this=predicate.condition.copy() if predicate else exp.true()),
            )
            for predicate in slices
        ]
        return [int(count) for count in database.rows(exp.select(*counts).from_(table.copy()))[0]]
    finally:
        database.execute(f"DROP TABLE IF EXISTS {table.sql('duckdb')}")
