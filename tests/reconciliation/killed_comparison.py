"""A comparison whose process is killed when it reaches a step: killed_comparison.py STEP TIMES LEFT RIGHT RUN_ID.

LEFT and RIGHT are folders with `t.parquet` and `t.ledger`; it is killed when the step is reached for the TIMES-th time.
"""

import os
import signal
import sys

import dpdb
import dpdb.stopping

step, times, left, right, run = sys.argv[1:]
seen: list[str] = []


def reached(now: str) -> None:
    seen.append(now)
    if now == step and seen.count(step) == int(times):
        os.kill(os.getpid(), signal.SIGKILL)


dpdb.stopping.watchers.append(reached)
found = dpdb.compare(
    f"{left}/t.parquet", f"{right}/t.parquet", "id", 0.2,
    left_ledger=f"{left}/t.ledger", right_ledger=f"{right}/t.ledger", run_id=run,
)  # fmt: skip
print(found[0].release_id, flush=True)
