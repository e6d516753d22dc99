"""Machine code for loops over arrays: numba compiles it once on a machine, llvmlite alone loads it afterwards.

Kernels get all their memory from the caller. Their machine code is kept in files of our own, so that a process which
finds them there never imports numba, whose import takes longer than most statistics.

Kernels do a bounded amount of work and return, so that Python can handle signals: see `dpdb.graph.steps`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.compiled.kernel import Kernel, kernel
    from dpdb.compiled.object_file import NotCompiledError, compiled_so_far, nothing_compiled, tell_when_long
    from dpdb.compiled.portable_code import written_to

__all__ = [
    "Kernel",
    "NotCompiledError",
    "compiled_so_far",
    "kernel",
    "nothing_compiled",
    "tell_when_long",
    "written_to",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "object_file": "NotCompiledError compiled_so_far nothing_compiled tell_when_long",
            "portable_code": "written_to",
        },
    )
    from dpdb.compiled.kernel import Kernel, kernel
