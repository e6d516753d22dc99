"""Run in a fresh process: statistics of all rows, and of the rows in conflict alone; prints processor time as JSON.

Arguments: rows, how many of a hundred groups of 1,000 rows have a dirty one in each of two dependencies. One table,
both ways in turn, the fastest of five rounds each: blocks, order, degrees, three witness counts and projections, and
2 tau*.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import pyarrow as pa

import dpdb
from dpdb.graph import load_all_kernels
from dpdb.release.conflict_graph import conflict_graph

THETAS = [1, 10, 100]

rows, dirty_percent = int(sys.argv[1]), int(sys.argv[2])
number = np.random.default_rng(1).permutation(rows)
group, dirty = number // 1_000, (number % 1_000 == 0) & (number // 1_000 % 100 < dirty_percent)
columns = {"group": group, "value": group * 2 + dirty, "other": group * 3 + dirty}
table = pa.table({name: pa.array(column) for name, column in columns.items()})


def answers(*, whole: bool) -> tuple[float, list[int]]:
    """Compute all statistics; returns the processor time, too."""
    begin = time.process_time()
    graph = conflict_graph(rows_of_table, whole=whole)
    found = [graph.degree_summary().edge_count, graph.twice_fractional_cover(), *graph.witness_counts(THETAS)]
    found += [counts.edge_count for counts in graph.projected_counts(THETAS)]
    return time.process_time() - begin, found


load_all_kernels()
with dpdb.open(table, constraints=["group -> value", "group -> other"]) as session:
    rows_of_table = session._private.statistics()._slice
    rounds = [(answers(whole=True), answers(whole=False)) for _ in range(5)]
(_, all_rows), (_, reduced) = rounds[0]
everything, in_conflict = (min(each[way][0] for each in rounds) for way in (0, 1))
print(json.dumps({"all rows": everything, "in conflict": in_conflict, "same": all_rows == reduced}))
