"""Kernels as LLVM's intermediate code: made by numba where the package is built, compiled by llvmlite at first use.

Most of the time in which numba compiles goes into the types of Python's code. That part is the same on all machines of
64 bits, so wheels carry its result, and the rest, for one processor, takes a fifth of the time. Where there is none (in
a checkout, or for other types), or where llvmlite cannot read it, numba compiles as before.

To load this file imports llvmlite, which knows the processor of this machine.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding import create_pass_builder, create_pipeline_tuning_options

from dpdb.compiled.object_file import ObjectCode, read_object, write_object

FOLDER = Path(__file__).resolve().with_name("portable")
_SUFFIX = f"-{sys.byteorder}-{sys.maxsize.bit_length() + 1}.ll.z"
_BEST = 3
_written_to: list[Path] = []


@contextmanager
def written_to(folder: Path) -> Iterator[None]:
    """Have numba compile every kernel that is loaded in the block, and keep its intermediate code in `folder`.

    Numba must not optimize (``NUMBA_OPT=0``, before it is imported): it would do so for this processor.
    """
    _written_to.append(folder)
    try:
        yield
    finally:
        _written_to.pop()


def wanted() -> bool:
    """Return whether the process is in a `written_to` block."""
    return bool(_written_to)


def found(name: str, made_from: str) -> ObjectCode | None:
    """Find a kernel's intermediate code in the package."""
    return read_object(name + _SUFFIX, made_from, [FOLDER])


def keep(name: str, made_from: str, code: ObjectCode) -> None:
    """Write intermediate code to the folder of the `written_to` block."""
    write_object(name + _SUFFIX, made_from, code, _written_to[-1:])


def portable(text: str) -> bytes:
    """Return numba's unoptimized code as the package stores it: simplified, compressed, for any processor."""
    module = llvm.parse_assembly(text)
    builder = _pass_builder(any_machine(), _BEST, vectors=False)
    passes = builder.getFunctionPassManager()
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)
    return zlib.compress(str(module).encode(), 9)


def compiled_here(code: ObjectCode) -> ObjectCode | None:
    """Compile intermediate code for this processor, by the passes of numba; None where llvmlite cannot."""
    with suppress(AttributeError, RuntimeError, TypeError, UnicodeDecodeError, zlib.error):
        machine = this_machine()
        module = llvm.parse_assembly(zlib.decompress(code.code).decode())
        module.triple, module.data_layout = llvm.get_process_triple(), str(machine.target_data)
        builder = _pass_builder(machine, 0, vectors=False)
        passes = builder.getModulePassManager()
        passes.add_loop_rotate_pass()
        passes.add_instruction_combine_pass()
        passes.add_jump_threading_pass()
        passes.run(module, builder)
        builder = _pass_builder(machine, _BEST, vectors=True)
        builder.getModulePassManager().run(module, builder)
        module.verify()
        return replace(code, code=machine.emit_object(module))
    return None


def _pass_builder(machine: Any, level: int, *, vectors: bool) -> Any:
    options = create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization, options.slp_vectorization = vectors, False
    return create_pass_builder(machine, options)


@cache
def platform_name() -> str:
    """Return the platform of machine code: system, processor and its extensions."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {_extensions()}"


def loading_machine() -> Any:
    """Return the target machine that loads object files."""
    platform_name()
    return llvm.Target.from_default_triple().create_target_machine(jit=True)


def this_machine() -> Any:
    """Return the target machine that compiles for this processor, with numba's options, so that the code is as fast."""
    platform_name()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    moving = {"x86": "static", "ppc": "pic"}.get(target.name[:3], "default")
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=_extensions(), opt=3, reloc=moving, codemodel="jitdefault", jit=True
    )


def any_machine() -> Any:
    """Return the target machine that simplifies code for any processor of this family."""
    platform_name()
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(opt=3)


def _extensions() -> str:
    try:
        return str(llvm.get_host_cpu_features().flatten())
    except RuntimeError:  # LLVM does not know how to find out
        return ""
