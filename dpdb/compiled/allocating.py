"""Kernels that make arrays of their own: compiled, kept and loaded by numba.

Importing this module imports numba: do it inside functions. A kernel is compiled for the types that it is called with,
at its first call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

from dpdb.compiled.progress import cannot_be_kept, compiling, found_on_disk

__all__ = ["allocating_kernel"]

F = TypeVar("F", bound=Callable[..., Any])


def allocating_kernel(function: F) -> F:
    """Compile `function` on first use and keep the machine code on disk; in memory only where no disk will have it."""
    compiled: Any = njit(nogil=True)(function)
    try:
        compiled.enable_caching()
    except RuntimeError as error:  # numba: "no locator available"
        cannot_be_kept(str(error))
    compiled._cache = _Cache(compiled._cache)
    return cast(F, compiled)


class _Cache:
    """numba's cache of one function, without the errors of a full disk, of files of others or of damaged ones."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def load_overload(self, *which: Any) -> Any:
        try:
            found = self._cache.load_overload(*which)
        except Exception as error:  # whatever unpickling a damaged file raises
            cannot_be_kept(str(error))
            found = None
        if found is None:
            with compiling("a kernel of the overlap solver"):
                pass  # refused or counted here; numba compiles next
        else:
            found_on_disk()
        return found

    def save_overload(self, *what: Any) -> None:
        try:
            self._cache.save_overload(*what)
        except OSError as error:
            cannot_be_kept(error.strerror or str(error))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)
