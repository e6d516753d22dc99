"""When analysts see answers, and what their debits have come to: at moments that tell nothing of private work.

How long a release takes depends on private rows. So answers, refusals after the debit and failures leave at 1, 2, 4, 8,
... times the first point of a public grid, counted from when the request came: an analyst sees the time to within a
factor of two, as a number of few bits.

The moments of a debit and of its answer depend on private work, too, his own or that of others for which he waited;
whoever asked for his account again and again would see past the grid. So an account waits for the analyst's statements
that make releases, and what a statement in another process changes is seen once in a while only (`Standing`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Found = TypeVar("Found")


def grid_point(elapsed: float, first: float) -> float:
    """Return the first point of the grid that is not before `elapsed`, both in seconds from the request.

    Parameters
    ----------
    elapsed
        Seconds.

    Examples
    --------
    >>> [grid_point(elapsed, 1.0) for elapsed in (0.0, 1.0, 1.1, 4.5)]
    [1.0, 1.0, 2.0, 8.0]
    """
    point = first
    while point < elapsed:
        point *= 2
    return point


async def until_grid(began: float, first: float) -> None:
    """Wait for the next point of the grid of a request that began at a time of the monotonic clock."""
    await asyncio.sleep(max(0.0, began + grid_point(time.monotonic() - began, first) - time.monotonic()))


_SECONDS = 10.0
_MOST_KEPT = 1_000


class Standing:
    """What each analyst was told last, and which of his statements make releases now; used in one event loop."""

    def __init__(self) -> None:
        self._running: dict[str, set[asyncio.Future[None]]] = {}
        self._told: dict[tuple[str, str], tuple[float, Any]] = {}

    @contextmanager
    def private(self, name: str) -> Iterator[None]:
        """Let an analyst's account wait while the block lasts, and be read anew after it."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._running.setdefault(name, set()).add(done)
        try:
            yield
        finally:
            done.set_result(None)
            self._running[name].discard(done)
            if not self._running[name]:
                del self._running[name]
            self._told = {key: told for key, told in self._told.items() if key[0] != name}

    async def ended(self, name: str) -> None:
        """Wait until an analyst has no statement that makes releases."""
        while running := list(self._running.get(name, ())):
            await asyncio.wait(running)

    async def seen(self, name: str, what: str, read: Callable[[], Awaitable[Found]]) -> Found:
        """Return what an analyst may see now: as it was told lately, or read.

        Parameters
        ----------
        what
            `account` or `history`.
        """
        await self.ended(name)
        at, told = self._told.get((name, what), (-_SECONDS, None))
        if time.monotonic() - at < _SECONDS:
            return told  # type: ignore[no-any-return]
        began = time.monotonic()
        found = await read()
        if len(self._told) > _MOST_KEPT:
            self._told.clear()
        if not self._running.get(name):  # else it may be older than what the statement shows
            self._told[name, what] = began, found
        return found
