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
from dpdb.engine.sql.codes import code_of, create_codes, with_codes

__all__ = ["TableEdges", "edge_order", "integer_column", "rank_rows"]

Nodes = npt.NDArray[np.uint32]

_ROW = "row"


def edge_order() -> list[exp.Ordered]:
    """Return the canonical order of edges (u, v, dc) as the terms of an ORDER BY."""
    return [exp.Ordered(this=exp.column(name)) for name in ("u", "dc", "v")]


def rank_rows(
    database: Database,
    rows: exp.Table,
    target: exp.Table,
    *,
    rank: str,
    columns: Sequence[str],
    codes: Sequence[tuple[str, exp.Table]],
    beside: Sequence[str],
    conditions: Sequence[exp.Expr],
) -> None:
    """Create the table of ranked rows: `rank` from 0, the constrained columns, and what is kept beside them.

    Parameters
    ----------
    columns : sequence of str
        The constrained columns, in an order that the public schema fixes.
    codes : sequence of (str, exp.Table)
        Columns that are kept as order-preserving codes, with names for their tables (value, code), which are dropped.
    beside : sequence of str
        Columns that take no part in the order.
    conditions : sequence of exp.Expr
        Over the rows, aliased `row`: which of them are ranked.
    """
    for column, table in codes:
        create_codes(database, rows, column, table)
    values: list[exp.Expr] = [exp.column(name, table=_ROW, quoted=True) for name in columns]
    keys = [code_of(name, _ROW, codes) for name in columns]  # where codes would not do, the value
    order = [exp.Ordered(this=key.copy()) for key in (exp.Anonymous(this="hash", expressions=values), *keys)]
    number = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=order), over="OVER")
    place = exp.cast(exp.Sub(this=number, expression=exp.convert(1)), "UINTEGER", dialect="duckdb")
    selected = [exp.alias_(key, name, quoted=True) for name, key in zip(columns, keys, strict=True)]
    selected += [exp.column(name, table=_ROW, quoted=True) for name in beside]
    ranked = exp.select(exp.alias_(place, rank, quoted=True), *selected)
    ranked = with_codes(ranked.from_(exp.alias_(rows.copy(), _ROW, table=True)), _ROW, codes)
    database.execute(ranked.where(*conditions).ctas(target.copy()))
    for _, table in codes:
        database.execute(f"DROP TABLE {table.sql('duckdb')}")


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
