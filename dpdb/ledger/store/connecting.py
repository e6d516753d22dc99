"""`connect`: the one place where a ledger opens SQLite.

Callers say `connecting.connect`: the simulation of a ledger's life puts connections to its own disk in its place.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from urllib.parse import quote

__all__ = ["connect"]


def connect(path: Path, mode: str, timeout: float = 5.0) -> sqlite3.Connection:
    """Open a file of SQLite; every statement commits by itself unless a transaction was begun.

    Any thread may use it, one at a time.

    Parameters
    ----------
    mode
        What SQLite may do with the file: `ro`, `rw`, or `rwc`, which also makes it.
    timeout
        Seconds to wait where other processes keep the file busy.
    """
    return sqlite3.connect(
        f"file:{quote(os.fsencode(path))}?mode={mode}",
        uri=True,
        timeout=timeout,
        isolation_level=None,
        check_same_thread=False,
    )
