"""A lock per run id: of several processes that retry one run, only one draws noise at a time."""

from __future__ import annotations

import hashlib
from pathlib import Path

from dpdb.errors import LedgerError
from dpdb.files.file_lock import FileLock
from dpdb.ledger.store.file import LedgerFile

__all__ = ["RUN_WAIT", "RunLock"]

RUN_WAIT = 10.0
"""Seconds to wait for another process that answers a run."""


class RunLock(FileLock):
    """An exclusive lock on a run id of a ledger, held until `close` or the end of the process, however it ends.

    With `kind` ``suite``, a lock on a kept suite by its name: its runs come one after another.

    Raises
    ------
    LedgerError
        Another process keeps it for more than `wait` seconds.
    """

    def __init__(self, file: LedgerFile, run_id: str, wait: float, kind: str = "run") -> None:
        name = f"-{kind}-{hashlib.sha256(run_id.encode()).hexdigest()[:32]}"
        try:
            super().__init__(Path(f"{file.path}{name}"), wait, file.owner)
        except TimeoutError:
            what = f"run id {run_id!r} is being answered" if kind == "run" else f"kept suite {run_id!r} is being run"
            raise LedgerError(f"{what} by another process; try again when it is done") from None
        except OSError as error:
            raise LedgerError(
                f"{file.shown}{name}: the lock file cannot be made: {error.strerror}; nothing was released"
            ) from None
