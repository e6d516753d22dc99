"""Class histograms of slices of our own database and of keys: read from the source, neither copied nor ranked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from dpdb.database import Database
from dpdb.engine.sql.bind import BoundConstraint, not_alone
from dpdb.engine.sql.class_histograms import (
    CLASS_ROWS,
    HISTOGRAM,
    ClassHistogram,
    class_histogram,
    class_histograms,
    histogram_rows,
    self_conflict_count,
)
from dpdb.engine.sql.coded_rows import integer_array, integer_column
from dpdb.engine.sql.input_rows import typed_rows
from dpdb.engine.sql.where import WherePredicate
from dpdb.sources import Rows
from dpdb.thresholds import HASHES_PER_SHARED, MOST_HASHES


def count_classes(
    database: Database, rows: Rows, constraints: Sequence[BoundConstraint], where: WherePredicate | None
) -> tuple[int, list[pa.Table]]:
    """Count the rows in conflict with themselves, and the classes of the others; see `dpdb.engine.Table`. Private.

    Parameters
    ----------
    database
        Where the rows are.
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
    return count, [
        histogram_of(LocalKeys(database), each, typed_rows(rows, read.union(each.columns)), conditions)
        for each in class_histograms(constraints, rows.schema)
    ]


HASH = exp.column("row_hash")
"""The column of hashes, in queries of them and in what is lent."""


@dataclass(frozen=True)
class Hashes:
    """The hashes of some rows.

    Attributes
    ----------
    shared : pa.Array
        Those that several rows have, each once. Private.
    alone : int
        The number of those that one row has. Private.
    """

    shared: pa.Array
    alone: int


def may_be_few(found: Hashes) -> bool:
    """Return whether the rows of the shared hashes are looked at by themselves. Private."""
    return len(found.shared) * HASHES_PER_SHARED.at <= len(found.shared) + found.alone


class KeyRows(Protocol):
    """Rows in some engine, which can be hashed there."""

    def row_hash(self, values: Sequence[exp.Expr]) -> exp.Expr:
        """Hash values, none of them NULL, into a whole number; those that GROUP BY puts together into the same."""

    def hashes(self, query: exp.Select) -> Hashes | None:
        """Find which hashes are shared, of a query of `HASH` for each row; None if they are too many to be kept."""

    def lent(self, shared: pa.Array) -> AbstractContextManager[exp.Expr]:
        """Make hashes a table of one column, `HASH`, while a block lasts."""

    def grouped(self, query: exp.Select) -> pa.Table:
        """Answer `class_histogram`."""


def histogram_of(
    there: KeyRows, histogram: ClassHistogram, rows: exp.Expr, conditions: Sequence[exp.Expr] = ()
) -> pa.Table:
    """Answer `class_histogram`. Private.

    Almost every row of a key over some columns is a group of its own. These are found by hashes, not by GROUP BY of
    values.

    Values that GROUP BY puts together have one hash, so a row whose hash no other row has is alone in its group. Only
    the others are grouped by their values, which keeps the histogram exact, however bad the hash. Which engine does it
    is all the same: our own sorts ten million hashes in a twentieth of the processor time in which it groups ten
    million rows; others group them, and neither keep nor send the values of almost all rows.

    How many hashes are shared is private. It decides what is asked next, which the owner of the engine may see and
    nobody else; the answer is the same.

    Parameters
    ----------
    there
        Answers queries over the rows, with hashes of keys or with whole groups.
    histogram
        What the groups are, and which rows are in one.
    conditions
        Further conditions on a row called `CLASS_ROWS`.
    """
    if not (histogram.is_key and histogram.equal):
        return there.grouped(class_histogram(histogram, rows, conditions))
    row_hash = there.row_hash(histogram.group)
    found = there.hashes(histogram_rows(histogram, rows, conditions).select(exp.alias_(row_hash, HASH.name)))
    if found is None or not may_be_few(found):
        return there.grouped(class_histogram(histogram, rows, conditions))
    single = np.ones(min(found.alone, 1), np.int64)
    unsized = pa.nulls(single.size, HISTOGRAM.field("sizes").type)
    counted = pa.table([unsized, integer_array(single), integer_array(single * found.alone)], schema=HISTOGRAM)
    if not len(found.shared):
        return counted
    with there.lent(found.shared) as lent:
        among = exp.In(this=row_hash.copy(), query=exp.select(HASH.copy()).from_(lent).subquery())
        return pa.concat_tables([counted, there.grouped(class_histogram(histogram, rows, [*conditions, among]))])


_SHARED = exp.to_table("shared_hash")
_DROP = "DROP TABLE IF EXISTS shared_hash"


@dataclass(frozen=True)
class LocalKeys:
    """Rows in our own database (implements `dpdb.engine.count_classes.KeyRows`)."""

    database: Database

    def row_hash(self, values: Sequence[exp.Expr]) -> exp.Expr:
        """Hash as the canonical order does."""
        return exp.Anonymous(this="hash", expressions=list(values))

    def hashes(self, query: exp.Select) -> Hashes | None:
        """Sort the hashes; None if there are too many. Private."""
        parts, count = [np.empty(0, np.uint64)], 0
        for batch in self.database.stream(query):
            parts.append(integer_column(batch, 0))
            count += parts[-1].size
            if count > MOST_HASHES.at:
                return None
        return _sorted(np.concatenate(parts))

    @contextmanager
    def lent(self, shared: pa.Array) -> Iterator[exp.Expr]:
        """Copy hashes into a table."""
        self.database.execute(_DROP)  # by a signal it may be left, and the next release must not fail after its debit
        try:
            with self.database.arrow_table("shared_hashes", pa.Table.from_arrays([shared], [HASH.name])):
                self.database.execute(exp.select("*").from_("shared_hashes").ctas(_SHARED.copy()))
            yield _SHARED.copy()
        finally:
            self.database.execute(_DROP)

    def grouped(self, query: exp.Select) -> pa.Table:
        """Run a query. Private."""
        return pa.Table.from_batches(self.database.stream(query), HISTOGRAM)


def _sorted(hashes: NDArray[np.uint64]) -> Hashes:
    hashes.sort()
    same = hashes[1:] == hashes[:-1]
    shared = np.unique(hashes[1:][same])
    # A run of r equal hashes has r - 1 that are like the one before.
    alone = hashes.size - int(np.count_nonzero(same)) - shared.size
    return Hashes(pa.Array.from_buffers(pa.uint64(), shared.size, [None, pa.py_buffer(shared)]), alone)
