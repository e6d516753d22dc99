"""A lock between processes, as a file; and making a new name in a folder durable."""

from __future__ import annotations

import os
import time
import weakref
from contextlib import suppress
from pathlib import Path
from types import TracebackType

__all__ = ["FileLock", "sync_folder"]

_PAUSE = 0.02


class FileLock:
    """An exclusive lock on a file made for it, held until `close` or the end of the process, however it ends.

    Raises
    ------
    TimeoutError
        Another process keeps it for more than `wait` seconds.
    OSError
        The file cannot be made.
    """

    def __init__(self, path: Path, wait: float) -> None:
        self._path = path
        end = time.monotonic() + wait
        while (descriptor := self._try()) is None:
            if time.monotonic() > end:
                raise TimeoutError(f"{path} is locked by another process")
            time.sleep(_PAUSE)
        self._finalizer = weakref.finalize(self, _let_go, descriptor, path)

    def close(self) -> None:
        """Let go of the lock. May be called twice."""
        self._finalizer()

    def __enter__(self) -> FileLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _try(self) -> int | None:
        import fcntl  # POSIX only; ledgers without run ids work everywhere

        descriptor = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Its last holder may have removed the file in between; then this lock guards nothing.
            if os.fstat(descriptor).st_ino == self._path.stat().st_ino:
                return descriptor
        except OSError:
            pass
        os.close(descriptor)
        return None


def sync_folder(folder: Path) -> None:
    """Make names that were added to a folder survive a crash of the machine."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _let_go(descriptor: int, path: Path) -> None:
    with suppress(OSError):
        path.unlink()
    os.close(descriptor)
