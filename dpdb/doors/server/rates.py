"""How often: statements of an analyst, failed logins of an address; in memory, by a clock that never goes back."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from dpdb.doors.server.refusals import TooManyError

__all__ = ["AtOnce", "PerMinute"]

_MINUTE = 60.0
_MOST_KNOWN = 10_000


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
    """At most so many of one analyst's statements at the same time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._running: dict[str, int] = {}

    @contextmanager
    def one(self, name: str) -> Iterator[None]:
        """Count a statement while the block lasts.

        Raises
        ------
        TooManyError
            As many run already.
        """
        with self._lock:
            if self._running.get(name, 0) >= self._most:
                raise TooManyError(f"{self._most} statements of yours are running: wait for one of them")
            self._running[name] = self._running.get(name, 0) + 1
        try:
            yield
        finally:
            with self._lock:
                self._running[name] -= 1
                if not self._running[name]:
                    del self._running[name]
