"""The canonical order: the ranks by which rows become nodes, and the order of edges over them.

Rows are ordered by a hash of their constrained values, then by the values themselves. The hash reads one row, and codes
keep the order of values, so the order of two rows depends on these two alone: a row that comes or goes shifts the ranks
of others, and never swaps them. Rows equal in all constrained values are interchangeable in every conflict. Edges are
ordered by the rank of their first row, then by the first constraint that they violate, then by the rank of their second
row. Projections keep edges greedily in this order, and the proofs of their sensitivities rest on what is said here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from dpdb.engine.duckdb.database import Database

__all__ = ["TableEdges", "canonical_order", "edge_order", "hash_of", "integer_column"]

Nodes = npt.NDArray[np.uint32]
Codes = npt.NDArray[np.signedinteger[Any]]
Rows = npt.NDArray[np.int64]


def edge_order() -> list[exp.Ordered]:
    """Return the canonical order of edges (u, v, dc) as the terms of an ORDER BY."""
    return [exp.Ordered(this=exp.column(name)) for name in ("u", "dc", "v")]


def hash_of(row: str, columns: Sequence[str]) -> exp.Expr:
    """Return the hash by which rows aliased `row` are ordered first; `columns` as the public schema orders them."""
    return exp.Anonymous(this="hash", expressions=[exp.column(name, table=row, quoted=True) for name in columns])


def canonical_order(hashes: npt.NDArray[np.uint64], codes: Sequence[Codes], rows: Rows | None = None) -> Rows:
    """Sort rows canonically: by hash, then by their codes, then by position.

    Sorted by hash first. Only where rows of one hash differ in a code, which hardly ever happens, they are sorted by
    codes: those of the first column first, NULL (-1) after all others.

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
    wanted = hashes if rows is None else hashes[rows]
    order = np.argsort(wanted, kind="stable")
    ascending = wanted[order]
    if rows is not None:
        order = rows[order]
    alike = ascending[1:] == ascending[:-1]
    pairs = np.flatnonzero(alike)
    differ = np.zeros(pairs.size, np.bool_)
    for column in codes:
        differ |= column[order[pairs]] != column[order[pairs + 1]]
    if differ.any():
        run = np.append(0, np.cumsum(~alike))  # which run of equal hashes each place is in
        places = np.flatnonzero(np.isin(run, run[pairs[differ]]))
        mixed = order[places]
        keys = [column[mixed].view(f"u{column.itemsize}") for column in reversed(codes)]
        order[places] = mixed[np.lexsort((*keys, run[places]))]
    return order


class TableEdges:
    """The materialized conflict edges in canonical order (implements `dpdb.graph.OrderedEdges`)."""

    def __init__(self, database: Database, table: exp.Table | None, node_count: int) -> None:
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


def integer_column(batch: pa.RecordBatch, column: int) -> npt.NDArray[Any]:
    """Read an integer column without NULL, without a copy (`to_numpy` would import pandas where it is installed)."""
    return np.from_dlpack(batch.column(column))
