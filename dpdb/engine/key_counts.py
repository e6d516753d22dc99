"""Class histograms of keys, where almost every row is a group of its own: found by sorting hashes, not by GROUP BY.

Equal values have equal hashes (else GROUP BY would not put them together), so a row whose hash no other row has is
alone in its group. Only the others are grouped by their values, which keeps the histogram exact. Sorting ten million
hashes takes a twentieth of the processor time of grouping ten million rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from dpdb.engine.duckdb.database import Database
from dpdb.engine.sql.class_histograms import HISTOGRAM, ClassHistogram, class_histogram, histogram_rows
from dpdb.engine.sql.rank import integer_column

__all__ = ["count_keys"]

_HASH, _SHARED = exp.column("row_hash"), exp.to_table("shared_hash")
_DROP = "DROP TABLE IF EXISTS shared_hash"
_ALONE = "SELECT NULL::BIGINT[] AS sizes, 1::BIGINT AS singles, {alone}::BIGINT AS groups WHERE {alone} > 0"
_MOST_HASHES = 2**26
"""Of more rows (half a gigabyte of hashes) a database that spills to disk takes better care."""
_FEW = 16
"""Where more than one in so many hashes is shared, grouping all rows is the shorter way."""


def count_keys(
    database: Database, histogram: ClassHistogram, rows: exp.Expr, conditions: Sequence[exp.Expr]
) -> pa.Table:
    """Answer `class_histogram` of a key; parameters as there. Private."""
    hashed = _row_hash(histogram.group)
    hashes = _hashes(database, histogram_rows(histogram, rows, conditions).select(exp.alias_(hashed, _HASH.name)))
    if hashes is None:
        return _grouped(database, class_histogram(histogram, rows, conditions))
    shared, alone = _shared(hashes)
    if shared.size > hashes.size // _FEW:
        return _grouped(database, class_histogram(histogram, rows, conditions))
    counted = _grouped(database, _ALONE.format(alone=alone))
    if not shared.size:
        return counted
    values = pa.Array.from_buffers(pa.uint64(), shared.size, [None, pa.py_buffer(shared)])
    database.execute(_DROP)  # by a signal it may be left, and the next release must not fail after its debit
    with database.arrow_table("shared_hashes", pa.Table.from_arrays([values], [_HASH.name])):
        database.execute(exp.select("*").from_("shared_hashes").ctas(_SHARED.copy()))
    try:
        among = exp.In(this=hashed, query=exp.select(_HASH).from_(_SHARED.copy()).subquery())
        return pa.concat_tables([counted, _grouped(database, class_histogram(histogram, rows, [*conditions, among]))])
    finally:
        database.execute(_DROP)


def _row_hash(columns: Sequence[exp.Expr]) -> exp.Expr:
    return exp.Anonymous(this="hash", expressions=list(columns))


def _grouped(database: Database, query: str | exp.Select) -> pa.Table:
    return pa.Table.from_batches(database.stream(query), HISTOGRAM)


def _hashes(database: Database, query: exp.Select) -> NDArray[np.uint64] | None:
    """Read hashes; None if there are too many."""
    parts, count = [np.empty(0, np.uint64)], 0
    for batch in database.stream(query):
        parts.append(integer_column(batch, 0))
        count += parts[-1].size
        if count > _MOST_HASHES:
            return None
    return np.concatenate(parts)


def _shared(hashes: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], int]:
    """Sort hashes, and return those of several rows, each once, and the number of the others."""
    hashes.sort()
    same = hashes[1:] == hashes[:-1]
    shared = np.unique(hashes[1:][same])
    # A run of r equal hashes has r - 1 that are like the one before.
    return shared, hashes.size - int(np.count_nonzero(same)) - shared.size
