"""Run in a fresh process: the naive plan, a union of self-joins with ORDER BY, in DuckDB on the raw values."""

from __future__ import annotations

import json
import sys
import tempfile
import time

import duckdb
from peak import peak_gigabytes

from dpdb.constraints import distinct, load_constraints
from dpdb.database.database import Database
from dpdb.engine.sql.bind import bind
from dpdb.sources.open import open_source

source, constraints = sys.argv[1:3]
with Database() as database:
    opened = open_source(database, source)
    dcs = distinct(load_constraints(constraints, opened.schema.names))
    conditions = [dc.over("a", "b").sql("duckdb") for dc in bind(database, dcs, opened.schema)]
columns = ", ".join(f'"{name}"' for name in sorted({name for dc in dcs for name in dc.columns}))
with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
    connection.execute(
        f"SET temp_directory = '{folder}'; SET memory_limit = '14GB'; SET preserve_insertion_order = false"
    )
    start = time.perf_counter()
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
    ordered = time.perf_counter()
    edges = connection.execute("SELECT count(*) FROM ordered").fetchall()[0][0]
print(
    json.dumps(
        {
            "total": ordered - start,
            "join": joined - start,
            "order": ordered - joined,
            "edges": edges,
            "peak GB": peak_gigabytes(),
        }
    )
)
