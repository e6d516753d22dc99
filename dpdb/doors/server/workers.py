"""`Workers`: threads for work whose time a message decides, of each analyst one piece at a time, in turn.

Nothing of an analyst's runs in the event loop, since everybody waits for that. And whoever sends many messages, over
however many connections, has one thread of many at work: he waits for himself. What a message or request takes of the
event loop all the same is little, but many have much of it together: so of each analyst few are taken on at once
(`Turns`), and the others are not read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
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


class Turns:
    """Which messages or requests of each analyst are taken on now; used in one event loop."""

    def __init__(self, shares: Shares) -> None:
        self._shares = shares

    @asynccontextmanager
    async def one(self, name: str) -> AsyncIterator[None]:
        """Hold a turn while the block lasts, or until `leave_turn` in what the block calls; errors as of `Shares`."""
        async with AsyncExitStack() as held:
            await held.enter_async_context(self._shares.one(name))
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

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(_THREADS, "dpdb-worker")
        self._shares = Shares(1)
        self._is_closing = False

    async def run(self, name: str, work: Callable[..., Found], *arguments: Any) -> Found:
        """Return what a function returns, after the other work of the same analyst."""
        async with self._shares.one(name):
            working = asyncio.get_running_loop().run_in_executor(self.pool, partial(work, *arguments))
            try:
                return await asyncio.shield(working)
            except asyncio.CancelledError:
                if not working.done() and not self._is_closing:  # the share is taken until the thread is free
                    await asyncio.wait([working])
                raise

    async def each(self, name: str, pieces: Iterator[Found]) -> AsyncIterator[Found]:
        """Give what an iterator gives, each made in its turn."""
        while (piece := await self.run(name, next, pieces, None)) is not None:
            yield piece

    def close(self) -> None:
        """Start nothing more."""
        self._is_closing = True
        self.pool.shutdown(wait=False, cancel_futures=True)
