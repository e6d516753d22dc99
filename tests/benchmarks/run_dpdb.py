"""Run in a fresh process: all three measures of a table by dpdb; prints times, edges and peak memory as JSON.

`total` is from the start of the import to the answers; `warm` is a new session in the same process, from file to
answers; `second` is a second release of the same session; `cpu` is processor time of all threads up to the answers.
"""

from __future__ import annotations

import json
import sys
import time

from peak import peak_gigabytes

source, constraints = sys.argv[1:3]
options = json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}

start = time.perf_counter()
import dpdb  # noqa: E402 - the import is part of what is timed

imported = time.perf_counter()
steps: list[tuple[str, float]] = []


def step(name: str) -> None:
    steps.append((name, time.perf_counter()))


with dpdb.open(source, constraints=constraints, progress=step, **options) as session:
    session.dp_inconsistency("all", 1.0)
    answered, cpu = time.perf_counter(), time.process_time()
    session.dp_inconsistency("all", 1.0)
    again = time.perf_counter()
    edges = session._private.statistics().graph.degree_summary().edge_count
warm_start = time.perf_counter()
with dpdb.open(source, constraints=constraints, **options) as session:
    session.dp_inconsistency("all", 1.0)
warm = time.perf_counter() - warm_start
steps = [pair for pair in steps if pair[1] < answered]
ends = [moment for _, moment in steps[1:]] + [answered]
print(
    json.dumps(
        {
            "import": imported - start,
            "total": answered - start,
            "in process": answered - imported,
            "warm": warm,
            "second": again - answered,
            "cpu": cpu,
            "edges": edges,
            "peak GB": peak_gigabytes(),
            "steps": {name: end - begin for (name, begin), end in zip(steps, ends, strict=True)},
        }
    )
)
