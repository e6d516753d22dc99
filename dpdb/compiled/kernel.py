"""`kernel`: a function over arrays that runs as machine code, loaded or compiled for the types of its first call.

`dpdb.graph.loading` makes that call before anything is spent. Importing this module imports neither numba nor llvmlite.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import update_wrapper
from types import FunctionType
from typing import Any, TypeVar, cast

from dpdb.compiled.kernel_source import KernelSource, Kinds, kinds_and_words

_loading = threading.RLock()
F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Have `function` run as machine code. It takes integers, arrays and named tuples of these, and makes no array.

    It returns nothing, a truth value, or one or several integers of 64 bits.
    """
    return cast(F, Kernel(cast(FunctionType, function)))


class Kernel(KernelSource):
    """A function that is compiled for the types of its arguments, once for each combination."""

    def __init__(self, function: FunctionType) -> None:
        super().__init__(function)
        self._codes: dict[Kinds, Callable[..., Any]] = {}
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel; its code for arguments of these types is loaded or compiled before the first run."""
        kinds, words = kinds_and_words(arguments)
        code = self._codes.get(kinds)
        if code is None:
            with _loading:  # the shares of one statistic call the same kernel from several threads
                code = self._codes.get(kinds) or self._codes.setdefault(kinds, self._load(kinds))
        return code(arguments, words)

    def _load(self, kinds: Kinds) -> Callable[..., Any]:
        from dpdb.compiled.machine_code import load

        return load(self, kinds)

    @property
    def loaded(self) -> bool:
        """Whether the kernel has run: with arguments of the same types it loads no code again."""
        return bool(self._codes)

    @property
    def dispatcher(self) -> Any:
        """The same function for numba: what other compiled functions call. Imports numba."""
        from dpdb.compiled.compiling import dispatcher

        return dispatcher(self)
