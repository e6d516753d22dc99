"""Run in a fresh process: the edges by Polars, an equi-join per dependency and key, join_where per order constraint."""

from __future__ import annotations

import json
import sys
import time

import polars as pl
from peak import peak_gigabytes

source, rules = sys.argv[1], json.loads(sys.argv[2])
OPERATORS = {"!=": "ne", "<": "lt", ">": "gt", "<=": "le", ">=": "ge"}
BACKWARDS = {"!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
start, cpu = time.perf_counter(), time.process_time()
table = pl.read_parquet(source).with_row_index("row")
parts = []
for rule in rules:
    names = sorted({name for _, x, _, _, y in rule for name in (x, y)})
    left = table.select("row", *names)
    right = left.rename({name: f"{name}_2" for name in left.columns})
    equal = [x for _, x, op, _, y in rule if op == "=" and x == y]
    others = [(x, op, y) if one == 0 else (y, BACKWARDS[op], x) for one, x, op, _, y in rule if op != "="]
    tests = [getattr(pl.col(x), OPERATORS[op])(pl.col(f"{y}_2")) for x, op, y in others]
    assert len(equal) + len(tests) == len(rule), "keys compare a column with itself"
    if equal:
        found = left.lazy().join(right.lazy(), left_on=equal, right_on=[f"{name}_2" for name in equal])
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
            "cpu": time.process_time() - cpu,
            "edges": edges.height,
            "peak GB": peak_gigabytes(),
        }
    )
)
