"""A kernel as a Python function, with the kernels that it calls; its arguments as types and as machine words.

The words are those of numba's calling convention. An array is seven words and more: owner and parent (none: the caller
keeps it alive), number of items, their size, the address, its shape, its strides. A tuple is its items one after
another.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from types import FunctionType
from typing import Any, TypeAlias

import numpy as np


class KernelSource:
    """A function that can be compiled.

    Attributes
    ----------
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


ArrayKind: TypeAlias = tuple[str, int, str]
"""Element type (as `numpy.dtype.str`), dimensions, layout: C, or A for any."""
TupleKind: TypeAlias = tuple[type, tuple[Any, ...]]
"""A named tuple's class, and the kinds of its fields."""
Kinds: TypeAlias = tuple[Any, ...]
"""Of each argument its `ArrayKind`, its `TupleKind`, or None for an integer."""


_END = 1 << 63


def kinds_and_words(arguments: Sequence[Any]) -> tuple[Kinds, list[int]]:
    """Return the types of the arguments and the words to pass.

    Raises
    ------
    TypeError
        An argument is neither an array of numbers, nor an integer, nor a named tuple of these.
    OverflowError
        An integer has more than 64 bits.
    """
    words: list[int] = []
    return tuple([_add(argument, words) for argument in arguments]), words


def _add(argument: Any, words: list[int]) -> Any:
    if isinstance(argument, np.ndarray):
        words += (0, 0, argument.size, argument.itemsize, argument.ctypes.data, *argument.shape, *argument.strides)
        return argument.dtype.str, argument.ndim, "C" if argument.flags.c_contiguous else "A"
    if isinstance(argument, tuple):
        return type(argument), tuple([_add(item, words) for item in argument])
    if isinstance(argument, (int, np.integer)) and not isinstance(argument, bool):
        if not -_END <= argument < _END:
            raise OverflowError("a kernel takes integers of 64 bits")
        words.append(int(argument))
        return None
    raise TypeError(f"a kernel takes arrays and integers, not {type(argument).__name__}")
