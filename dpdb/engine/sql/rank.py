"""The canonical order: the ranks by which rows become nodes, and the order of edges over them.

Rows are ordered by a hash of their constrained values, then by the values themselves. The hash reads one row, and codes
keep the order of values, so the order of two rows depends on these two alone: a row that comes or goes shifts the ranks
of others, and never swaps them. Rows equal in all constrained values are interchangeable in every conflict. Edges are
ordered by the rank of their first row, then by the first constraint that they violate, then by the rank of their second
row. Projections keep edges greedily in this order, and the proofs of their sensitivities rest on what is said here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from dpdb.database import Database
from dpdb.errors import EngineError
from dpdb.thresholds import HASH_BITS

__all__ = ["TableEdges", "canonical_order", "edge_order", "hash_of", "integer_column", "refuse_repeated"]

Nodes = npt.NDArray[np.uint32]
Codes = npt.NDArray[np.signedinteger[Any]]
Rows = npt.NDArray[np.int64]

_BITS = np.uint64(32)


def edge_order() -> list[exp.Ordered]:
    """Return the canonical order of edges (u, v, dc) as the terms of an ORDER BY."""
    return [exp.Ordered(this=exp.column(name)) for name in ("u", "dc", "v")]


def hash_of(row: str, columns: Sequence[str]) -> exp.Expr:
    """Return the hash by which rows aliased `row` are ordered first; `columns` as the public schema orders them."""
    return exp.Anonymous(this="hash", expressions=[exp.column(name, table=row, quoted=True) for name in columns])


def canonical_order(hashes: npt.NDArray[np.uint64], codes: Sequence[Codes], rows: Rows | None = None) -> Rows:
    """Sort rows canonically: by hash, then by their codes, then by position.

    Sorted by most bits of the hash first. Only where rows that are equal in these differ in the others or in a code,
    which hardly ever happens, they are sorted by them: by the codes of the first column first, NULL (-1) after all
    others.

    Parameters
    ----------
    hashes, codes : array (all rows,)
        Of each row; an array of codes for each column.
    rows : array, optional
        Ascending positions of the rows that are wanted. Default: all. The order of any rows is the restriction of the
        whole order, since the order of two rows depends on these two alone.

    Returns
    -------
    array
        Their positions: that of the first row, that of the second one, and so on.
    """
    if rows is not None and rows.size == hashes.size:
        rows = None  # all of them
    wanted = hashes if rows is None else hashes[rows]
    # One sort of integers: of the hash as many bits as the place leaves, and the place below them.
    bits = np.uint64(max(1, int(wanted.size).bit_length(), min(63, 64 - int(HASH_BITS.at))))
    keys = (wanted >> bits << bits) | np.arange(wanted.size, dtype=np.uint64)
    keys.sort()
    pairs = np.flatnonzero((keys[1:] ^ keys[:-1]) >> bits == 0)  # the next row's bits are the same
    order = (keys & ((np.uint64(1) << bits) - np.uint64(1))).astype(np.int64)
    del keys
    if rows is not None:
        order = rows[order]
    one, other = order[pairs], order[pairs + 1]
    differ = hashes[one] != hashes[other]
    for column in codes:
        differ |= column[one] != column[other]
    if differ.any():
        run = np.cumsum(np.append(True, np.diff(pairs) != 1))  # which run of equal bits each pair is in
        mixed_pairs = pairs[np.isin(run, run[differ])]
        places = np.union1d(mixed_pairs, mixed_pairs + 1)
        mixed = order[places]
        by_codes = [column[mixed].view(f"u{column.itemsize}") for column in reversed(codes)]
        order[places] = mixed[np.lexsort((*by_codes, hashes[mixed]))]
    return order


class TableEdges:
    """The materialized conflict edges in canonical order (implements `dpdb.graph.OrderedEdges`)."""

    def __init__(self, database: Database, table: exp.Table | exp.Subquery | None, node_count: int) -> None:
        self._database = database
        self._table = table
        self._node_count = node_count

    @property
    def node_count(self) -> int:
        """Rows in the graph; node i is the row of canonical rank i."""
        return self._node_count

    @property
    def edge_count(self) -> int:
        """Edges. Private."""
        if self._table is None:
            return 0
        return int(self._database.value(exp.select(exp.Count(this=exp.Star())).from_(self._table.copy())))

    def batches(self) -> Iterator[tuple[Nodes, Nodes]]:
        """Stream (u, v) in the order in which the table was written: of `conflict_edge`, the canonical one."""
        if self._table is None:
            return
        for batch in self._database.stream(exp.select("u", "v").from_(self._table.copy())):
            yield integer_column(batch, 0), integer_column(batch, 1)


def refuse_repeated(batches: Iterable[tuple[Nodes, Nodes]]) -> None:
    """Refuse edges (u, v) that are not u < v, by ascending u, each once.

    One sort of integers for each batch: .08 seconds for a million edges, where a primary key takes 1.2 and keeps all of
    them in memory.

    Raises
    ------
    EngineError
        If they are not.
    """
    rest, done = np.empty(0, np.uint64), np.uint32(0)
    for u, v in batches:
        if not u.size:
            continue
        if u[0] < done or (u[1:] < u[:-1]).any() or (u >= v).any():
            _refuse()
        done = u[-1]
        pairs = np.concatenate([rest, u.astype(np.uint64) << _BITS | v])
        goes_on = pairs >> _BITS == done  # perhaps, in the next batch
        if _has_equal(np.sort(pairs[~goes_on])):
            _refuse()
        rest = pairs[goes_on]
    if _has_equal(np.sort(rest)):
        _refuse()


def _has_equal(ascending: npt.NDArray[np.uint64]) -> bool:
    return bool((ascending[1:] == ascending[:-1]).any())


def _refuse() -> None:
    raise EngineError("the edge table lists a pair of rows twice or out of order: please report this defect")


def integer_column(batch: pa.RecordBatch, column: int) -> npt.NDArray[Any]:
    """Read an integer column without NULL, without a copy (`to_numpy` would import pandas where it is installed)."""
    return np.from_dlpack(batch.column(column))
