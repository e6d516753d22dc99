"""Run in a fresh process: the same algorithms in plain Python on networkx, the edges from SQLite."""

from __future__ import annotations

import json
import sqlite3
import sys
import time

import networkx as nx
import pyarrow.parquet as pq
import scipy.sparse
from peak import peak_gigabytes
from scipy.sparse.csgraph import maximum_bipartite_matching

source, rules = sys.argv[1], json.loads(sys.argv[2])
table = pq.read_table(source)
start = time.perf_counter()
connection = sqlite3.connect(":memory:")
names = sorted({name for rule in rules for _, x, _, _, y in rule for name in (x, y)})
connection.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, {', '.join(names)})")
rows = zip(range(table.num_rows), *(table.column(name).to_pylist() for name in names), strict=True)
connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * (len(names) + 1))})", rows)
graph = nx.Graph()
graph.add_nodes_from(range(table.num_rows))
for rule in rules:
    condition = " AND ".join(f"{'ab'[one]}.{x} {op} {'ab'[two]}.{y}" for one, x, op, two, y in rule)
    graph.add_edges_from(
        connection.execute(f"SELECT a.id, b.id FROM t AS a JOIN t AS b ON {condition} AND a.id <> b.id")
    )
built = time.perf_counter()
edges = sorted((min(u, v), max(u, v)) for u, v in graph.edges)
cap = max(1, *(degree for _, degree in graph.degree))
thetas = [*(1 << k for k in range(cap.bit_length()) if 1 << k < cap), cap]
for theta in thetas:  # Algorithm 1
    degree = dict.fromkeys(graph, 0)
    for u, v in edges:
        if degree[u] < theta and degree[v] < theta:
            degree[u] += 1
            degree[v] += 1
projected = time.perf_counter()
for theta in thetas:  # witness counts
    used, covered = dict.fromkeys(graph, 0), set()
    for u, v in edges:
        for charger, other in ((u, v), (v, u)):
            if other not in covered and used[charger] < theta:
                covered.add(other)
                used[charger] += 1
witnessed = time.perf_counter()
matrix = scipy.sparse.csr_matrix(nx.to_scipy_sparse_array(graph))
matched = int((maximum_bipartite_matching(matrix) >= 0).sum())
done = time.perf_counter()
print(
    json.dumps(
        {
            "total": done - start,
            "graph": built - start,
            "projections": projected - built,
            "witnesses": witnessed - projected,
            "matching": done - witnessed,
            "edges": len(edges),
            "twice cover": matched,
            "peak GB": peak_gigabytes(),
        }
    )
)
