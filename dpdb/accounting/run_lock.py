"""A lock per run id: of several processes that retry one run, one draws noise at a time."""

from __future__ import annotations

import hashlib
import os
import time
import weakref
from contextlib import suppress
from pathlib import Path

from dpdb.errors import LedgerError

__all__ = ["RunLock"]

_PAUSE = 0.02


class RunLock:
    """An exclusive lock on a run id of a ledger, held until `close` or the end of the process, however it ends.

    Raises
    ------
    LedgerError
        Another process keeps it for more than `wait` seconds.
    """

    def __init__(self, ledger: Path, run_id: str, wait: float) -> None:
        self._path = Path(f"{ledger}-run-{hashlib.sha256(run_id.encode()).hexdigest()[:32]}")
        end = time.monotonic() + wait
        while (descriptor := self._try()) is None:
            if time.monotonic() > end:
                raise LedgerError(f"run id {run_id!r} is being answered by another process; try again when it is done")
            time.sleep(_PAUSE)
        self._finalizer = weakref.finalize(self, _let_go, descriptor, self._path)

    def close(self) -> None:
        """Let go of the lock. May be called twice."""
        self._finalizer()

    def _try(self) -> int | None:
        import fcntl  # POSIX only; ledgers without run ids work everywhere

        try:
            descriptor = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as error:
            raise LedgerError(f"{self._path}: the lock file cannot be made: {error.strerror}") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Its last holder may have removed the file in between; then this lock guards nothing.
            if os.fstat(descriptor).st_ino == self._path.stat().st_ino:
                return descriptor
        except OSError:
            pass
        os.close(descriptor)
        return None


def _let_go(descriptor: int, path: Path) -> None:
    with suppress(OSError):
        path.unlink()
    os.close(descriptor)
