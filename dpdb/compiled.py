"""The one way kernels are compiled: no Python objects, no GIL, kept on disk where that is possible.

Importing this module imports numba: do it inside functions. A kernel is compiled for the types that it is called with,
at its first call; `dpdb.graph.loading` makes that call before anything is spent.

Kernels do a bounded amount of work and return, so that Python can handle signals: see `dpdb.graph.steps`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

__all__ = ["kernel"]

F = TypeVar("F", bound=Callable[..., Any])

_LOG = logging.getLogger("dpdb")
_noticed: list[str] = []


def kernel(function: F) -> F:
    """Compile `function` on first use and keep the machine code on disk; in memory only where no disk will have it."""
    compiled: Any = njit(nogil=True)(function)
    try:
        compiled.enable_caching()
        compiled._cache = _Cache(compiled._cache)
    except RuntimeError as error:  # numba: "no locator available"
        _notice(str(error))
    return cast(F, compiled)


class _Cache:
    """numba's cache of one function, without the errors of a full disk, of files of others or of damaged ones."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def load_overload(self, *which: Any) -> Any:
        try:
            return self._cache.load_overload(*which)
        except Exception as error:  # whatever unpickling a damaged file raises
            _notice(str(error))
            return None

    def save_overload(self, *what: Any) -> None:
        try:
            self._cache.save_overload(*what)
        except OSError as error:
            _notice(error.strerror or str(error))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)


def _notice(reason: str) -> None:
    """Say once per process that compiling will be repeated; public, because it knows no table."""
    if _noticed:
        return
    _noticed.append(reason)
    _LOG.warning(
        "dpdb: compiled code cannot be kept on disk, so every start compiles again, for some ten seconds "
        "(%s); NUMBA_CACHE_DIR may name a folder that can be written",
        reason.splitlines()[0] if reason else "no reason given",
    )
