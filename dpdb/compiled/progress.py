"""The kernels that this process compiles: announced to a caller, counted, or refused.

All of it is public: which kernels a call needs follows from the shapes of constraints and the mechanisms.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dpdb.errors import DpdbError

__all__ = [
    "Compiled",
    "NotCompiledError",
    "cannot_be_kept",
    "compiled_so_far",
    "compiling",
    "found_on_disk",
    "kept_in",
    "nothing_compiled",
    "tell_when_long",
]

_LONG = 1.0  # seconds of compiling before `tell` is called
_LOG = logging.getLogger("dpdb")


@dataclass
class Compiled:
    """Kernels that this process has loaded so far: found on disk, compiled, and the folder of the compiled ones."""

    found: int = 0
    made: int = 0
    seconds: float = 0.0
    folder: Path | None = None
    why_not_kept: str | None = None


class NotCompiledError(DpdbError):
    """A kernel is not on disk, within `nothing_compiled`."""


compiled_so_far = Compiled()
_tellers: list[Callable[[], None]] = []
_told: list[bool] = []
_forbidden: list[bool] = []


def tell_when_long(tell: Callable[[], None]) -> None:
    """Have `tell` called, once in this process and from another thread, when compiling has taken a second."""
    _tellers[:] = [tell]


@contextmanager
def nothing_compiled() -> Iterator[None]:
    """Raise `NotCompiledError` in the block instead of compiling."""
    _forbidden.append(True)
    try:
        yield
    finally:
        _forbidden.pop()


def found_on_disk() -> None:
    """Count a kernel that was found on disk."""
    compiled_so_far.found += 1


@contextmanager
def compiling(name: str) -> Iterator[None]:
    """Count a kernel that is compiled in the block, and call `tell` if that takes long."""
    if _forbidden:
        raise NotCompiledError(f"{name} is not compiled")
    timer = threading.Timer(max(0.0, _LONG - compiled_so_far.seconds), _tell)
    timer.daemon = True
    start = time.perf_counter()
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        compiled_so_far.made += 1
        compiled_so_far.seconds += time.perf_counter() - start


def kept_in(folder: Path) -> None:
    """Note where the machine code of a kernel was written."""
    compiled_so_far.folder = folder


def cannot_be_kept(reason: str) -> None:
    """Say once per process that compiling will be repeated; public, because it knows no table."""
    if compiled_so_far.why_not_kept is not None:
        return
    compiled_so_far.why_not_kept = reason.splitlines()[0] if reason else "no reason given"
    _LOG.warning(
        "dpdb: compiled code cannot be kept on disk, so every start compiles again, for some seconds "
        "(%s); NUMBA_CACHE_DIR may name a folder that can be written",
        compiled_so_far.why_not_kept,
    )


def _tell() -> None:
    if not _told:
        _told.append(True)
        for tell in _tellers:
            tell()
