"""What every Python program of a client does: steps under their names, each of which works or says what fails."""

from __future__ import annotations

import os
from collections.abc import Callable

PLACE = {
    "host": "127.0.0.1", "port": int(os.environ["PGPORT"]), "user": os.environ["PGUSER"],
    "password": os.environ["PGPASSWORD"], "database": "visits",
}  # fmt: skip
LISTED = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1"
COLUMNS = (
    "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = {} ORDER BY ordinal_position"
)
STATES = [("CA", 39), ("NY", 19), ("TX", 29)]


def step(name: str, work: Callable[[], object], right: object = None) -> None:
    """Do a step, and print whether it works; `right` is what it must give, if that is fixed."""
    try:
        found = work()
    except Exception as error:  # whatever a driver raises, the table says it
        print(f"{name}\tFAIL\t{type(error).__name__}: {' '.join(str(error).split())[:150]}", flush=True)
        return
    is_right = right is None or found == right
    print(f"{name}\t{'ok' if is_right else 'FAIL'}\t{'' if is_right else repr(found)[:150]}", flush=True)
