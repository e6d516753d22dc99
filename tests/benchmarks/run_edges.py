"""Both ways of the conflict graph (`edges`): processor seconds of all statistics of a release, once the table is open.

    python tests/benchmarks/run_edges.py [ROWS:ROWS_PER_GROUP ...]

One dependency and one order rule over groups of rows, 1% of which are dirtied. Both ways must give the same integers.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import pyarrow as pa

from dpdb.graph import load_all_kernels
from dpdb.opening import open_table
from dpdb.release.statistics import SliceStatistics

RULES = ["zip -> city", "not(t1.zip=t2.zip & t1.salary>t2.salary & t1.tax<t2.tax)"]
SIZES = ("2000:50", "10000:50", "20000:50", "200000:50", "1000000:100", "1000000:1000")
THETAS = [1, 2, 4, 8, 16, 32, 64]
DIRT = 0.01


def table(rows: int, per_group: int) -> pa.Table:
    rng = np.random.default_rng(1)
    groups = max(1, rows // per_group)
    zip_code, dirty = rng.integers(0, groups, rows), rng.random(rows) < DIRT
    salary = rng.integers(0, 100_000, rows)
    return pa.table(
        {
            "zip": zip_code,
            "city": np.where(dirty, rng.integers(0, groups, rows), zip_code),
            "salary": salary,
            "tax": salary // 10 + np.where(dirty, rng.integers(-100, 100, rows), 0),
        }
    )


def statistics(rows: pa.Table, way: str) -> tuple[float, list[Any], int]:
    """Return processor seconds, the statistics and the number of edges."""
    with open_table(rows, constraints=RULES, edges=way) as opened:
        begun = time.process_time()
        of = SliceStatistics(opened.slice())
        of.prepare(THETAS, THETAS)
        found = [of.degree_bound(), of.projected_edges(THETAS), of.witnesses(THETAS), of.twice_fractional_cover().value]
        took = time.process_time() - begun
        return took, found, of.graph.degree_summary().edge_count


def main(sizes: list[str]) -> None:
    load_all_kernels()
    print("| rows | conflicts | blocks | edge table |\n| --- | --- | --- | --- |")
    for size in sizes:
        count, per_group = map(int, size.split(":"))
        rows, best = table(count, per_group), {}
        for way in ("auto", "table"):
            runs = [statistics(rows, way) for _ in range(7 if count < 10**5 else 3)]
            best[way] = min(runs, key=lambda run: run[0])
        assert best["auto"][1:] == best["table"][1:]
        seconds = " | ".join(f"{took:.3f}" for took, *_ in best.values())
        print(f"| {count:,} | {best['table'][2]:,} | {seconds} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or list(SIZES))
