"""How often: failed logins of an address, in memory, by a clock that never goes back; statements of an analyst at once.

How many statements an analyst has had within a minute stands in the audit (`dpdb.doors.server.audit`).
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import deque
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dpdb.doors.server.refusals import TooManyError
from dpdb.errors import ParameterError
from dpdb.files.owned_file import open_owned

__all__ = ["AtOnce", "PerMinute"]

_MINUTE = 60.0
_MOST_KNOWN = 10_000
_SLOT_BITS = 20  # more than `at_once` may be


class PerMinute:
    """At most so many events of each kind within any minute."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._times: dict[Hashable, deque[float]] = {}

    def allows(self, kind: Hashable) -> bool:
        """Count one more event if it is allowed; return whether it is."""
        now = time.monotonic()
        with self._lock:
            times = self._times.setdefault(kind, deque())
            while times and times[0] <= now - _MINUTE:
                times.popleft()
            if len(times) >= self._most:
                return False
            times.append(now)
            if len(self._times) > _MOST_KNOWN:  # strangers from everywhere
                self._times = {one: seen for one, seen in self._times.items() if seen and seen[-1] > now - _MINUTE}
            return True


class AtOnce:
    """At most so many of one analyst's statements at the same time, in all servers that share a file.

    A statement holds the lock of one byte of the file, which stays empty: the system lets go of what a server held
    that was killed. Budgets do not depend on it.

    Raises
    ------
    ParameterError
        The file cannot be used, or others may change it.
    """

    def __init__(self, path: Path, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._held: set[int] = set()  # a process does not see its own locks
        try:
            self._file = open_owned(path, os.O_CREAT | os.O_RDWR)
        except OSError as error:
            raise ParameterError(f"{path}: cannot be used: {error.strerror}") from None

    @contextmanager
    def one(self, name: str) -> Iterator[None]:
        """Count a statement while the block lasts.

        Raises
        ------
        TooManyError
            As many run already.
        """
        with self._lock:
            place = self._taken(name)
        try:
            yield
        finally:
            with self._lock:
                self._let_go(place)

    def close(self) -> None:
        """Close the file, and hold nothing more."""
        with self._lock:
            os.close(self._file)
            self._file = -1

    def _taken(self, name: str) -> int:
        import fcntl  # POSIX only, as the ledger's locks are

        first = int.from_bytes(hashlib.sha256(name.encode()).digest()[:5]) << _SLOT_BITS
        for place in range(first, first + self._most):
            if place in self._held:
                continue
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
            except (BlockingIOError, PermissionError):  # another server has it
                continue
            self._held.add(place)
            return place
        raise TooManyError(f"{self._most} statements of yours are running: wait for one of them")

    def _let_go(self, place: int) -> None:
        import fcntl

        self._held.discard(place)
        if self._file >= 0:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, place)
