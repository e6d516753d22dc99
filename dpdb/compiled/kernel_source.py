"""`KernelSource`: a kernel as a Python function, with the kernels that it calls."""

from __future__ import annotations

from functools import cached_property
from types import FunctionType
from typing import Any

__all__ = ["KernelSource"]


class KernelSource:
    """A function that can be compiled.

    Attributes
    ----------
    function : FunctionType
    for_numba : object, optional
        The same function as numba knows it, once `compiling.dispatcher` has made it.
    """

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self.for_numba: Any = None

    @cached_property
    def helpers(self) -> dict[str, KernelSource]:
        """The kernels that this one calls, by the names under which it does."""
        known = self.function.__globals__
        names = self.function.__code__.co_names
        return {name: known[name] for name in names if isinstance(known.get(name), KernelSource)}
