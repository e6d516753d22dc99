"""A lock between processes, as a file."""

from __future__ import annotations

import os
import time
import weakref
from contextlib import suppress
from pathlib import Path

from dpdb.closing import Closing
from dpdb.files import disk
from dpdb.files.owned_file import open_owned

__all__ = ["FileLock"]

_PAUSE = 0.02


class FileLock(Closing):
    """An exclusive lock on a file made for it, held until `close` or the end of the process, however it ends.

    The file belongs to this user alone: another user could hold or remove a lock file of his own.

    Raises
    ------
    TimeoutError
        Another process keeps it for more than `wait` seconds.
    OSError
        The file cannot be made, or belongs to another user.
    """

    def __init__(self, path: Path, wait: float, owner: int | None = None) -> None:
        self._path = path
        self._owner = owner
        end = time.monotonic() + wait
        while (descriptor := self._try()) is None:
            if time.monotonic() > end:
                raise TimeoutError(f"{path} is locked by another process")
            time.sleep(_PAUSE)
        self._finalizer = weakref.finalize(self, _let_go, descriptor, path)

    def close(self) -> None:
        """Release the lock. May be called twice."""
        self._finalizer()

    def _try(self) -> int | None:
        descriptor = open_owned(self._path, os.O_CREAT | os.O_RDWR, self._owner)
        try:
            disk.lock(descriptor)
            # Its last holder may have removed the file in between; then this lock guards nothing.
            if os.fstat(descriptor).st_ino == self._path.lstat().st_ino:
                return descriptor
        except OSError:
            pass
        os.close(descriptor)
        return None


def _let_go(descriptor: int, path: Path) -> None:
    with suppress(OSError):
        disk.unlink(path)
    os.close(descriptor)
