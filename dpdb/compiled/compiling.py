"""Compiling a kernel with numba, to an object file that llvmlite alone can load. Imports numba.

Without numba's runtime and its wrappers: a kernel makes no array, and is called by its address. That takes half of the
time. `object_code` checks that the compiled function has exactly the parameters that `arguments` will pass; so does
`intermediate_code`, which is what the package's build keeps.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from dpdb.compiled.kernel_source import KernelSource, Kinds
from dpdb.compiled.numba_alone import njit, types
from dpdb.compiled.object_file import ObjectCode
from dpdb.compiled.portable_code import portable

_OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def dispatcher(kernel: KernelSource) -> Any:
    """Return numba's function for a kernel; helpers stand in it as numba's functions, too."""
    if kernel.for_numba is None:
        kernel.for_numba = _made(kernel, _OPTIONS)
    return kernel.for_numba


def python_callable(kernel: KernelSource) -> Any:
    """Return the kernel as numba itself calls it: for where `object_code` cannot be used."""
    return _made(kernel, {"nogil": True})


def _made(kernel: KernelSource, options: dict[str, Any]) -> Any:
    helpers = {name: dispatcher(helper) for name, helper in kernel.helpers.items()}
    old = kernel.function
    copy = FunctionType(old.__code__, {**old.__globals__, **helpers}, old.__name__, old.__defaults__, old.__closure__)
    copy.__qualname__, copy.__module__ = old.__qualname__, old.__module__
    return njit(**options)(copy)


def object_code(kernel: KernelSource, kinds: Kinds) -> ObjectCode | None:
    """Compile a kernel; None where numba compiles nothing, or not as we know it: then numba itself calls the kernel."""
    return _code(kernel, kinds, lambda library: library.serialize_using_object_code()[2][0])


def intermediate_code(kernel: KernelSource, kinds: Kinds) -> ObjectCode | None:
    """Compile a kernel up to the code that all machines share; None where `object_code` is None."""
    return _code(kernel, kinds, lambda library: portable(library.get_llvm_str()))


def _code(kernel: KernelSource, kinds: Kinds, of: Callable[[Any], bytes]) -> ObjectCode | None:
    try:
        made = dispatcher(kernel)
        if not hasattr(made, "compile"):  # NUMBA_DISABLE_JIT
            return None
        from numba.core.compiler_lock import global_compiler_lock

        signature = tuple(_type(kind) for kind in kinds)
        with global_compiler_lock:
            made.compile(signature)
        compiled = made.overloads[signature]
        symbol = compiled.fndesc.llvm_func_name
        function = compiled.library.get_function(symbol)
        returned = _returned(compiled.signature.return_type)
        if returned is None or str(function.global_value_type).replace(" ", "") != _expected(kinds):
            return None
        return ObjectCode(symbol, returned, of(compiled.library))
    except (AttributeError, ImportError, IndexError, KeyError, NotImplementedError, TypeError, ValueError):
        return None  # another numba: the names used here are not public ones


def _type(kind: Any) -> Any:
    if kind is None:
        return types.int64
    if isinstance(kind[0], type):
        make: Any = types.BaseTuple.from_types
        return make([_type(field) for field in kind[1]], kind[0])
    from numba.np.numpy_support import from_dtype

    return types.Array(from_dtype(np.dtype(kind[0])), kind[1], kind[2])


def _returned(kind: Any) -> str | None:
    if kind == types.none:
        return "none"
    if kind == types.boolean:
        return "truth"
    if kind == types.int64:
        return "integer"
    if isinstance(kind, types.UniTuple) and kind.dtype == types.int64:
        return str(kind.count)
    return None


def _expected(kinds: Kinds) -> str:
    """The LLVM type of a function whose parameters are the words for `kinds`, after the two for result and error."""
    return f"i32({','.join(['ptr', 'ptr', *(word for kind in kinds for word in _words(kind))])})"


def _words(kind: Any) -> list[str]:
    if kind is None:
        return ["i64"]
    if isinstance(kind[0], type):
        return [word for field in kind[1] for word in _words(field)]
    return ["ptr", "ptr", "i64", "i64", "ptr"] + ["i64"] * (2 * int(kind[1]))
