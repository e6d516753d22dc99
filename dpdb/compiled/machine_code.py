"""Loading a kernel's machine code: from disk, from the package's portable code, or from numba, which is imported then.

Imports llvmlite.
"""

from __future__ import annotations

import ctypes
import hashlib
import platform
from collections.abc import Callable, Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from dpdb.compiled.kernel_source import KernelSource, Kinds
from dpdb.compiled.object_file import (
    ObjectCode,
    cannot_be_kept,
    compiling,
    found_on_disk,
    kept_in,
    read_object,
    write_object,
)
from dpdb.compiled.portable_code import loading_machine, platform_name

Code = Callable[[tuple[Any, ...], list[int]], Any]

_engines: list[tuple[Any, set[str]]] = []
"""The engines that own machine code for the life of the process, each with the functions loaded into it."""


def load(kernel: KernelSource, kinds: Kinds) -> Code:
    """Return a callable that runs a kernel on arguments of these kinds, given the arguments and their words."""
    name, made_of = f"{_name(kernel, kinds, f'{platform_name()} ')}.o", made_from(_sources_of(kernel))
    found = read_object(name, made_of)
    if found is not None:
        found_on_disk()
        return _code(found, _word_count(kinds))
    with compiling(f"{kernel.function.__module__}.{kernel.function.__name__}"):
        made = _compiled(kernel, kinds)
        if made is None:
            from dpdb.compiled.compiling import python_callable

            called = python_callable(kernel)
            return lambda arguments, _: called(*arguments)
    try:
        kept_in(write_object(name, made_of, made))
    except OSError as error:
        cannot_be_kept(error.strerror or str(error))
    return _code(made, _word_count(kinds))


def _compiled(kernel: KernelSource, kinds: Kinds) -> ObjectCode | None:
    """Compile the portable code, if there is any; else the kernel by numba. The package's build keeps portable code."""
    from dpdb.compiled import portable_code

    name, sources = _name(kernel, kinds), _digest_of(_sources_of(kernel))
    if portable_code.wanted():
        from dpdb.compiled.compiling import intermediate_code

        code = intermediate_code(kernel, kinds)
        if code is not None:
            portable_code.keep(name, sources, code)
    else:
        code = portable_code.found(name, sources)
    made = None if code is None else portable_code.compiled_here(code)
    if made is None:
        from dpdb.compiled.compiling import object_code

        made = object_code(kernel, kinds)
    return made


def _code(made: ObjectCode, word_count: int) -> Code:
    result = ctypes.c_int64 * (int(made.returns) if made.returns.isdigit() else 1)
    pointers = [ctypes.c_void_p, ctypes.c_void_p]
    function = ctypes.CFUNCTYPE(ctypes.c_int32, *pointers, *[ctypes.c_int64] * word_count)(_address(made))

    def called(_: tuple[Any, ...], words: list[int]) -> Any:
        returned, error = result(), ctypes.c_void_p()
        if function(ctypes.addressof(returned), ctypes.addressof(error), *words) not in _OK:
            raise RuntimeError(f"{made.symbol} failed")
        return _READ.get(made.returns, tuple)(returned)

    return called


_OK = (0, -2)  # numba: a result, None
_READ: dict[str, Callable[[Any], Any]] = {
    "none": lambda _: None,
    "truth": lambda returned: bool(returned[0] & 1),
    "integer": lambda returned: int(returned[0]),
}


def _address(made: ObjectCode) -> int:
    """Load code into the one engine of the process, as numba does: an engine costs ten times what it takes to load.

    In one engine names are unique. A function whose name it has already is of another version of its source, and begins
    a new engine.
    """
    if not _engines or made.symbol in _engines[-1][1]:
        _engines.append((llvm.create_mcjit_compiler(llvm.parse_assembly(""), loading_machine()), set()))
    engine, known = _engines[-1]
    known.add(made.symbol)
    engine.add_object_file(llvm.ObjectFileRef.from_data(made.code))
    engine.finalize_object()
    return int(engine.get_function_address(made.symbol))


@cache
def _versions() -> str:
    """Versions of the compilers: numba's is read from its version file, because importing numba takes long."""
    numba = find_spec("numba")
    version = b"" if numba is None or numba.origin is None else Path(numba.origin).with_name("_version.py").read_bytes()
    return f"{platform.python_version()} {llvmlite.__version__} {hashlib.sha256(version).hexdigest()}"


@cache
def _source(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def made_from(files: Iterable[str]) -> str:
    """A digest of the inputs of machine code besides its types: platform, versions and sources."""
    return hashlib.sha256(f"{platform_name()}\n{_versions()}\n{_digest_of(files)}".encode()).hexdigest()


def _digest_of(files: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(map(_source, files))).encode()).hexdigest()


def _sources_of(kernel: KernelSource) -> set[str]:
    files, waiting = set(), [kernel]
    while waiting:
        one = waiting.pop()
        files.add(one.function.__code__.co_filename)
        waiting += one.helpers.values()
    return files | {
        str(Path(__file__).with_name(f"{name}.py")) for name in ("kernel_source", "compiling", "portable_code")
    }


def _name(kernel: KernelSource, kinds: Kinds, platform: str = "") -> str:
    """Name the code of a kernel for arguments of these kinds; without a platform, the code that all machines share."""
    which = hashlib.sha256(f"{platform}{[_written(kind) for kind in kinds]}".encode()).hexdigest()[:16]
    return f"{kernel.function.__module__}.{kernel.function.__name__}-{which}"


def _written(kind: Any) -> str:
    if isinstance(kind, tuple) and isinstance(kind[0], type):
        fields = zip(kind[0]._fields, kind[1], strict=True)  # type: ignore[attr-defined]
        return f"{kind[0].__name__}({', '.join(f'{name}: {_written(field)}' for name, field in fields)})"
    return str(kind)


def _word_count(kinds: Any) -> int:
    return sum(
        1 if kind is None else _word_count(kind[1]) if isinstance(kind[0], type) else 5 + 2 * kind[1] for kind in kinds
    )
