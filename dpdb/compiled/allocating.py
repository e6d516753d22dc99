"""Kernels that make arrays of their own: compiled and loaded by numba, kept as other machine code is.

Importing this module imports numba: do it inside functions. A kernel is compiled for the types that it is called with,
at its first call. numba's own cache is not used: it unpickles whatever lies in its folder.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, cast

from dpdb.compiled.machine_code import made_from
from dpdb.compiled.numba_alone import njit
from dpdb.compiled.object_file import ObjectCode, read_object, write_object
from dpdb.compiled.processor import platform_name
from dpdb.compiled.progress import cannot_be_kept, compiling, found_on_disk, kept_in

__all__ = ["allocating_kernel"]

F = TypeVar("F", bound=Callable[..., Any])


def allocating_kernel(function: F) -> F:
    """Compile `function` on first use and keep the machine code on disk; in memory only if no folder can be written."""
    compiled: Any = njit(nogil=True)(function)
    if hasattr(compiled, "py_func"):  # not so with NUMBA_DISABLE_JIT
        compiled._cache = _Cache(compiled._cache, cast(FunctionType, function))
    return cast(F, compiled)


class _Cache:
    """The cache from which numba loads the code of one function, by signature, and to which it saves it."""

    def __init__(self, none: Any, function: FunctionType) -> None:
        self._none = none
        self._function = function

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return numba's result of compiling, if a file has it; else None, and numba compiles next."""
        target.refresh()
        found = None
        kept = read_object(self._name(signature), self._made_from())
        if kept is not None:
            found = _rebuilt(kept.code, target)
        if found is None:
            with compiling("a kernel of the overlap solver"):
                pass  # refused or counted here
        else:
            found_on_disk()
        return found

    def save_overload(self, signature: Any, result: Any) -> None:
        """Write numba's result of compiling to a file."""
        try:
            code = ObjectCode(self._function.__qualname__, "", _reduced(result))
            kept_in(write_object(self._name(signature), self._made_from(), code))
        except OSError as error:
            cannot_be_kept(error.strerror or str(error))
        except (AttributeError, ImportError, TypeError, ValueError, pickle.PicklingError) as error:  # another numba
            cannot_be_kept(str(error))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._none, name)

    def _name(self, signature: Any) -> str:
        which = hashlib.sha256(f"{platform_name()} {signature}".encode()).hexdigest()[:16]
        return f"{self._function.__module__}.{self._function.__name__}-{which}.pickle"

    def _made_from(self) -> str:
        return made_from(_sources_of(self._function) | {__file__})


def _sources_of(function: FunctionType) -> set[str]:
    """The files of a function and of those that numba compiles into it."""
    files: set[str] = set()
    seen, waiting = {function}, [function]
    while waiting:
        one = waiting.pop()
        files.add(one.__code__.co_filename)
        called = (getattr(one.__globals__.get(name), "py_func", None) for name in one.__code__.co_names)
        new = {each for each in called if isinstance(each, FunctionType)} - seen
        seen |= new
        waiting += new
    return files


def _reduced(result: Any) -> bytes:
    from numba.core import serialize

    dumps: Any = serialize.dumps
    return bytes(dumps(result._reduce()))


def _rebuilt(code: bytes, target: Any) -> Any:
    """Make numba's result again from code that this user or a trusted one has written."""
    try:
        from numba.core.compiler import CompileResult

        rebuild: Any = CompileResult._rebuild
        return rebuild(target, *pickle.loads(code))
    except Exception as error:  # whatever another numba raises
        cannot_be_kept(str(error))
        return None
