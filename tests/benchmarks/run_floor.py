"""Run in a fresh process of the peers' environment: the least that any way to these conflicts reads and groups.

Of each rule one query in DuckDB: a GROUP BY of the equal columns, which counts groups in conflict; of an order rule one
sort by them. No pair is made, no degree counted and no cover found.
"""

from __future__ import annotations

import json
import sys
import time

import duckdb
from peak import peak_gigabytes

source, rules = sys.argv[1], json.loads(sys.argv[2])


def query(rule: list[list[object]]) -> str:
    equal = ", ".join(f'"{x}"' for _, x, op, _, _ in rule if op == "=")
    others = [f'"{x}"' for _, x, op, _, _ in rule if op != "="]
    if len(others) == 2:
        return f"SELECT count(*) FROM (SELECT lag({others[1]}) OVER (PARTITION BY {equal} ORDER BY {others[0]}) FROM t)"
    broken = f"min({others[0]}) <> max({others[0]})" if others else "count(*) > 1"
    return f"SELECT count(*) FROM (SELECT 1 FROM t GROUP BY {equal} HAVING {broken})"


with duckdb.connect() as connection:
    connection.execute(f"SET threads = 2; CREATE VIEW t AS FROM read_parquet('{source}')")
    start, cpu = time.perf_counter(), time.process_time()
    for rule in rules:
        connection.execute(query(rule)).fetchall()
    found = {"total": time.perf_counter() - start, "cpu": time.process_time() - cpu, "peak GB": peak_gigabytes()}
print(json.dumps(found))
