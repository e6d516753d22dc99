"""`KeptRows`: how many bytes of results are held for analysts, whatever connection, cursor or portal has them.

What a statement may return at most is counted before it runs, and what it has returned from then on, until its rows
are dropped. So a statement is refused before it costs anything, and never because of its result.
"""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from dpdb.doors.server.refusals import KeptRowsError

_LEAST = 4_096  # of anything that is held
Held = TypeVar("Held")


class KeptRows:
    """Bytes that are held, by analyst and in all; may be used by several threads.

    Parameters
    ----------
    per_analyst, in_all : int
        The most bytes. Beyond `in_all` no statement begins; those that run then may hold what they return.
    """

    def __init__(self, per_analyst: int, in_all: int) -> None:
        self._per_analyst, self._in_all = per_analyst, in_all
        self._lock = threading.RLock()  # a table may be dropped while this thread holds the lock
        self._held: Counter[str] = Counter()

    @property
    def held(self) -> int:
        """Bytes that are held in all."""
        with self._lock:
            return self._held.total()

    @contextmanager
    def room(self, name: str, most: int) -> Iterator[Callable[[Held, int], Held]]:
        """Keep room for a result while the block lasts; gives a function that holds it, see `hold`."""
        with self._lock:
            self._refuse_more(name, most)
            if self._held.total() >= self._in_all:
                raise KeptRowsError("the server holds as many rows as it may for others to fetch: ask again later")
            self._held[name] += most
        try:
            yield lambda kept, size: self._counted(name, kept, size)
        finally:
            self._free(name, most)

    def hold(self, name: str, kept: Held, size: int) -> Held:
        """Count something as held by an analyst until it is dropped, and return it.

        Raises
        ------
        KeptRowsError
            He holds too much.
        """
        with self._lock:
            self._refuse_more(name, size)
            return self._counted(name, kept, size)

    def _refuse_more(self, name: str, size: int) -> None:
        if self._held[name] + size > self._per_analyst:
            raise KeptRowsError(
                f"of at most {self._per_analyst >> 20} MiB that are kept for you, {self._held[name] >> 20} MiB are "
                "taken by rows that you have not fetched and statements that run or are prepared: fetch or close some"
            )

    def _counted(self, name: str, kept: Held, size: int) -> Held:
        size += _LEAST
        with self._lock:
            self._held[name] += size
        weakref.finalize(kept, self._free, name, size)
        return kept

    def _free(self, name: str, size: int) -> None:
        with self._lock:
            self._held[name] -= size
            if not self._held[name]:
                del self._held[name]
