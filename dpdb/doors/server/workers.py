"""`Workers`: threads for work whose time a message decides, of each analyst one piece at a time, in turn.

Nothing of an analyst's runs in the event loop, since everybody waits for that. And whoever sends many messages, over
however many connections, has one thread of many at work: he waits for himself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

_THREADS = 64
Found = TypeVar("Found")


class Shares:
    """Places for each name, taken in the order in which they were asked for; used in one event loop.

    Parameters
    ----------
    each : int
        Places of one name.
    """

    def __init__(self, each: int) -> None:
        self._each = each
        self._places: dict[str, tuple[asyncio.Semaphore, int]] = {}

    @asynccontextmanager
    async def one(self, name: str) -> AsyncIterator[None]:
        """Hold a place of a name while the block lasts."""
        places, users = self._places.get(name, (asyncio.Semaphore(self._each), 0))
        self._places[name] = places, users + 1
        try:
            async with places:
                yield
        finally:
            _, users = self._places[name]
            if users == 1:
                del self._places[name]
            else:
                self._places[name] = places, users - 1


class Workers:
    """Runs work of analysts in threads; used in one event loop."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_THREADS, "dpdb-worker")
        self._shares = Shares(1)

    async def run(self, name: str, work: Callable[..., Found], *arguments: Any) -> Found:
        """Return what a function returns, after the other work of the same analyst.

        Parameters
        ----------
        name
            The analyst's.
        work
            The function: one piece of work.
        *arguments
            Of the function.
        """
        async with self._shares.one(name):
            working = asyncio.get_running_loop().run_in_executor(self._pool, partial(work, *arguments))
            try:
                return await asyncio.shield(working)
            except asyncio.CancelledError:
                if not working.done():  # the share is taken until the thread is free
                    await asyncio.wait([working])
                raise

    async def each(self, name: str, pieces: Iterator[Found]) -> AsyncIterator[Found]:
        """Give what an iterator gives, each made in its turn."""
        while (piece := await self.run(name, next, pieces, None)) is not None:
            yield piece

    def close(self) -> None:
        """Start nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)
