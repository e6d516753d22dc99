"""Ctrl-C while DuckDB works, or another database.

DuckDB looks at Python's signals only between the tasks of a query, and one task can take hours; even then it reports
the signal as a `RuntimeError`. So the main thread, the only one that gets signals, waits while another one works.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol, TypeVar

__all__ = ["Interrupted", "interruptible"]

T = TypeVar("T")


class Interrupted(Protocol):
    """What works, such as a connection of DuckDB."""

    def interrupt(self) -> None:
        """Stop what it does; nothing, if it does nothing."""


def interruptible(connection: Interrupted, work: Callable[[], T]) -> T:
    """Return what `work` returns, or raise what it raises; an exception of a signal handler stops its query first."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    outcome: Future[T] = Future()
    stopped = threading.Event()
    worker = threading.Thread(target=_settle, args=(outcome, stopped, work), daemon=True)
    try:
        worker.start()
        return outcome.result()
    finally:
        stopped.set()
        while worker.ident is not None and not outcome.done():  # left by a signal
            connection.interrupt()  # again and again: a query that is only just starting forgets it
            worker.join(0.02)


def _settle(outcome: Future[T], stopped: threading.Event, work: Callable[[], T]) -> None:
    if stopped.is_set():  # the signal came while this thread was starting
        outcome.cancel()
        return
    try:
        outcome.set_result(work())
    except BaseException as error:
        outcome.set_exception(error)
