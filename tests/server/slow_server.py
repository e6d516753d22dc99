"""`dpdb serve` whose releases take longer between debit and answer: `slow_server.py SECONDS serve ...`."""

from __future__ import annotations

import sys
import time

from dpdb.doors.cli import run_process
from dpdb.release import publish

if __name__ == "__main__":
    seconds, *arguments = sys.argv[1:]
    publish_answer = publish.publish_answer

    def slowly(account, charge, load, draw):  # type: ignore[no-untyped-def]
        def slow_draw() -> str:
            time.sleep(float(seconds))
            return draw()

        return publish_answer(account, charge, load, slow_draw)

    publish.publish_answer = slowly
    sys.argv[1:] = arguments
    run_process()
