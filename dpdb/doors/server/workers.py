"""`Workers`: threads for work whose time a message decides, of each analyst one piece at a time, in turn.

Nothing of an analyst's runs in the event loop, since everybody waits for that. And whoever sends many messages, over
however many connections, has one thread of many at work: he waits for himself. What a message or request takes of the
event loop all the same is little, but many have much of it together: so of each analyst few are taken on at once
(`Turns`), and the others are not read.

The interpreter runs one thread at a time, and knows no thread that may go first. So whoever has used more of it than
his part waits while lighter ones ask (`Pace`): he has a quarter of it. Beside another's thread, which takes half of it,
he is at work for half of the time at most, so that others find the interpreter free for the other half.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

from dpdb.doors.server.refusals import ClosingError

_THREADS = 64
Found = TypeVar("Found")


class Shares:
    """Places for each name, taken in the order in which they were asked for; used in one event loop."""

    def __init__(self, each: int) -> None:
        self._each = each
        self._places: dict[str, tuple[asyncio.Semaphore, int]] = {}
        self._waiting: set[asyncio.Task[Any]] = set()
        self._is_closing = False

    @asynccontextmanager
    async def one(self, name: str) -> AsyncIterator[None]:
        """Hold a place of a name while the block lasts.

        Raises
        ------
        ClosingError
            The server stops: whoever has no place yet gets none.
        """
        places, users = self._places.get(name, (asyncio.Semaphore(self._each), 0))
        self._places[name] = places, users + 1
        try:
            await self._taken(places)
            try:
                yield
            finally:
                places.release()
        finally:
            _, users = self._places[name]
            if users == 1:
                del self._places[name]
            else:
                self._places[name] = places, users - 1

    async def _taken(self, places: asyncio.Semaphore) -> None:
        task = asyncio.current_task()
        assert task is not None
        if self._is_closing:
            raise stops()
        self._waiting.add(task)
        try:
            await places.acquire()
        except asyncio.CancelledError:
            if self._is_closing and not task.uncancel():
                raise stops() from None
            raise
        finally:
            self._waiting.discard(task)

    def close(self) -> None:
        """Refuse whoever waits, and whoever comes."""
        self._is_closing = True
        for task in self._waiting:
            task.cancel()


class Pace:
    """How much each analyst has used of the interpreter lately, and who waits; used in one event loop.

    What is used of private rows is never counted: how long somebody waits must not depend on them.
    """

    def __init__(self) -> None:
        self._left: dict[str, tuple[float, float]] = {}  # seconds that he may use at once, and when that was so
        self._asked: dict[str, float] = {}

    def _asks(self, name: str) -> None:
        now = time.monotonic()
        if len(self._asked) > _MOST_KNOWN:
            self._asked = {one: at for one, at in self._asked.items() if at > now - _ACTIVE_SECONDS}
            self._left = {one: left for one, left in self._left.items() if one in self._asked}
        self._asked[name] = now

    async def until(self, name: str) -> None:
        """Wait while an analyst has used more than his part, and `is_heavy`."""
        self._asks(name)
        if self._seconds_left(name) > 0:
            return
        while (left := self._seconds_left(name)) < _QUANTUM and self.is_heavy(name):
            await asyncio.sleep(min((_QUANTUM - left) / _PART, _LOOK_SECONDS))

    def is_heavy(self, name: str) -> bool:
        """Whether an analyst has used much, somebody asks who has used less, and nobody who has used far more.

        So beside one who uses all that he gets, who uses a little more than his part does not wait. From any thread.
        """
        own, since = self._seconds_left(name), time.monotonic() - _ACTIVE_SECONDS
        if own > _BURST / 2:
            return False
        asking = [one for one, at in [*self._asked.items()] if at > since and one != name]
        others = [self._seconds_left(one) for one in asking]
        return bool(others) and max(others) > own and _BURST - min(others) <= 2 * (_BURST - own)

    def used(self, name: str, seconds: float) -> None:
        """Count what an analyst has used."""
        self._left[name] = max(self._seconds_left(name) - seconds, -_MOST_OWED), time.monotonic()

    def _seconds_left(self, name: str) -> float:
        left, at = self._left.get(name, (_BURST, 0.0))
        return min(_BURST, left + _PART * (time.monotonic() - at))


_PART = 1 / 4  # of the interpreter's time, for each analyst who uses much
_BURST = 0.5  # seconds of it that he may use at once
_MOST_OWED = 1.0
_QUANTUM = 0.01  # what he waits for, so that he does not wait again and again
_ACTIVE_SECONDS, _LOOK_SECONDS = 1.0, 0.1
_MOST_KNOWN = 10_000


class Turns:
    """Which messages or requests of each analyst are taken on now; used in one event loop.

    Parameters
    ----------
    seconds : float
        What one of them takes of the event loop, about.
    """

    def __init__(self, shares: Shares, pace: Pace, seconds: float) -> None:
        self._shares, self._pace, self._seconds = shares, pace, seconds

    @asynccontextmanager
    async def one(self, name: str) -> AsyncIterator[None]:
        """Hold a turn while the block lasts, or until `leave_turn` in what the block calls; errors as of `Shares`."""
        async with AsyncExitStack() as held:
            await held.enter_async_context(self._shares.one(name))
            await self._pace.until(name)
            self._pace.used(name, self._seconds)
            before = _TURN.set(held)
            try:
                yield
            finally:
                _TURN.reset(before)


_TURN: ContextVar[AsyncExitStack | None] = ContextVar("_TURN", default=None)


async def leave_turn() -> None:
    """Let another message of the same analyst be taken on: what comes now is done by others, and may take long."""
    held = _TURN.get()
    if held is not None:
        await held.aclose()


def stops() -> ClosingError:
    """Return what is said of all that comes while the server stops."""
    return ClosingError("the server stops: ask again, with the same Idempotency-Key")


class Workers:
    """Runs work of analysts in threads; used in one event loop."""

    def __init__(self, pace: Pace | None = None) -> None:
        self.pool = ThreadPoolExecutor(_THREADS, "dpdb-worker")
        self._shares, self._pace = Shares(1), pace or Pace()
        self._is_closing = False

    async def run(self, name: str, work: Callable[..., Found], *arguments: Any) -> Found:
        """Return what a function returns, after the other work of the same analyst."""
        async with self._shares.one(name):
            await self._pace.until(name)
            timed = partial(self.timed, asyncio.get_running_loop(), name, partial(work, *arguments))
            working = asyncio.get_running_loop().run_in_executor(self.pool, timed)
            try:
                return await asyncio.shield(working)
            except asyncio.CancelledError:
                if not working.done() and not self._is_closing:  # the share is taken until the thread is free
                    await asyncio.wait([working])
                raise

    def timed(self, loop: asyncio.AbstractEventLoop, name: str, work: Callable[[], Found]) -> Found:
        """Return what a function returns, and count for an analyst what it used of the interpreter, in any thread."""
        began = time.thread_time()
        try:
            return work()
        finally:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._pace.used, name, time.thread_time() - began)

    async def each(self, name: str, pieces: Iterator[Found]) -> AsyncIterator[Found]:
        """Give what an iterator gives, each made in its turn."""
        while (piece := await self.run(name, next, pieces, None)) is not None:
            yield piece

    def close(self) -> None:
        """Start nothing more."""
        self._is_closing = True
        self.pool.shutdown(wait=False, cancel_futures=True)
