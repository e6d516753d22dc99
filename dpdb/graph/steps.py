"""Long computations as steps: generators that yield after a bounded amount of work, and return their result.

Between two steps Python handles signals, and a thread learns that nobody waits for it any more. A kernel keeps its
place in its arguments and returns when it has done `WORK`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

R = TypeVar("R")

Steps: TypeAlias = Generator[None, None, R]

WORK = 1 << 20
"""Rows or edges that a kernel looks at before it returns: 1 ms where they lie in order, 100 where each is a miss."""

# The scans of different thetas are independent and hold no lock.
THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
"""Cores that this process may use."""


_thread = threading.local()


def ranges(count: int, cost: int = 1) -> Iterator[tuple[int, int]]:
    """Cut `0 .. count` into ranges of about `WORK`, if each item costs as much as `cost` rows."""
    size = max(1, WORK // cost)
    for first in range(0, count, size):
        go_on_if_wanted()
        yield first, min(first + size, count)


def node_ranges(offsets: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Cut nodes into ranges that have about `WORK` neighbours; node i has `offsets[i + 1] - offsets[i]`."""
    marks = np.arange(offsets[0] + WORK, offsets[-1], WORK)
    cuts = np.unique(np.concatenate([[0], np.searchsorted(offsets, marks), [len(offsets) - 1]]))
    yield from pairwise(cuts.tolist())


def finished(steps: Steps[R]) -> R:
    """Run all steps and return the result."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: R = done.value
            return result


def finished_all(jobs: Sequence[Steps[R]]) -> list[R]:
    """Run the steps of several jobs in threads. An exception while waiting for them (Ctrl-C) ends the threads, too."""
    if len(jobs) <= 1 or THREADS == 1:
        return [finished(job) for job in jobs]
    unwanted = threading.Event()
    with ThreadPoolExecutor(THREADS) as pool:
        try:
            return list(pool.map(lambda job: finished(_while_wanted(job, unwanted)), jobs))
        except BaseException:
            unwanted.set()
            raise


def called_all(functions: Sequence[Callable[[], R]]) -> list[R]:
    """Call several functions in threads likewise. Their loops over `ranges` end when the waiting for them ends."""
    return finished_all([_in_one_step(function) for function in functions])


def _in_one_step(function: Callable[[], R]) -> Steps[R]:
    yield
    return function()


def go_on_if_wanted() -> None:
    """Raise RuntimeError in a thread whose result nobody waits for any more."""
    unwanted: threading.Event | None = getattr(_thread, "unwanted", None)
    if unwanted is not None and unwanted.is_set():
        raise RuntimeError("nobody waits for this result")


def _while_wanted(job: Steps[R], unwanted: threading.Event) -> Steps[R]:
    _thread.unwanted = unwanted
    while True:
        go_on_if_wanted()
        try:
            next(job)
        except StopIteration as done:
            result: R = done.value
            return result
        yield
