"""Ctrl-C while DuckDB works, or another database.

DuckDB looks at Python's signals only between the tasks of a query, and one task can take hours; even then it reports
the signal as a `RuntimeError`. So the main thread, the only one that gets signals, waits while another one works.
"""

from __future__ import annotations

import threading
from _thread import start_new_thread
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

__all__ = ["Interrupted", "interruptible"]

T = TypeVar("T")

_LOOK = 0.2
"""Seconds after which the main thread looks for signals, though it does nothing else."""


class Interrupted(Protocol):
    """What works, such as a connection of DuckDB."""

    def interrupt(self) -> None:
        """Stop what it does; nothing, if it does nothing."""


def interruptible(connection: Interrupted, work: Callable[[], T]) -> T:
    """Return what `work` returns, or raise what it raises; an exception of a signal handler stops its query first."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    task = _Task(work)
    try:
        start_new_thread(task.run, ())
        # A signal that comes just before the wait begins does not end it, and is only seen between two of them.
        while not task.end.acquire(timeout=_LOOK):
            pass
    finally:
        task.is_stopped = True
        while task.has_begun and not task.has_ended:  # left by a signal
            connection.interrupt()  # again and again: a query that is only just starting forgets it
            task.end.acquire(timeout=0.02)
    return task.outcome()


class _Task(Generic[T]):
    """Work for a thread, waited for by one lock.

    The main thread gets an exception of a signal handler between any two of its steps. In the midst of a `Condition`,
    on which threads, events and futures are built, it would leave with the lock that the worker needs to say that it
    has begun or ended, and wait for it for ever. To acquire one lock is one step.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._values: list[T] = []
        self._error: BaseException | None = None
        self.has_begun = self.is_stopped = self.has_ended = False
        self.end = threading.Lock()
        self.end.acquire()

    def run(self) -> None:
        """Work, unless the signal came while this thread was starting."""
        self.has_begun = True  # before it looks whether it is stopped: else nobody might wait for it
        try:
            if not self.is_stopped:
                self._values.append(self._work())
        except BaseException as error:
            self._error = error
        finally:
            self.has_ended = True
            self.end.release()

    def outcome(self) -> T:
        """Return what came of it."""
        error, self._error = self._error, None  # which holds frames that hold this
        try:
            if error is not None:
                raise error
            return self._values.pop()
        finally:
            del error
