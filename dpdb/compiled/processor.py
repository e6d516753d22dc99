"""The processor of this machine, as LLVM knows it. Imports llvmlite."""

from __future__ import annotations

from functools import cache
from typing import Any

import llvmlite.binding as llvm

__all__ = ["any_machine", "loading_machine", "platform_name", "this_machine"]


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
