"""Rows of a synthetic table that are free of conflicts with one another, found by the real engine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from dpdb.constraints import DenialConstraint
from dpdb.engine.duckdb.database import Database
from dpdb.engine.slice import Slice
from dpdb.engine.sources.open import open_source
from dpdb.engine.sql.bind import bind
from dpdb.release.conflict_graph import conflict_graph

__all__ = ["consistent_rows"]


def consistent_rows(table: pa.Table, constraints: Sequence[DenialConstraint]) -> NDArray[np.int64]:
    """Positions of rows without self-conflicts and conflicts: all if there are none, else a maximal set of them.

    The rows of fewest conflicts are taken first. For synthetic tables: the result is exact, not private.
    """
    with Database() as database:
        source = open_source(database, table)
        bound = bind(database, constraints, source.schema)
        part = Slice(database, source, bound, None, name="slice", keep_source_row=True)
        graph = conflict_graph(part)
        kept = np.ones(part.node_count, np.bool_)
        if graph.degree_summary().edge_count:
            near = graph.adjacency
            kept = near.independent_nodes(np.argsort(near.degrees, kind="stable"))
        assert part.source_row is not None
        positions = exp.select(exp.column(part.source_row, quoted=True)).from_(part.tuples.copy())
        ranked = positions.order_by(exp.column(part.rank, quoted=True))
        batches = [batch.column(0).to_numpy() for batch in database.stream(ranked)]
        return np.sort(np.concatenate([np.empty(0, np.int64), *batches])[kept])
