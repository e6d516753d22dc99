"""A release whose process is killed when it reaches a step: killed_release.py STEP SOURCE LEDGER RUN_ID."""

import os
import signal
import sys

import dpdb
import dpdb.stopping

step, source, path, run = sys.argv[1:]


def reached(now: str) -> None:
    if now == step:
        os.kill(os.getpid(), signal.SIGKILL)


dpdb.stopping.watchers.append(reached)
with dpdb.open(source, constraints="zip -> city", ledger=path) as session:
    print(session.dp_inconsistency("repair", 0.2, run_id=run).release_id, flush=True)
