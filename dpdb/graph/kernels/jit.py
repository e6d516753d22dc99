"""The one way kernels are compiled: no Python objects, no GIL, cached on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

__all__ = ["kernel"]

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile `function` on first use and keep the machine code on disk."""
    return cast(F, njit(cache=True, nogil=True)(function))
