"""Run in a fresh process: the naive plan, a union of self-joins with ORDER BY, in DuckDB on the raw values."""

from __future__ import annotations

import json
import sys
import tempfile
import time

import duckdb
from peak import peak_gigabytes

source, rules = sys.argv[1], json.loads(sys.argv[2])
conditions = [
    " AND ".join(f'{"ab"[one]}."{x}" {"<>" if op == "!=" else op} {"ab"[two]}."{y}"' for one, x, op, two, y in rule)
    for rule in rules
]
columns = ", ".join(
    f'"{name}"' for name in sorted({name for rule in rules for _, x, _, _, y in rule for name in (x, y)})
)
with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
    connection.execute(
        f"SET temp_directory = '{folder}'; SET memory_limit = '14GB'; SET preserve_insertion_order = false"
    )
    start, before = time.perf_counter(), time.process_time()
    connection.execute(
        f"CREATE TABLE t AS SELECT row_number() OVER () AS dpdb_row, {columns} FROM read_parquet('{source}')"
    )
    joins = " UNION ".join(
        "SELECT least(a.dpdb_row, b.dpdb_row) AS u, greatest(a.dpdb_row, b.dpdb_row) AS v "
        f"FROM t AS a JOIN t AS b ON {condition} AND a.dpdb_row <> b.dpdb_row"
        for condition in conditions
    )
    connection.execute(f"CREATE TABLE edge AS {joins}")
    joined = time.perf_counter()
    connection.execute("SET preserve_insertion_order = true")
    connection.execute("CREATE TABLE ordered AS SELECT * FROM edge ORDER BY u, v")
    ordered, cpu = time.perf_counter(), time.process_time() - before
    edges = connection.execute("SELECT count(*) FROM ordered").fetchall()[0][0]
print(
    json.dumps(
        {
            "total": ordered - start,
            "cpu": cpu,
            "join": joined - start,
            "order": ordered - joined,
            "edges": edges,
            "peak GB": peak_gigabytes(),
        }
    )
)
