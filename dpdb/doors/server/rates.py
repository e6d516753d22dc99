"""How often: failed logins of an address, by a clock that never goes back; statements of an analyst at once.

How many statements an analyst has had within a minute stands in the audit (`dpdb.doors.server.audit`).
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from dpdb.doors.server.refusals import TooManyError
from dpdb.doors.server.workers import Shares, stops
from dpdb.files.bounded_file import usable
from dpdb.files.owned_file import open_owned

_MINUTE = 60.0
_MOST_KNOWN = 10_000
_LOOK_SECONDS = 0.1
_SLOT_BITS = 20  # more than `at_once` and failed logins may be
_LOGIN = "failed login\0"  # before an address, so that it is no analyst's name


@dataclass
class _Lately:
    """What was counted of one kind: when and how much, and the sum of that."""

    counted: deque[tuple[float, float]] = field(default_factory=deque)
    sum: float = 0.0

    def forget(self, until: float) -> None:
        """Forget what was counted until a moment."""
        while self.counted and self.counted[0][0] <= until:
            self.sum -= self.counted.popleft()[1]
        self.sum = self.sum if self.counted else 0.0


class PerMinute:
    """At most so many events of each kind within any minute, or so much work."""

    def __init__(self, most: float) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._lately: dict[Hashable, _Lately] = {}

    def allows(self, kind: Hashable, work: float = 1) -> bool:
        """Count one more event, with the work that it makes, if some is left; return whether it is.

        Events whose work is known afterwards are asked for with 0, and then `add`ed.
        """
        with self._lock:
            lately, now = self._of(kind)
            is_allowed = lately.sum + work <= self._most if work else lately.sum < self._most
            if is_allowed and work:
                self._count(lately, now, work)
            return is_allowed

    def add(self, kind: Hashable, work: float) -> None:
        """Count work that was done."""
        with self._lock:
            self._count(*self._of(kind), work)

    def _of(self, kind: Hashable) -> tuple[_Lately, float]:
        now = time.monotonic()
        lately = self._lately.setdefault(kind, _Lately())
        lately.forget(now - _MINUTE)
        if len(self._lately) > _MOST_KNOWN:  # strangers from everywhere
            since = now - _MINUTE
            self._lately = {
                one: seen for one, seen in self._lately.items() if seen.counted and seen.counted[-1][0] > since
            }
            self._lately[kind] = lately
        return lately, now

    def _count(self, lately: _Lately, now: float, work: float) -> None:
        lately.counted.append((now, work))
        lately.sum += work


class Slots:
    """Places in a file: every name has the same number of them, in all servers that share the file.

    A place is the lock of one byte of the file, which stays empty: the system lets go of what a server held that was
    killed. Budgets do not depend on it.

    Raises
    ------
    ParameterError
        The file cannot be used, or others may change it.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._held: set[int] = set()  # a process does not see its own locks
        with usable(path, "cannot be used: "):
            self._file = open_owned(path, os.O_CREAT | os.O_RDWR)

    def take(self, name: str, most: int) -> int | None:
        """Take one of the places of a name; None if all are held."""
        import fcntl  # POSIX only, as the ledger's locks are

        first: int = int.from_bytes(hashlib.sha256(name.encode()).digest()[:5]) << _SLOT_BITS
        with self._lock:
            for place in range(first, first + most):
                with suppress(BlockingIOError, PermissionError):  # another server has it
                    if place not in self._held:
                        fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
                        self._held.add(place)
                        return place
        return None

    def let_go(self, place: int) -> None:
        """Give a place back."""
        import fcntl

        with self._lock:
            self._held.discard(place)
            if self._file >= 0:
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, place)

    def close(self) -> None:
        """Close the file, and hold nothing more."""
        with self._lock:
            os.close(self._file)
            self._file = -1


class Line:
    """Where an analyst's statements wait for their places, in the order in which they came; used in one event loop.

    Parameters
    ----------
    at_once, most : int
        Statements of one analyst that run, and that wait.
    """

    def __init__(self, slots: Slots, at_once: int, most: int, seconds: float) -> None:
        self._slots, self._next = slots, Shares(1)
        self._at_once, self._most, self._seconds = at_once, most, seconds
        self._waiting: Counter[str] = Counter()
        self._let_go = asyncio.Event()
        self._is_closing = False

    @asynccontextmanager
    async def place(self, name: str, is_gone: Callable[[], Awaitable[bool]] | None) -> AsyncIterator[None]:
        """Hold a place while the block lasts.

        Parameters
        ----------
        is_gone
            Says whether nobody waits for the statement any more.

        Raises
        ------
        TooManyError
            Too many wait, for too long, or nobody waits for this one any more; nothing was spent.
        ClosingError
            The server stops.
        """
        place = None if self._waiting[name] else self._slots.take(name, self._at_once)
        if place is None:
            place = await self._waited(name)
            if is_gone is not None and await is_gone():
                self._free(place)
                raise TooManyError("whoever has asked went while the statement waited for others; nothing was spent")
        try:
            yield
        finally:
            self._free(place)

    async def _waited(self, name: str) -> int:
        running = f"{self._at_once} statements of yours are running"
        if self._waiting[name] >= self._most:
            raise TooManyError(f"{running}, and {self._most} wait for them: wait for one of them")
        self._waiting[name] += 1
        try:
            async with asyncio.timeout(self._seconds), self._next.one(name):
                while (place := self._slots.take(name, self._at_once)) is None:
                    if self._is_closing:
                        raise stops()
                    with suppress(TimeoutError):  # what another server lets go, nobody tells
                        async with asyncio.timeout(_LOOK_SECONDS):
                            await self._let_go.wait()
                return place
        except TimeoutError:
            raise TooManyError(f"{running}, and this one has waited {self._seconds:g} seconds: ask again") from None
        finally:
            self._waiting[name] -= 1
            if not self._waiting[name]:
                del self._waiting[name]

    def close(self) -> None:
        """Refuse whoever waits."""
        self._is_closing = True
        self._next.close()
        self._let_go.set()

    def _free(self, place: int) -> None:
        self._slots.let_go(place)
        self._let_go.set()
        self._let_go = asyncio.Event()


class FailedLogins:
    """At most so many failed logins of one address within any minute: in all servers that share slots.

    A failed login holds a place for a minute, so nothing is written for strangers. Those of a server that ended are
    forgotten. Used in one event loop.
    """

    def __init__(self, slots: Slots, most: int) -> None:
        self._slots, self._most = slots, most
        self._own = PerMinute(most)
        self._held = 0

    def allows(self, address: str) -> bool:
        """Count one more failed login if it is allowed; return whether it is."""
        if not self._own.allows(address):
            return False
        if self._held >= _MOST_KNOWN:  # strangers from everywhere: the system looks through all places each time
            return True
        place = self._slots.take(f"{_LOGIN}{address}", self._most)
        if place is None:
            return False
        self._held += 1
        asyncio.get_running_loop().call_later(_MINUTE, self._forget, place)
        return True

    def _forget(self, place: int) -> None:
        self._held -= 1
        self._slots.let_go(place)
