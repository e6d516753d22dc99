"""Rows of a synthetic table that are free of conflicts with one another, found by the real engine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpdb.constraints import DenialConstraint
from dpdb.engine import source_rows
from dpdb.opening import open_local_table
from dpdb.release.conflict_graph import conflict_graph

__all__ = ["consistent_rows"]


def consistent_rows(table: pa.Table, constraints: Sequence[DenialConstraint]) -> NDArray[np.int64]:
    """Return the positions of a maximal set of rows without self-conflicts and conflicts: all rows if there are none.

    The rows of fewest conflicts are taken first. For synthetic tables: the result is exact, not private.
    """
    with open_local_table(table, constraints=list(constraints)) as opened:
        part = opened.slice(keep_source_row=True)
        graph = conflict_graph(part, whole=True)
        kept = np.ones(part.node_count, np.bool_)
        if graph.degree_summary().edge_count:
            near = graph.adjacency
            kept = near.independent_nodes(np.argsort(near.degrees, kind="stable"))
        return np.sort(source_rows(part)[kept])
