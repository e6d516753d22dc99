"""`dpdb serve` that is killed when a step is reached for the TIMES-th time: `killed_server.py STEP TIMES serve ...`."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter

from dpdb import stopping as steps
from dpdb.doors.cli import run_process

if __name__ == "__main__":
    wanted, times, *arguments = sys.argv[1:]
    seen: Counter[str] = Counter()

    def killed(step: str) -> None:
        """End as a machine does that loses its power, but for what the system has not written yet."""
        seen[step] += 1
        if (step, seen[step]) == (wanted, int(times)):
            os.kill(os.getpid(), signal.SIGKILL)

    steps.watchers.append(killed)
    sys.argv[1:] = arguments
    run_process()
