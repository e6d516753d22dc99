"""Run in a fresh process: the exact counts of a suite over a set of tables; prints processor time and memory as JSON.

`run_table_set.py TABLES SUITES UNIT PUBLIC,...` counts by dpdb: `opened` is the processor time of imports, opening and
the rehearsal, `counted` that of the counts. With a JSON file of SQL as a further argument DuckDB answers one query for
each check instead, which is how DQD checks.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from peak import peak_gigabytes

tables, suites, unit, public, *queries = sys.argv[1:]
found: dict[str, Any]
if queries:
    import duckdb

    database = duckdb.connect(config={"threads": 2, "memory_limit": "3GB"})
    for path in Path(tables).glob("*.parquet"):
        database.execute(f"CREATE VIEW {path.stem} AS FROM '{path}'")
    opened = time.process_time()
    asked = json.loads(Path(queries[0]).read_text())
    found = {name: int((database.execute(query).fetchone() or (0,))[0]) for name, query in asked.items()}
else:
    from dpdb.suites import TableSet

    with TableSet(
        tables, suites, unit=unit, public_parents=dict.fromkeys(public.split(",")), budget=1, threads=2
    ) as table_set:
        run = table_set.prepare(epsilon=1)
        run.load()
        opened = time.process_time()
        counts = run.counted.counts(None, None)  # type: ignore[arg-type]
        found = {name: int(count) for name, (count, _) in zip(run.names[0], counts, strict=True)}
counted = time.process_time()
print(json.dumps({"opened": opened, "counted": counted - opened, "peak GB": peak_gigabytes(), "counts": found}))
