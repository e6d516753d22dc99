"""Run in a fresh process: the fewest rows to delete under order rules and their like, beside fetching sorted rows.

Prints seconds, the least of several turns, and the memory, as JSON. First argument: rows.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
from peak import peak_gigabytes

from dpdb.engine import load_counting
from dpdb.opening import open_table

TURNS = 3
SORTED = "not(t1.x > t2.x & t1.y < t2.y)"
RULES = (
    SORTED,
    "not(t1.g = t2.g & t1.x >= t2.x & t1.y <= t2.y)",
    "not(t1.x > t2.y)",
    "not(t1.g = t2.g & t1.x < t2.y & t2.x < t1.y)",
)
COLUMNS = """
    (hash(i) % 1000000)::INTEGER AS x, x + (hash(i * 7) % 1000)::INTEGER AS y, (hash(i * 11) % 100000)::INTEGER AS g
"""


def best(run: Callable[[], object]) -> float:
    begun = time.perf_counter()
    run()
    return time.perf_counter() - begun


def main(rows: int, folder: Path) -> None:
    path = folder / "rows.parquet"
    duckdb.sql(f"COPY (SELECT {COLUMNS} FROM range({rows}) AS t(i)) TO '{path}' (FORMAT parquet)")
    found: dict[str, float] = {}
    with open_table(path, constraints=list(RULES), threads=2) as table:
        asked = [table.exact_statistic([bound], reversed_go=True) for bound in table.constraints]
        load_counting(table.constraints)
        query = f"SELECT x, y FROM '{path}' ORDER BY x, y"
        for _ in range(TURNS):
            seconds = {"fetched": best(lambda: sum(batch.num_rows for batch in table.database.stream(query)))}
            for rule, statistic in zip(RULES, asked, strict=True):
                assert statistic is not None
                seconds[rule] = best(lambda one=statistic: table.count_all(None, [one]))
            found = {name: min(taken, found.get(name, taken)) for name, taken in seconds.items()}
    print(json.dumps({**found, "peak GB": peak_gigabytes()}))


if __name__ == "__main__":
    with TemporaryDirectory() as made:
        main(int(sys.argv[1]), Path(made))
