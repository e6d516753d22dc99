"""`LocalKeys`: hashes of rows in our own database, sorted here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from dpdb.database import Database
from dpdb.engine.key_counts import HASH, Hashes
from dpdb.engine.sql.class_histograms import HISTOGRAM
from dpdb.engine.sql.rank import integer_column
from dpdb.thresholds import MOST_HASHES

__all__ = ["LocalKeys"]

_SHARED = exp.to_table("shared_hash")
_DROP = "DROP TABLE IF EXISTS shared_hash"


@dataclass(frozen=True)
class LocalKeys:
    """Rows in our own database (implements `dpdb.engine.key_counts.KeyRows`)."""

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
