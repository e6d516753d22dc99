"""The conflict edges of a slice as a table in canonical order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from dpdb.engine.duckdb.database import Database

__all__ = ["TableEdges", "integer_column"]

Nodes = npt.NDArray[np.uint32]


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

    def batches(self) -> Iterator[tuple[Nodes, Nodes]]:
        """Stream (u, v) in the order in which the table was written: the canonical one."""
        if self._table is None:
            return
        for batch in self._database.stream(exp.select("u", "v").from_(self._table.copy())):
            yield integer_column(batch, 0), integer_column(batch, 1)


def integer_column(batch: pa.RecordBatch, column: int) -> npt.NDArray[Any]:
    """Read an integer column without NULL, without a copy (`to_numpy` would import pandas where it is installed)."""
    return np.from_dlpack(batch.column(column))
