"""Run in a fresh process: the edges by Polars, an equi-join per dependency and key, join_where per order constraint."""

from __future__ import annotations

import json
import sys
import time

import polars as pl
from peak import peak_gigabytes

from dpdb.constraints import distinct, load_constraints

source, constraints = sys.argv[1:3]
start = time.perf_counter()
table = pl.read_parquet(source).with_row_index("row")
parts = []
for dc in distinct(load_constraints(constraints, [name for name in table.columns if name != "row"])):
    left = table.select("row", *dc.columns)
    right = left.rename({name: f"{name}_2" for name in left.columns})
    equal = [p.left.column for p in dc.predicates if p.op.value == "="]
    others = [p for p in dc.predicates if p.op.value != "="]
    name = {"!=": "ne", "<": "lt", ">": "gt"}
    tests = [getattr(pl.col(p.left.column), name[p.op.value])(pl.col(f"{p.right.column}_2")) for p in others]
    if equal:
        keys = [f"{name}_2" for name in equal]
        found = left.lazy().join(right.lazy(), left_on=equal, right_on=keys)
        found = found.filter(*tests, pl.col("row") != pl.col("row_2"))
    else:
        found = left.lazy().join_where(right.lazy(), *tests)
    parts.append(found.select(u=pl.min_horizontal("row", "row_2"), v=pl.max_horizontal("row", "row_2")))
edges = pl.concat(parts).unique().sort("u", "v").collect()
end = time.perf_counter()
print(
    json.dumps(
        {
            "total": end - start,
            "edges": edges.height,
            "peak GB": peak_gigabytes(),
        }
    )
)
